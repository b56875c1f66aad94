package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// ReadIDX reads a file of the IDX format, as of MNIST: a big-endian header with the element type and the size of each axis, then the elements.
// Only bytes (type 8) are supported: the result is u8. The file may be gzipped, whatever its name says. The header is believed only as far as
// the file can hold what it promises, and the file must end where the header says. (Source: Y. LeCun, C. Cortes and C. Burges, "The MNIST
// database of handwritten digits".)
func ReadIDX(files fs.FS, name string) (tensor.Tensor, error) {
	t, err := readIDX(files, name)
	if err != nil {
		return tensor.Tensor{}, fmt.Errorf("data: %s: %w", name, err)
	}
	return t, nil
}

func readIDX(files fs.FS, name string) (tensor.Tensor, error) {
	if files == nil {
		return tensor.Tensor{}, errors.New("there are no files")
	}
	file, err := files.Open(name)
	if err != nil {
		return tensor.Tensor{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return tensor.Tensor{}, err
	}
	most := info.Size() // that can be in the file
	in := bufio.NewReader(file)
	if start, _ := in.Peek(2); bytes.Equal(start, []byte{0x1f, 0x8b}) {
		unzip, err := gzip.NewReader(in)
		if err != nil {
			return tensor.Tensor{}, cutOff(err)
		}
		in = bufio.NewReader(unzip)
		most = min(most, math.MaxInt64/deflateMost) * deflateMost
	}
	s, err := idxHeader(in)
	if err != nil {
		return tensor.Tensor{}, err
	}
	want := int64(s.Bytes())
	if want > most {
		return tensor.Tensor{}, fmt.Errorf("its header promises %v, %d bytes, which a file of %d bytes cannot hold", s, want, info.Size())
	}
	elements, err := io.ReadAll(io.LimitReader(in, want+1)) // one more, to meet the end and with it gzip's checksum
	switch {
	case err != nil:
		return tensor.Tensor{}, cutOff(err)
	case int64(len(elements)) < want:
		return tensor.Tensor{}, fmt.Errorf("it is cut off: its header promises %v, %d bytes, and %d are there", s, want, len(elements))
	case int64(len(elements)) > want:
		return tensor.Tensor{}, fmt.Errorf("it has more bytes than the %d of the %v that its header promises", want, s)
	}
	return tensor.From(elements, s.Shape.Dims()...)
}

// cutOff says in words what an early end means; other errors, such as those of package gzip, speak for themselves.
func cutOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("it is cut off: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// deflateMost is how many bytes one byte of a gzip file can become at most.
const deflateMost = 1032

// idxHeader reads the header: two zeros, the element type, the number of axes, and the size of each.
func idxHeader(in *bufio.Reader) (tensor.Spec, error) {
	start, err := in.Peek(16)
	if err != nil && err != io.EOF {
		return tensor.Spec{}, cutOff(err)
	}
	if len(start) < 4 || start[0] != 0 || start[1] != 0 {
		return tensor.Spec{}, fmt.Errorf("it is not an IDX file, gzipped or not: it starts with %q", start)
	}
	if start[2] != 8 {
		return tensor.Spec{}, fmt.Errorf("its elements are of IDX type %#02x; only bytes, type 0x08, are supported", start[2])
	}
	rank := int(start[3])
	if rank < 1 || rank > tensor.MaxRank {
		return tensor.Spec{}, fmt.Errorf("its header promises %d axes", rank)
	}
	header := make([]byte, 4+4*rank)
	if _, err := io.ReadFull(in, header); err != nil {
		return tensor.Spec{}, cutOff(err)
	}
	dims := make([]int, rank)
	for i := range dims {
		dims[i] = int(binary.BigEndian.Uint32(header[4+4*i:]))
	}
	s := tensor.SpecOf(tensor.U8, dims...)
	if err := s.Check(); err != nil {
		return tensor.Spec{}, fmt.Errorf("its header promises the shape %v: %w", dims, err)
	}
	return s, nil
}
