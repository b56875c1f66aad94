package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// file is a file with the given header and number of bytes behind it.
func file(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func read(b []byte) (*safetensors.File, error) {
	return safetensors.Read(bytes.NewReader(b), int64(len(b)))
}

// TestMalformed refuses each header with an error that names the fault, and without memory for what the header promises.
func TestMalformed(t *testing.T) {
	word := func(n uint64, rest string) []byte { return append(binary.LittleEndian.AppendUint64(nil, n), rest...) }
	for _, c := range []struct {
		what string
		file []byte
		want string // part of the error
	}{
		{"nothing", nil, "0 bytes do not hold"},
		{"7 bytes", make([]byte, 7), "7 bytes do not hold"},
		{"no header", word(0, ""), "no JSON object"},
		{"length 2^63", word(1<<63, "{}"), "9223372036854775808 bytes: the format allows"},
		{"length 2^64-1", word(math.MaxUint64, "{}"), "the format allows"},
		{"length beyond the file", word(3, "{}"), "cut off"},
		{"just too long", word(100_000_001, "{}"), "the format allows"},
		{"another file", []byte("\x89PNG\r\n\x1a\n{}"), "the format allows"},
		{"space before", file(" {}", 0), "no JSON object"},
		{"a list", file("[]", 0), "no JSON object"},
		{"half an object", file("{", 0), "unexpected EOF"},
		{"half an entry", file(`{"a":{"dtype":"F32"`, 0), "unexpected EOF"},
		{"no comma", file(`{"a":{"dtype":"F32" "shape":[]}}`, 0), "invalid character"},
		{"text behind", file(`{} x`, 0), "more text behind"},
		{"two objects", file(`{}{}`, 0), "more text behind"},
		{"zeros behind", file("{}\x00\x00", 0), "more text behind"},
		{"duplicate name", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), `"a": the key appears twice`},
		{"duplicate by escape", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"\u0061":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), `"a": the key appears twice`},
		{"duplicate field", file(`{"a":{"dtype":"F32","dtype":"I32","shape":[1],"data_offsets":[0,4]}}`, 4), `"a": "dtype": the key appears twice`},
		{"duplicate metadata", file(`{"__metadata__":{"k":"1","k":"2"}}`, 0), `"k": the key appears twice`},
		{"two metadata", file(`{"__metadata__":{},"__metadata__":{}}`, 0), `"__metadata__": the key appears twice`},
		{"number in metadata", file(`{"__metadata__":{"n":0}}`, 0), `"n": 0 where text was expected`},
		{"null in metadata", file(`{"__metadata__":{"n":null}}`, 0), `"n": <nil> where text was expected`},
		{"metadata is text", file(`{"__metadata__":"x"}`, 0), `x where { was expected`},
		{"tensor called __metadata__", file(`{"__metadata__":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), `where text was expected`},
		{"larger than its bytes", file(`{"a":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}}`, 4), `tensor "a": data_offsets 0 and 4, but F32[1000 1000] has 4000000 bytes`},
		{"larger than the file", file(`{"a":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4000000]}}`, 4), `tensor "a": ends at byte 4000000`},
		{"promises a terabyte", file(`{"a":{"dtype":"U8","shape":[1099511627776],"data_offsets":[0,1099511627776]}}`, 4), `tensor "a": ends at byte 1099511627776`},
		{"product wraps to 0", file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0), `tensor "a": shape [4294967296 4294967296] has more elements`},
		{"bits wrap to 0", file(`{"a":{"dtype":"F64","shape":[288230376151711744],"data_offsets":[0,0]}}`, 0), `tensor "a": shape [288230376151711744] has more elements`},
		{"product wraps to 4", file(`{"a":{"dtype":"U8","shape":[6148914691236517206,6],"data_offsets":[0,4]}}`, 4), `has more elements`},
		{"unknown type", file(`{"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}}`, 4), `tensor "a": the format has no type "F33"`},
		{"lower-case type", file(`{"a":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}}`, 4), `no type "f32"`},
		{"unknown type, negative offset", file(`{"a":{"dtype":"F33","shape":[1],"data_offsets":[-1,4]}}`, 4), `"a": "data_offsets": -1 where a whole number`},
		{"unknown type, offsets backwards", file(`{"a":{"dtype":"F33","shape":[1],"data_offsets":[8,4]}}`, 8), `"F33"`},
		{"offsets backwards", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}}`, 8), `tensor "a": data_offsets 8 and 4`},
		{"offset beyond int64", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551620]}}`, 4), `18446744073709551620 where a whole number`},
		{"fraction", file(`{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}`, 4), `"shape": 1.0 where a whole number`},
		{"exponent", file(`{"a":{"dtype":"F32","shape":[1e0],"data_offsets":[0,4]}}`, 4), `1e0 where a whole number`},
		{"negative dimension", file(`{"a":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}`, 4), `-1 where a whole number`},
		{"number in quotes", file(`{"a":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}}`, 4), `1 where a whole number`},
		{"shape is a number", file(`{"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}}`, 4), `"shape": 1 where [ was expected`},
		{"one offset", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4]}}`, 4), `1 data_offsets`},
		{"three offsets", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}}`, 4), `3 data_offsets`},
		{"no type", file(`{"a":{"shape":[1],"data_offsets":[0,4]}}`, 4), `"a": dtype, shape or data_offsets is missing`},
		{"no shape", file(`{"a":{"dtype":"F32","data_offsets":[0,4]}}`, 4), `is missing`},
		{"no offsets", file(`{"a":{"dtype":"F32","shape":[1]}}`, 4), `is missing`},
		{"another field", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"strides":[1]}}`, 4), `"strides": the format has no such key`},
		{"entry is null", file(`{"a":null}`, 0), `"a": <nil> where { was expected`},
		{"gap", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`, 12), `tensor "b": begins at byte 8`},
		{"gap at the start", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), `tensor "a": begins at byte 4`},
		{"overlap", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), `tensor "b": begins at byte 4`},
		{"same bytes twice", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), `tensor "b": begins at byte 0`},
		{"empty one in a gap", file(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[4,4]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), `tensor "a": begins at byte 4`},
		{"bytes behind", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 5), `end at byte 4 of the data, of which there are 5`},
		{"bytes without tensors", file(`{}`, 1), `end at byte 0 of the data, of which there are 1`},
		{"half a byte", file(`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}`, 2), `F4[3] does not fill whole bytes`},
		{"100,000 brackets", file(`{"a":`+strings.Repeat("[", 100_000), 0), `[ where { was expected`},
		{"brackets in a shape", file(`{"a":{"dtype":"F32","shape":`+strings.Repeat("[", 100_000), 0), `where a whole number`},
		{"brackets in metadata", file(`{"__metadata__":{"a":`+strings.Repeat("{", 100_000), 0), `where text was expected`},
		{"65 axes", file(`{"a":{"dtype":"U8","shape":[`+strings.Repeat("1,", 64)+`1],"data_offsets":[0,1]}}`, 1), `more than 64 numbers`},
		{"zero character", file(`{"a\u0000":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), `"a\x00" holds a zero character`},
		{"invalid UTF-8", file("{\"a\xff\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4), "not valid UTF-8"},
		{"invalid UTF-8 in metadata", file("{\"__metadata__\":{\"a\":\"\xc3\"}}", 0), "not valid UTF-8"},
		{"half a surrogate pair", file(`{"a\ud800":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), `half a character: \ud800`},
		{"the other half", file(`{"\\\uDC00b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), `half a character: \uDC00`},
		{"two first halves", file(`{"__metadata__":{"a":"\ud83d\ud83d"}}`, 0), `half a character: \ud83d`},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := read(c.file)
		runtime.ReadMemStats(&after)
		if f != nil || !errors.Is(err, safetensors.ErrFormat) || !strings.HasPrefix(fmt.Sprint(err), "safetensors: malformed file: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
			t.Errorf("%s: %d bytes of memory were asked for", c.what, used)
		}
	}
}

// TestSound reads headers that look odd but are right.
func TestSound(t *testing.T) {
	for what, c := range map[string]struct {
		file  []byte
		names []string
	}{
		"no tensors":           {file(`{}`, 0), []string{}},
		"padding":              {file("{}      ", 0), []string{}},
		"all white space":      {file("{ }\t\r\n ", 0), []string{}},
		"only metadata":        {file(`{"__metadata__":{"a":"b"}}`, 0), []string{}},
		"no element":           {file(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`, 0), []string{"a"}},
		"empty between":        {file(`{"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"e":{"dtype":"I64","shape":[4,0],"data_offsets":[1,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 3), []string{"b", "e", "a"}},
		"fields in any order":  {file(`{"a":{"data_offsets":[0,4],"shape":[],"dtype":"F32"}}`, 4), []string{"a"}},
		"a pair of surrogates": {file(`{"\ud83d\ude00":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, 1), []string{"😀"}},
		"an escaped backslash": {file(`{"\\ud800":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, 1), []string{`\ud800`}},
		"U+FFFD itself":        {file(`{"�\ufffd":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, 1), []string{"��"}},
		"the empty name":       {file(`{"":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, 1), []string{""}},
		"huge but empty":       {file(`{"a":{"dtype":"F32","shape":[1099511627776,1099511627776,0],"data_offsets":[0,0]}}`, 0), []string{"a"}},
	} {
		f, err := read(c.file)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if got := f.Names(); !slices.Equal(got, c.names) {
			t.Errorf("%s: %q", what, got)
		}
		if err := f.Verify(); !errors.Is(err, safetensors.ErrNoChecksum) {
			t.Errorf("%s: Verify says %v", what, err)
		}
		if err := f.Close(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestOfficial reads what the format's own library wrote: see testdata/make.py.
func TestOfficial(t *testing.T) {
	f, err := safetensors.Open("testdata/official.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if diff := cmp.Diff(map[string]string{"format": "pt", "note": "größer \"als\" \n 0"}, f.Metadata()); diff != "" {
		t.Error(diff)
	}
	got := map[string]string{}
	for _, name := range f.Names() {
		x, err := f.Tensor(name)
		got[name] = x.String()
		if err != nil {
			got[name] = err.Error()
		}
		if s, err := f.Spec(name); err == nil && s != x.Spec() {
			t.Errorf("%s: Spec is %v, the tensor's %v", name, s, x.Spec())
		}
	}
	want := map[string]string{
		"ä.重み": "f32[2 2]{1.5 -2 +Inf 0}", "half": "f16[2]{1 -0.5}", "brain": "bf16[1]{3}", "mask": "bool[3]{true false true}",
		"bytes": "u8[2]{0 255}", "steps": "i64[]{9007199254740993}", "index": "i32[1]{-7}", "double": "f64[1]{0.1}", "empty": "f32[0 3]{}",
		"small": `safetensors: tensor "small" has elements of type I8, which package tensor lacks`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAskedForInVain are errors of single tensors in a sound file.
func TestAskedForInVain(t *testing.T) {
	f, err := read(file(`{"i":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},"f":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[4,7]},`+
		`"deep":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[7,8]},"huge":{"dtype":"F32","shape":[1099511627776,0,1099511627776],"data_offsets":[8,8]}}`, 8))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"i": "type I16", "f": "type F6_E2M3", "deep": "more than 8 dimensions", "huge": "more than 2^40 elements", "j": `no tensor "j"`,
	} {
		_, err := f.Tensor(name)
		_, err2 := f.Spec(name)
		if err == nil || !strings.HasPrefix(err.Error(), "safetensors: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		if fmt.Sprint(err2) != fmt.Sprint(err) {
			t.Errorf("%s: Spec says %v, Tensor %v", name, err2, err)
		}
	}
	if all, err := f.Tensors(); err == nil || !strings.HasPrefix(err.Error(), "safetensors: ") || !strings.Contains(err.Error(), `tensor "i"`) {
		t.Error(all, err)
	}
}

func TestBoolThatIsNone(t *testing.T) {
	b := file(`{"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}`, 2)
	b[len(b)-1] = 2
	f, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Tensor("a"); !errors.Is(err, safetensors.ErrFormat) || !strings.Contains(err.Error(), `tensor "a": element 1 is 2`) {
		t.Error(err)
	}
}

// sample is a small file with all types.
func sample(t *testing.T) []byte {
	var b bytes.Buffer
	if err := safetensors.Write(&b, everyType(), map[string]string{"step": "12", "größe": "<3>"}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTruncated cuts a file at every length. No part of it opens.
func TestTruncated(t *testing.T) {
	whole := sample(t)
	for n := range whole {
		if _, err := read(whole[:n]); !errors.Is(err, safetensors.ErrFormat) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	folder := t.TempDir()
	for _, n := range []int{0, 8, len(whole) / 2, len(whole) - 1} {
		path := filepath.Join(folder, fmt.Sprint(n))
		if err := os.WriteFile(path, whole[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := safetensors.Open(path); !errors.Is(err, safetensors.ErrFormat) || !strings.Contains(err.Error(), path) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

// contents is all that a file holds, as text.
func contents(f *safetensors.File) string {
	var b strings.Builder
	fmt.Fprintln(&b, f.Metadata())
	for _, name := range f.Names() {
		x, err := f.Tensor(name)
		fmt.Fprintln(&b, name, x.Spec(), x.Bytes(), err)
	}
	return b.String()
}

// TestFlippedBit flips each bit of a file. Reading or verifying finds every one that changes what the file says; there are a few in the header
// that do not, such as a space that becomes another white space.
func TestFlippedBit(t *testing.T) {
	whole := sample(t)
	sound, err := read(whole)
	if err != nil {
		t.Fatal(err)
	}
	want := contents(sound)
	for i := range whole {
		for bit := range 8 {
			bad := bytes.Clone(whole)
			bad[i] ^= 1 << bit
			f, err := read(bad)
			if err == nil {
				err = f.Verify()
			}
			switch {
			case err == nil:
				if got := contents(f); got != want {
					t.Fatalf("bit %d of byte %d, %q, was not found: %s", bit, i, whole[max(0, i-8):min(len(whole), i+8)], cmp.Diff(want, got))
				}
			case !errors.Is(err, safetensors.ErrFormat) && !errors.Is(err, safetensors.ErrNoChecksum):
				t.Fatalf("bit %d of byte %d: %v", bit, i, err)
			}
		}
	}
}

// TestOtherMeaning gives the same bytes another type, shape, name or text: the checksum covers these too.
func TestOtherMeaning(t *testing.T) {
	whole := sample(t)
	for from, to := range map[string]string{`"F32","shape":[3,1]`: `"I32","shape":[3,1]`, `[3,1]`: `[1,3]`, `"i32"`: `"j32"`, `"12"`: `"21"`, `"step"`: `"stop"`} {
		if bytes.Count(whole, []byte(from)) != 1 {
			t.Fatalf("%s is not there once", from)
		}
		f, err := read(bytes.Replace(whole, []byte(from), []byte(to), 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Verify(); !errors.Is(err, safetensors.ErrFormat) || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("%s for %s: %v", to, from, err)
		}
	}
}

// shrinking is a file that ends earlier than it did when it was opened, or a disk that fails.
type shrinking struct {
	r   *bytes.Reader
	end int64
	err error
}

func (s shrinking) ReadAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) <= s.end {
		return s.r.ReadAt(b, at)
	}
	n, _ := s.r.ReadAt(b[:max(0, s.end-at)], at)
	return n, s.err
}

func TestReadErrors(t *testing.T) {
	whole := sample(t)
	broken := errors.New("the disk is broken")
	for end := range len(whole) {
		for _, cause := range []error{io.EOF, broken} {
			f, err := safetensors.Read(shrinking{bytes.NewReader(whole), int64(end), cause}, int64(len(whole)))
			if err == nil {
				err = f.Verify()
			}
			if want := cause == io.EOF; errors.Is(err, safetensors.ErrFormat) != want || errors.Is(err, broken) == want {
				t.Fatalf("after %d bytes of %d: %v", end, len(whole), err)
			}
			if f == nil {
				continue
			}
			failed := 0
			for _, name := range f.Names() {
				if _, err := f.Tensor(name); err != nil {
					failed++
					if !strings.Contains(err.Error(), fmt.Sprintf("tensor %q", name)) {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
			if failed == 0 {
				t.Fatalf("all tensors were read from %d bytes of %d", end, len(whole))
			}
		}
	}
}

func TestOpenErrors(t *testing.T) {
	folder := t.TempDir()
	if _, err := safetensors.Open(filepath.Join(folder, "none")); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "safetensors: ") {
		t.Error(err)
	}
	if _, err := safetensors.Open(folder); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}

// FuzzRead opens anything, reads what it promises, and expects a sound file to survive being written and read again.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	safetensors.Write(&b, everyType(), map[string]string{"a": "b"})
	f.Add(b.Bytes())
	official, err := os.ReadFile("testdata/official.safetensors")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(official)
	f.Add(file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0))
	f.Add(file(`{"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]},"__metadata__":{"\ud83d\ude00":"\\"}}`, 2))
	f.Fuzz(func(t *testing.T, b []byte) {
		first, err := read(b)
		if err != nil {
			if !errors.Is(err, safetensors.ErrFormat) {
				t.Fatalf("%v is no ErrFormat", err)
			}
			return
		}
		var list []safetensors.Named
		for _, name := range first.Names() {
			if x, err := first.Tensor(name); err == nil {
				list = append(list, safetensors.Named{Name: name, Tensor: x})
			}
		}
		var again bytes.Buffer
		if err := safetensors.Write(&again, list, first.Metadata()); err != nil {
			t.Fatal(err)
		}
		second, err := read(again.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if err := second.Verify(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.Metadata(), second.Metadata()); diff != "" {
			t.Fatal(diff)
		}
		for i, name := range second.Names() {
			if x, err := second.Tensor(name); err != nil || name != list[i].Name || !x.Same(list[i].Tensor) {
				t.Fatalf("%q: %v %v, was %q %v", name, x, err, list[i].Name, list[i].Tensor)
			}
		}
	})
}
