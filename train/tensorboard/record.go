package tensorboard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// castagnoli is the polynomial of the checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is CRC-32C, rotated and shifted, since a CRC of data that hold a CRC says little.
func checksum(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// appendRecord appends a record: the length of the data, its checksum, the data, their checksum. (Source: TensorFlow's documentation of TFRecord.)
func appendRecord(b, data []byte) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, checksum(b[start:]))
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, checksum(data))
}

// maxRecord is the largest record that is read.
const maxRecord = 1 << 30

var errDamaged = errors.New("a checksum is wrong")

// readRecord is the data of the next record; io.EOF behind the last. A length, though its checksum is right, is not believed before the data are
// there.
func readRecord(r io.Reader) ([]byte, error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	if checksum(head[:8]) != binary.LittleEndian.Uint32(head[8:]) {
		return nil, errDamaged
	}
	n := binary.LittleEndian.Uint64(head[:8])
	if n > maxRecord {
		return nil, fmt.Errorf("a record of %d bytes: at most %d are read", n, maxRecord)
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(n)+4))
	if err != nil {
		return nil, err
	}
	if uint64(len(data)) < n+4 {
		return nil, io.ErrUnexpectedEOF
	}
	data, sum := data[:n], binary.LittleEndian.Uint32(data[n:])
	if checksum(data) != sum {
		return nil, errDamaged
	}
	return data, nil
}
