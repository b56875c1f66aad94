package fashion

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"io/fs"
	"testing"
)

// read returns the unzipped contents of an embedded file.
func read(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := fs.ReadFile(Files(), name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b
}

// TestFiles checks headers, sizes and sums. The sums were taken from the whole set, not from the embedded files, so a
// sample cut at the wrong offset or length would not match them.
func TestFiles(t *testing.T) {
	for _, c := range []struct {
		split  string
		count  int
		perTen [10]int // images of each class
		pixels uint64  // sum of all pixels
		first  uint64  // sum of the first image's pixels
	}{
		{"train", 6000, [10]int{560, 643, 608, 612, 584, 594, 590, 617, 590, 602}, 342670278, 76247},
		{"t10k", 1000, [10]int{107, 105, 111, 93, 115, 87, 97, 95, 95, 95}, 58034149, 33456},
	} {
		images := read(t, c.split+"-images-idx3-ubyte.gz")
		want := binary.BigEndian.AppendUint32(nil, 0x803)
		for _, n := range []int{c.count, 28, 28} {
			want = binary.BigEndian.AppendUint32(want, uint32(n))
		}
		if !bytes.Equal(images[:16], want) {
			t.Errorf("%s images: header % x, want % x", c.split, images[:16], want)
		}
		if got := len(images) - 16; got != c.count*28*28 {
			t.Fatalf("%s images: %d pixels, want %d", c.split, got, c.count*28*28)
		}
		if got := sum(images[16:]); got != c.pixels {
			t.Errorf("%s images: pixels add up to %d, want %d", c.split, got, c.pixels)
		}
		if got := sum(images[16 : 16+784]); got != c.first {
			t.Errorf("%s images: the first adds up to %d, want %d", c.split, got, c.first)
		}

		labels := read(t, c.split+"-labels-idx1-ubyte.gz")
		want = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 0x801), uint32(c.count))
		if !bytes.Equal(labels[:8], want) {
			t.Errorf("%s labels: header % x, want % x", c.split, labels[:8], want)
		}
		if got := len(labels) - 8; got != c.count {
			t.Fatalf("%s labels: %d of them, want %d", c.split, got, c.count)
		}
		var perTen [10]int
		for i, l := range labels[8:] {
			if int(l) >= len(Classes()) {
				t.Fatalf("%s label %d is %d", c.split, i, l)
			}
			perTen[l]++
		}
		if perTen != c.perTen {
			t.Errorf("%s labels: %v of each class, want %v", c.split, perTen, c.perTen)
		}
	}
}

func sum(b []byte) (s uint64) {
	for _, x := range b {
		s += uint64(x)
	}
	return s
}

// TestNotice makes sure that the licence travels with the images.
func TestNotice(t *testing.T) {
	b, err := fs.ReadFile(Files(), "LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"MIT License", "Zalando SE", "shall be included in all copies"} {
		if !bytes.Contains(b, []byte(s)) {
			t.Errorf("LICENSE lacks %q", s)
		}
	}
}
