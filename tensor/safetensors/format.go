package safetensors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/cortado-ml/cortado/tensor"
)

// ErrFormat is in the chain of every error that says that a file is not a sound safetensors file: cut off, damaged, or something else.
var ErrFormat = errors.New("malformed file")

// ErrNoChecksum is what Verify says of a file without a checksum: another program wrote it.
var ErrNoChecksum = errors.New("no checksum")

const (
	metadataKey = "__metadata__"
	checksumKey = "crc32c"    // in the metadata of the files that this package writes
	maxHeader   = 100_000_000 // bytes, the format's own limit
)

// dtypes are the format's element types. Where only other programs have the type, own is None: such arrays are listed, but not read.
var dtypes = map[string]struct {
	bits int
	own  tensor.DType
}{
	"BOOL": {8, tensor.Bool}, "U8": {8, tensor.U8}, "I32": {32, tensor.I32}, "I64": {64, tensor.I64},
	"F16": {16, tensor.F16}, "BF16": {16, tensor.BF16}, "F32": {32, tensor.F32}, "F64": {64, tensor.F64},

	"I8": {8, tensor.None}, "I16": {16, tensor.None}, "U16": {16, tensor.None}, "U32": {32, tensor.None}, "U64": {64, tensor.None},
	"F4": {4, tensor.None}, "F6_E2M3": {6, tensor.None}, "F6_E3M2": {6, tensor.None}, "F8_E4M3": {8, tensor.None}, "F8_E5M2": {8, tensor.None},
	"F8_E8M0": {8, tensor.None}, "F8_E4M3FNUZ": {8, tensor.None}, "F8_E5M2FNUZ": {8, tensor.None}, "C64": {64, tensor.None},
}

// formatName is the format's name of d: F32 for f32.
func formatName(d tensor.DType) string { return strings.ToUpper(d.String()) }

// entry is one array as the header describes it.
type entry struct {
	name       string
	dtype      string // the format's
	shape      []int
	begin, end int64 // in the bytes behind the header
}

// checkName refuses what would not come back, or is not meant as a name. Both reader and writer ask it.
func checkName(name string) error {
	switch {
	case name == metadataKey:
		return fmt.Errorf("the name %q is reserved by the format", name)
	case !utf8.ValidString(name):
		return fmt.Errorf("the name %q is not valid UTF-8", name)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("the name %q holds a zero character", name)
	}
	return nil
}

var checksumTable = crc32.MakeTable(crc32.Castagnoli)

// checksum is the CRC-32C, in hexadecimal, of all that the file means and of nothing that it does not: the metadata and the arrays in the order
// of their names, each text with its length before it. So it outlives a program that writes the same contents in another order.
func checksum(metadata map[string]string, entries []entry, write func(w io.Writer, e entry) error) (string, error) {
	h := crc32.New(checksumTable)
	text := func(s string) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
		io.WriteString(h, s)
	}
	for _, key := range sortedKeys(metadata) {
		if key != checksumKey {
			text(key)
			text(metadata[key])
		}
	}
	for _, e := range sortedEntries(entries) {
		text(e.name)
		text(e.dtype)
		text(fmt.Sprint(e.shape))
		if err := write(h, e); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%08x", h.Sum32()), nil
}

// hostIsLittle reports whether elements lie in memory as they do in the file.
var hostIsLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// swap reverses the bytes of each element of the given size.
func swap(b []byte, size int) {
	for ; len(b) >= size; b = b[size:] {
		for i, j := 0, size-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	}
}
