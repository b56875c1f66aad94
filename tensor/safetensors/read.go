package safetensors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"github.com/cortado-ml/cortado/tensor"
)

// File is a file whose header has been read and checked. Its methods may be called concurrently, all but Close.
type File struct {
	header
	r      io.ReaderAt
	start  int64 // of the elements
	byName map[string]entry
	close  func() error
}

// Open opens the file at path, until Close. The errors are those of Read, with the path.
func Open(path string) (*File, error) {
	osFile, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	info, err := osFile.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("not a regular file: %v", info.Mode())
	}
	var f *File
	if err == nil {
		f, err = read(osFile, info.Size())
	}
	if err != nil {
		osFile.Close()
		return nil, fmt.Errorf("safetensors: %s: %w", path, err)
	}
	f.close = osFile.Close
	return f, nil
}

// Read reads the header of a file of size bytes. An error with ErrFormat in its chain says what is wrong with the file; other errors are r's.
func Read(r io.ReaderAt, size int64) (*File, error) {
	if r == nil {
		return nil, errors.New("safetensors: there is nothing to read")
	}
	f, err := read(r, size)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return f, nil
}

func read(r io.ReaderAt, size int64) (*File, error) {
	var word [8]byte
	if size < int64(len(word)) {
		return nil, fmt.Errorf("%w: %d bytes do not hold the length of a header", ErrFormat, size)
	}
	if err := readAt(r, word[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(word[:])
	if n > maxHeader {
		return nil, fmt.Errorf("%w: a header of %d bytes: the format allows %d", ErrFormat, n, maxHeader)
	}
	start := int64(len(word)) + int64(n)
	if start > size {
		return nil, fmt.Errorf("%w: a header of %d bytes in a file of %d: the file is cut off", ErrFormat, n, size)
	}
	text := make([]byte, n)
	if err := readAt(r, text, int64(len(word))); err != nil {
		return nil, err
	}
	h, err := parseHeader(text)
	if err == nil {
		err = h.check(size - start)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	f := &File{header: *h, r: r, start: start, byName: map[string]entry{}}
	for _, e := range h.entries {
		f.byName[e.name] = e
	}
	return f, nil
}

// readAt fills b from r. That r ends early is told as such: a file that shrank.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w at byte %d", ErrFormat, io.ErrUnexpectedEOF, at+int64(n))
	}
	return err
}

// Names are the names of all tensors, in the order of the header.
func (f *File) Names() []string {
	names := make([]string, len(f.entries))
	for i, e := range f.entries {
		names[i] = e.name
	}
	return names
}

// Metadata is a copy of the file's metadata, without the checksum.
func (f *File) Metadata() map[string]string {
	m := maps.Clone(f.metadata)
	delete(m, checksumKey)
	return m
}

// Spec is the type and shape of the tensor called name. It is an error if there is none, or if package tensor has no such type or shape:
// a file may hold tensors of types like I16 or F8_E4M3, and they hinder nobody who does not ask for them.
func (f *File) Spec(name string) (tensor.Spec, error) {
	s, err := f.spec(name)
	if err != nil {
		return tensor.Spec{}, fmt.Errorf("safetensors: %w", err)
	}
	return s, nil
}

func (f *File) spec(name string) (tensor.Spec, error) {
	e, ok := f.byName[name]
	if !ok {
		return tensor.Spec{}, fmt.Errorf("there is no tensor %q", name)
	}
	own := dtypes[e.dtype].own
	if own == tensor.None {
		return tensor.Spec{}, fmt.Errorf("tensor %q has elements of type %s, which package tensor lacks", name, e.dtype)
	}
	s := tensor.SpecOf(own, e.shape...)
	if err := s.Check(); err != nil {
		return tensor.Spec{}, fmt.Errorf("tensor %q of shape %v: %w", name, e.shape, err)
	}
	return s, nil
}

// Tensor reads the tensor called name into memory of its own. The errors are those of Spec and of reading.
func (f *File) Tensor(name string) (tensor.Tensor, error) {
	t, err := f.tensor(name)
	if err != nil {
		return tensor.Tensor{}, fmt.Errorf("safetensors: %w", err)
	}
	return t, nil
}

// Tensors reads all tensors, in the order of the header: what [Write] was given.
func (f *File) Tensors() ([]Named, error) {
	all := make([]Named, len(f.entries))
	for i, name := range f.Names() {
		t, err := f.Tensor(name)
		if err != nil {
			return nil, err
		}
		all[i] = Named{name, t}
	}
	return all, nil
}

func (f *File) tensor(name string) (tensor.Tensor, error) {
	s, err := f.spec(name)
	if err != nil {
		return tensor.Tensor{}, err
	}
	t := tensor.New(s)
	b := t.Bytes()
	if err := readAt(f.r, b, f.start+f.byName[name].begin); err != nil {
		return tensor.Tensor{}, fmt.Errorf("tensor %q: %w", name, err)
	}
	if !hostIsLittle {
		swap(b, s.DType.Size())
	}
	if s.DType == tensor.Bool {
		for i, x := range b {
			if x > 1 { // no Go bool may hold it
				return tensor.Tensor{}, fmt.Errorf("%w: tensor %q: element %d is %d, which is no truth value", ErrFormat, name, i, x)
			}
		}
	}
	return t, nil
}

// Verify reads the whole file and compares it with the checksum that it carries. The error has ErrFormat in its chain if they differ, and is
// ErrNoChecksum for a file that another program wrote.
func (f *File) Verify() error {
	want, ok := f.metadata[checksumKey]
	if !ok {
		return fmt.Errorf("safetensors: %w", ErrNoChecksum)
	}
	got, err := checksum(f.metadata, f.entries, func(w io.Writer, e entry) error {
		n, err := io.Copy(w, io.NewSectionReader(f.r, f.start+e.begin, e.end-e.begin))
		if err == nil && n < e.end-e.begin {
			err = fmt.Errorf("%w: tensor %q: %w", ErrFormat, e.name, io.ErrUnexpectedEOF)
		}
		return err
	})
	if err == nil && got != want {
		err = fmt.Errorf("%w: its checksum is %s, but its contents have %s: it is damaged, or was changed by a program that does not know of checksums", ErrFormat, want, got)
	}
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	return nil
}

// Close closes the file that Open opened. Tensors that were read stay.
func (f *File) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}
