package safetensors

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/cortado-ml/cortado/internal/atomicfile"
	"github.com/cortado-ml/cortado/tensor"
)

// Named is a tensor and its name in a file.
type Named struct {
	Name   string
	Tensor tensor.Tensor
}

// Write writes a file with the tensors, listed in the order given, and the metadata, which may be nil. All is checked before the first byte
// is written: names must be valid UTF-8, without a zero character, each there once and none "__metadata__"; no tensor may be none.
func Write(w io.Writer, tensors []Named, metadata map[string]string) error {
	l, err := plan(tensors, metadata)
	if err == nil && w == nil {
		err = errors.New("there is nowhere to write")
	}
	if err == nil {
		err = l.write(w)
	}
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	return nil
}

// WriteFile is Write to the file at path, which then has the old contents or the new, never a part: see internal/atomicfile. While it
// writes there is a file of the same name with ".partial" behind it; one that a killed program left is no hindrance.
func WriteFile(path string, tensors []Named, metadata map[string]string) error {
	l, err := plan(tensors, metadata)
	if err == nil {
		err = atomicfile.Write(path, l.write)
	}
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	return nil
}

// layout is a file about to be written.
type layout struct {
	header []byte
	data   []tensor.Tensor // in the order of their bytes
}

// plan checks everything and makes the header. The largest elements come first, so that each array starts at a multiple of its element size and a
// program that maps the file into memory can use it in place: the format allows no padding.
func plan(tensors []Named, metadata map[string]string) (*layout, error) {
	for key, text := range metadata {
		if !utf8.ValidString(key) || !utf8.ValidString(text) {
			return nil, fmt.Errorf("metadata %q: %q is not valid UTF-8", key, text)
		}
	}
	entries := make([]entry, len(tensors))
	byName := map[string]tensor.Tensor{}
	for i, n := range tensors {
		if err := checkName(n.Name); err != nil {
			return nil, err
		}
		if _, ok := byName[n.Name]; ok {
			return nil, fmt.Errorf("two tensors have the name %q", n.Name)
		}
		if n.Tensor.IsNone() {
			return nil, fmt.Errorf("tensor %q is none", n.Name)
		}
		byName[n.Name] = n.Tensor
		entries[i] = entry{name: n.Name, dtype: formatName(n.Tensor.DType()), shape: append([]int{}, n.Tensor.Shape().Dims()...)}
	}

	order := make([]int, len(tensors))
	for i := range order {
		order[i] = i
	}
	size := func(i int) int { return tensors[i].Tensor.DType().Size() }
	slices.SortStableFunc(order, func(a, b int) int { return size(b) - size(a) })
	l := &layout{data: make([]tensor.Tensor, len(tensors))}
	at := int64(0)
	for place, i := range order {
		l.data[place] = tensors[i].Tensor
		entries[i].begin = at
		at += int64(tensors[i].Tensor.Spec().Bytes())
		entries[i].end = at
	}

	sum, err := checksum(metadata, entries, func(w io.Writer, e entry) error { return writeElements(w, byName[e.name]) })
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	maps.Copy(all, metadata)
	all[checksumKey] = sum // in place of another file's, whose metadata this may be
	l.header = encodeHeader(entries, all)
	if len(l.header) > maxHeader {
		return nil, fmt.Errorf("the header would have %d bytes: the format allows %d", len(l.header), maxHeader)
	}
	return l, nil
}

// encodeHeader is the header with spaces behind it, so that the elements start at a multiple of 8.
func encodeHeader(entries []entry, metadata map[string]string) []byte {
	quote := func(x any) []byte {
		b, _ := json.Marshal(x) // text, lists of numbers and maps of text always have a JSON form
		return b
	}
	b := fmt.Appendf(nil, "{%q:%s", metadataKey, quote(metadata))
	for _, e := range entries {
		b = fmt.Appendf(b, `,%s:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, quote(e.name), e.dtype, quote(e.shape), e.begin, e.end)
	}
	b = append(b, '}')
	for len(b)%8 != 0 {
		b = append(b, ' ')
	}
	return b
}

// write writes the file.
func (l *layout) write(w io.Writer) error {
	buffered := bufio.NewWriterSize(w, 1<<18) // many arrays are small
	buffered.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(l.header))))
	buffered.Write(l.header)
	for _, t := range l.data {
		if err := writeElements(buffered, t); err != nil {
			return err
		}
	}
	return buffered.Flush() // tells the first error of all the writes before it, too
}

// writeElements writes the elements of t, little-endian.
func writeElements(w io.Writer, t tensor.Tensor) error {
	b := t.Bytes()
	if !hostIsLittle {
		b = slices.Clone(b)
		swap(b, t.DType().Size())
	}
	_, err := w.Write(b)
	return err
}
