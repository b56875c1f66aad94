package fashion_test

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/cortado-ml/cortado/data/fashion"
)

// The first bytes of an idx file tell what it holds.
func Example() {
	f, err := fashion.Files().Open("train-labels-idx1-ubyte.gz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		fmt.Println(err)
		return
	}
	var header struct{ Magic, Count uint32 }
	if err := binary.Read(r, binary.BigEndian, &header); err != nil {
		fmt.Println(err)
		return
	}
	labels, err := io.ReadAll(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%#x, %d labels; the first is %s\n", header.Magic, len(labels), fashion.Classes()[labels[0]])
	// Output: 0x801, 6000 labels; the first is ankle boot
}
