package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// everyType is one tensor of each type with odd sizes, so that order and alignment matter, and an empty one.
func everyType() []safetensors.Named {
	list := []safetensors.Named{
		{Name: "empty", Tensor: tensor.New(tensor.SpecOf(tensor.F32, 0))},
		{Name: "ä.重み", Tensor: tensor.Must(tensor.From([]float32{float32(math.NaN()), float32(math.Copysign(0, -1)), math.MaxFloat32}, 3, 1))},
		{Name: "scalar", Tensor: tensor.Scalar(int64(math.MinInt64 + 1))},
	}
	for _, d := range tensor.DTypes {
		x := tensor.New(tensor.SpecOf(d, 3))
		for i := range 3 {
			x.Set(i, float64(i*i*85))
		}
		list = append(list, safetensors.Named{Name: d.String(), Tensor: x})
	}
	return list
}

// TestNoFile: nowhere to read and to write is an error in words, and the zero File has nothing.
func TestNoFile(t *testing.T) {
	if _, err := safetensors.Read(nil, 10); err == nil {
		t.Error("read from nothing")
	}
	if _, err := safetensors.Read(bytes.NewReader(nil), -10); !errors.Is(err, safetensors.ErrFormat) {
		t.Error(err)
	}
	if err := safetensors.Write(nil, everyType(), nil); err == nil {
		t.Error("written to nothing")
	}
	var f safetensors.File
	if _, err := f.Tensor("x"); err == nil || len(f.Names())+len(f.Metadata()) > 0 {
		t.Error(err, f.Names(), f.Metadata())
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestRoundTrip(t *testing.T) {
	list := everyType()
	metadata := map[string]string{"step": "12", "größe": "<&>\x00\u2028", "": ""}
	path := filepath.Join(t.TempDir(), "a.safetensors")
	if err := safetensors.WriteFile(path, list, metadata); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := safetensors.Write(&b, list, metadata); err != nil {
		t.Fatal(err)
	}
	if onDisk, err := os.ReadFile(path); err != nil || !bytes.Equal(onDisk, b.Bytes()) {
		t.Errorf("WriteFile and Write differ, or two writes of the same: %v", err)
	}
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Verify(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(metadata, f.Metadata()); diff != "" {
		t.Error(diff)
	}
	for i, name := range f.Names() {
		x, err := f.Tensor(name)
		if err != nil || name != list[i].Name || !x.Same(list[i].Tensor) {
			t.Errorf("%q: %v, %v; was %q: %v", name, x, err, list[i].Name, list[i].Tensor)
		}
	}
	if len(f.Names()) != len(list) {
		t.Errorf("%d tensors, want %d", len(f.Names()), len(list))
	}
}

// TestBytes pins the bytes on disk: little-endian, the header a multiple of 8, larger elements first, so that each array is aligned, while the
// header keeps the order given.
func TestBytes(t *testing.T) {
	var b bytes.Buffer
	err := safetensors.Write(&b, []safetensors.Named{
		{Name: "b", Tensor: tensor.Must(tensor.From([]uint8{7, 8, 9}))},
		{Name: "a", Tensor: tensor.Must(tensor.From([]float32{1, -2}, 2, 1))},
		{Name: "s", Tensor: tensor.Scalar(int32(0x01020304))},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	header := `{"__metadata__":{"crc32c":"` + strings.Repeat("?", 8) + `"},"b":{"dtype":"U8","shape":[3],"data_offsets":[12,15]},` +
		`"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"s":{"dtype":"I32","shape":[],"data_offsets":[8,12]}}`
	header += strings.Repeat(" ", 7-(len(header)+7)%8)
	want := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	want = append(want, header...)
	want = append(want, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 4, 3, 2, 1, 7, 8, 9)
	got := bytes.Clone(b.Bytes())
	copy(got[bytes.Index(got, []byte(`crc32c":"`))+9:], "????????")
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	for n := range 8 {
		b.Reset()
		if err := safetensors.Write(&b, nil, map[string]string{"a": strings.Repeat("x", n)}); err != nil || b.Len()%8 != 0 {
			t.Errorf("%d characters: the data start at byte %d, %v", n, b.Len(), err)
		}
	}
}

// TestNothing writes no tensors, with and without metadata, and opens the file again.
func TestNothing(t *testing.T) {
	for _, metadata := range []map[string]string{{}, {"only": "metadata"}} {
		var b bytes.Buffer
		if err := safetensors.Write(&b, nil, metadata); err != nil {
			t.Fatal(err)
		}
		f, err := read(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(metadata, f.Metadata()); diff != "" || len(f.Names()) != 0 || f.Verify() != nil {
			t.Errorf("%s; tensors %q; %v", diff, f.Names(), f.Verify())
		}
	}
}

// TestChecksumOfAnotherFile is replaced when its metadata is written again with other tensors.
func TestChecksumOfAnotherFile(t *testing.T) {
	var b bytes.Buffer
	if err := safetensors.Write(&b, everyType(), map[string]string{"crc32c": "00000000"}); err != nil {
		t.Fatal(err)
	}
	f, err := read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Verify(); err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	one := tensor.Scalar(float32(1))
	for what, c := range map[string]struct {
		list     []safetensors.Named
		metadata map[string]string
		want     string
	}{
		"reserved name":  {[]safetensors.Named{{Name: "__metadata__", Tensor: one}}, nil, "reserved"},
		"same name":      {[]safetensors.Named{{Name: "a", Tensor: one}, {Name: "b", Tensor: one}, {Name: "a", Tensor: one}}, nil, `two tensors have the name "a"`},
		"zero character": {[]safetensors.Named{{Name: "a\x00", Tensor: one}}, nil, "zero character"},
		"bad name":       {[]safetensors.Named{{Name: "a\xff", Tensor: one}}, nil, "not valid UTF-8"},
		"none":           {[]safetensors.Named{{Name: "a"}}, nil, `tensor "a" is none`},
		"bad metadata":   {nil, map[string]string{"a": "\xff"}, "not valid UTF-8"},
		"bad key":        {nil, map[string]string{"\xff": "a"}, "not valid UTF-8"},
	} {
		var b bytes.Buffer
		path := filepath.Join(t.TempDir(), "a")
		for _, err := range []error{safetensors.Write(&b, c.list, c.metadata), safetensors.WriteFile(path, c.list, c.metadata)} {
			if err == nil || !strings.HasPrefix(err.Error(), "safetensors: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 0 || b.Len() != 0 {
			t.Errorf("%s: %d bytes and %d files were written", what, b.Len(), len(entries))
		}
	}
}

func TestLongHeader(t *testing.T) {
	err := safetensors.Write(io.Discard, nil, map[string]string{"a": strings.Repeat("x", 100_000_000)})
	if err == nil || !strings.Contains(err.Error(), "the format allows") {
		t.Error(err)
	}
}

// limited is a disk that is full after n bytes.
type limited struct{ n int }

var errFull = errors.New("no space left on device")

func (l *limited) Write(b []byte) (int, error) {
	if len(b) > l.n {
		return l.n, errFull
	}
	l.n -= len(b)
	return len(b), nil
}

func TestDiskFull(t *testing.T) {
	list := append(everyType(), safetensors.Named{Name: "large", Tensor: tensor.New(tensor.SpecOf(tensor.F32, 100_000))})
	var whole bytes.Buffer
	if err := safetensors.Write(&whole, list, nil); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < whole.Len(); n += 1 + n {
		for _, room := range []int{n, whole.Len() - 1 - n} {
			if err := safetensors.Write(&limited{room}, list, nil); !errors.Is(err, errFull) {
				t.Errorf("after %d bytes: %v", room, err)
			}
		}
	}
	if err := safetensors.Write(&limited{whole.Len()}, list, nil); err != nil {
		t.Error(err)
	}
}

func TestWriteFileErrors(t *testing.T) {
	folder := t.TempDir()
	if err := safetensors.WriteFile(folder, nil, nil); err == nil || !strings.HasPrefix(err.Error(), "safetensors: write "+folder) {
		t.Error(err)
	}
	if err := safetensors.WriteFile(filepath.Join(folder, "none", "a"), nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
