package data_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/data/fashion"
	"github.com/cortado-ml/cortado/tensor"
)

// idx is a file of the IDX format with elements 0, 1, 2, …, n of them.
func idx(n int, dims ...uint32) []byte {
	b := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		b = binary.BigEndian.AppendUint32(b, d)
	}
	for i := range n {
		b = append(b, byte(i))
	}
	return b
}

func zip(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func TestReadIDX(t *testing.T) {
	file := idx(12, 3, 2, 2)
	for what, b := range map[string][]byte{"raw": file, "gzipped": zip(file), "in two parts": append(zip(file[:7]), zip(file[7:])...)} {
		for _, name := range []string{"x.gz", "x"} {
			x, err := ReadIDX(fstest.MapFS{name: {Data: b}}, name)
			if err != nil || x.String() != "u8[3 2 2]{0 1 2 3 4 5 6 7 8 9 10 11}" {
				t.Errorf("%s as %s: %v, %v", what, name, x, err)
			}
		}
	}
	if x, err := ReadIDX(fstest.MapFS{"x": {Data: idx(4, 4)}}, "x"); err != nil || x.String() != "u8[4]{0 1 2 3}" {
		t.Error(x, err)
	}
}

// TestBadIDX: report 25, a web page saved as .gz, the wrong wrapper, a short file. Every error names the file and what is wrong with it.
func TestBadIDX(t *testing.T) {
	file := idx(40, 10, 2, 2)
	zipped := zip(file)
	badSum := bytes.Clone(zipped)
	badSum[len(badSum)-8] ^= 1
	badData := bytes.Clone(zipped)
	badData[12] ^= 0x40
	int32s := idx(40, 10, 2, 2)
	int32s[2] = 0x0c
	for what, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":                {nil, `not an IDX file, gzipped or not: it starts with ""`},
		"a web page":           {[]byte("<!DOCTYPE html><html></html>"), `it starts with "<!DOCTYPE html><"`},
		"a gzipped web page":   {zip([]byte("<!DOCTYPE html><html></html>")), `it starts with "<!DOCTYPE html><"`},
		"gzipped twice":        {zip(zipped), `it starts with "\x1f\x8b`},
		"a zip archive":        {[]byte("PK\x03\x04 and more of it"), `it starts with "PK\x03\x04`},
		"gzip, cut by 8":       {zipped[:len(zipped)-8], "cut off"},
		"gzip, cut by 1":       {zipped[:len(zipped)-1], "cut off"},
		"gzip, only its magic": {zipped[:2], "cut off"},
		"gzip, cut early":      {zipped[:11], "cut off"},
		"gzip, wrong checksum": {badSum, "gzip: invalid checksum"},
		"gzip, damaged":        {badData, ""},
		"short by one":         {file[:len(file)-1], "it is cut off: its header promises u8[10 2 2], 40 bytes, and 39 are there"},
		"gzipped short by one": {zip(file[:len(file)-1]), "it is cut off: its header promises u8[10 2 2], 40 bytes, and 39 are there"},
		"one too many":         {append(bytes.Clone(file), 0), "more bytes than the 40 of the u8[10 2 2]"},
		"gzipped one too many": {zip(append(bytes.Clone(file), 0)), "more bytes than the 40"},
		"2^31 images":          {idx(40, 1<<31, 2, 2), "promises u8[2147483648 2 2], 8589934592 bytes, which a file of 56 bytes cannot hold"},
		"2^31 images, gzipped": {zip(idx(40, 1<<31, 2, 2)), "cannot hold"},
		"2^31 of all":          {idx(40, 1<<31, 1<<31, 1<<31), "its header promises the shape [2147483648 2147483648 2147483648]"},
		"no axes":              {idx(1), "promises 0 axes"},
		"9 axes":               {idx(1, 1, 1, 1, 1, 1, 1, 1, 1, 1), "promises 9 axes"},
		"cut in the header":    {file[:9], "cut off"},
		"integers":             {int32s, "IDX type 0x0c; only bytes"},
		"little-endian":        {[]byte{3, 8, 0, 0, 10, 0, 0, 0}, "not an IDX file"},
	} {
		x, err := ReadIDX(fstest.MapFS{"train-images-idx3-ubyte.gz": {Data: c.file}}, "train-images-idx3-ubyte.gz")
		if !x.IsNone() || err == nil || !strings.HasPrefix(err.Error(), "data: train-images-idx3-ubyte.gz: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	counting := &countingFS{MapFS: four()}
	counting.MapFS["bad"] = &fstest.MapFile{Data: badSum}
	ReadIDX(counting, "bad")
	ReadIDX(counting, "t10k-labels-idx1-ubyte.gz")
	if open := counting.open.Load(); open != 0 {
		t.Errorf("%d files are open", open)
	}
	if _, err := ReadIDX(fstest.MapFS{}, "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := ReadIDX(fstest.MapFS{"x/y": {}}, "x"); err == nil {
		t.Error("a folder was read")
	}
}

// four is the files of a data set of 5 training and 3 test images.
func four() fstest.MapFS {
	return fstest.MapFS{
		"train-images-idx3-ubyte.gz": {Data: zip(idx(20, 5, 2, 2))}, "train-labels-idx1-ubyte.gz": {Data: zip(idx(5, 5))},
		"t10k-images-idx3-ubyte.gz": {Data: zip(idx(12, 3, 2, 2))}, "t10k-labels-idx1-ubyte.gz": {Data: zip(idx(3, 3))},
	}
}

func TestOpenIDX(t *testing.T) {
	for _, rename := range []func(string) string{
		func(s string) string { return s },
		func(s string) string { return strings.TrimSuffix(s, ".gz") },
		func(s string) string { return strings.Replace(s, "-idx", ".idx", 1) },
		func(s string) string { return strings.TrimSuffix(strings.Replace(s, "-idx", ".idx", 1), ".gz") },
	} {
		files := fstest.MapFS{"train-images-idx3-ubyte/a folder": {}} // as some archives unpack
		for name, f := range four() {
			files[rename(name)] = f
		}
		if rename("-idx.gz") == "-idx" {
			delete(files, "train-images-idx3-ubyte/a folder")
		}
		train, test, err := OpenIDX(files)
		if err != nil {
			t.Error(err)
			continue
		}
		if train.Len() != 5 || test.Len() != 3 || !slices.Equal(train.Classes(), []string{"0", "1", "2", "3", "4"}) {
			t.Errorf("%d and %d images, classes %v", train.Len(), test.Len(), train.Classes())
		}
		x, y := sample(t, train, 4)
		want := tensor.Must(tensor.From([]float32{16. / 255, 17. / 255, 18. / 255, 19. / 255}, 1, 2, 2))
		if !x.Same(want) || y.String() != "i64[]{4}" {
			t.Errorf("sample 4 is %v, %v", x, y)
		}
	}
}

func TestOpenIDXErrors(t *testing.T) {
	for what, c := range map[string]struct {
		name string
		file []byte
		want string
	}{
		"none":             {"t10k-labels-idx1-ubyte.gz", nil, "data: none of the files t10k-labels-idx1-ubyte.gz, t10k-labels-idx1-ubyte, t10k-labels.idx1-ubyte.gz"},
		"9 labels":         {"train-labels-idx1-ubyte.gz", idx(9, 9), "data: train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz: 5 images but 9 labels"},
		"no images":        {"train-images-idx3-ubyte.gz", idx(0, 0, 28, 28), "train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz: there are no pixels in u8[0 28 28]"},
		"no rows":          {"t10k-images-idx3-ubyte.gz", idx(0, 3, 0, 28), "t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz: there are no pixels in u8[3 0 28]"},
		"labels as images": {"train-images-idx3-ubyte.gz", idx(5, 5), "images are u8[n height width] or u8[n channels height width], not u8[5]"},
		"images as labels": {"t10k-labels-idx1-ubyte.gz", idx(12, 3, 2, 2), "labels are u8[n], not u8[3 2 2]"},
		"label 255":        {"t10k-labels-idx1-ubyte.gz", append(idx(2, 3), 255), "data: t10k-labels-idx1-ubyte.gz has a label 255, but the labels of train-labels-idx1-ubyte.gz end at 4"},
		"other size":       {"t10k-images-idx3-ubyte.gz", idx(27, 3, 3, 3), "the training images are f32[1 2 2], but the test images f32[1 3 3]"},
		"a web page":       {"train-labels-idx1-ubyte.gz", []byte("<html>"), `data: train-labels-idx1-ubyte.gz: it is not an IDX file, gzipped or not: it starts with "<html>"`},
	} {
		files := four()
		delete(files, c.name)
		if c.file != nil {
			files[c.name] = &fstest.MapFile{Data: c.file}
		}
		train, test, err := OpenIDX(files)
		if train != nil || test != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
		if c.file == nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v does not say so", what, err)
		}
	}
}

func TestNewImages(t *testing.T) {
	colour := tensor.New(tensor.SpecOf(tensor.U8, 2, 3, 4, 5))
	d, err := NewImages(colour, tensor.Must(tensor.From([]uint8{7, 255})))
	if err != nil {
		t.Fatal(err)
	}
	if x, y := d.Specs(); x != tensor.SpecOf(tensor.F32, 3, 4, 5) || y != tensor.SpecOf(tensor.I64) || len(d.Classes()) != 256 {
		t.Errorf("%v, %v, %d classes", x, y, len(d.Classes()))
	}
	colour.Set(60, 255)
	if x, y := sample(t, d, 1); x.At(0) != 1 || x.At(1) != 0 || y.Int(0) != 255 {
		t.Errorf("%v, %v", x, y)
	}
	if _, err := NewImages(tensor.New(tensor.SpecOf(tensor.F32, 2, 4, 5)), tensor.New(tensor.SpecOf(tensor.U8, 2))); err == nil {
		t.Error("float pixels were taken")
	}
	if _, err := NewImages(colour, tensor.New(tensor.SpecOf(tensor.I64, 2))); err == nil {
		t.Error("i64 labels were taken")
	}
}

// TestFashion reads the embedded sample.
func TestFashion(t *testing.T) {
	train, test, err := OpenIDX(fashion.Files())
	if err != nil {
		t.Fatal(err)
	}
	if train.Len() != 6000 || test.Len() != 1000 || len(train.Classes()) != len(fashion.Classes()) {
		t.Errorf("%d and %d images, %d classes", train.Len(), test.Len(), len(train.Classes()))
	}
	x, y := sample(t, train, 0)
	sum := 0.0
	for _, v := range x.Floats() {
		if v < 0 || v > 1 {
			t.Fatalf("a pixel is %v", v)
		}
		sum += v
	}
	if y.Int(0) != 9 || sum < 76247./255-0.001 || sum > 76247./255+0.001 { // see package fashion
		t.Errorf("the first image is a %v and its pixels add up to %v", y, sum*255)
	}
}

// FuzzReadIDX reads anything. What it takes has the size of its shape.
func FuzzReadIDX(f *testing.F) {
	f.Add(idx(12, 3, 2, 2))
	f.Add(zip(idx(12, 3, 2, 2)))
	f.Add(idx(0, 1<<31, 1<<31))
	f.Add([]byte("<!DOCTYPE html>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ReadIDX(fstest.MapFS{"x": {Data: b}}, "x")
		if (err == nil) == x.IsNone() {
			t.Fatal(x.Spec(), err)
		}
		if errors.Is(err, io.EOF) {
			t.Fatalf("a bare end of file: %v", err)
		}
	})
}
