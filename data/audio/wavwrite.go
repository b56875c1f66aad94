package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// WriteWAV writes c as a WAV file. Whole numbers are rounded to the nearest, ties to even; what is beyond full scale becomes full scale, and NaN 0.
func (c Clip) WriteWAV(w io.Writer, e Encoding) error {
	if err := c.check(); err != nil {
		return err
	}
	if e < PCM8 || e > Float64 {
		return fmt.Errorf("audio: there is no encoding %d", int(e))
	}
	if w == nil {
		return errors.New("audio: there is nothing to write to")
	}
	channels := len(c.Channels)
	block := int64(channels) * int64(e.bytes())
	size := block * int64(c.Len())
	if channels > math.MaxUint16 || block > math.MaxUint16 || size > unknown-64 || int64(c.Rate)*block > math.MaxUint32 {
		return fmt.Errorf("audio: %d channels of %d samples, %d a second, are too much for a WAV file of %v", channels, c.Len(), c.Rate, e)
	}
	out := bufio.NewWriter(w)
	head := []byte("RIFF")
	head = binary.LittleEndian.AppendUint32(head, uint32(4+8+16+8+size+size&1))
	head = append(head, "WAVEfmt "...)
	head = binary.LittleEndian.AppendUint32(head, 16)
	head = binary.LittleEndian.AppendUint16(head, encodings[e].code)
	head = binary.LittleEndian.AppendUint16(head, uint16(channels))
	head = binary.LittleEndian.AppendUint32(head, uint32(c.Rate))
	head = binary.LittleEndian.AppendUint32(head, uint32(int64(c.Rate)*block))
	head = binary.LittleEndian.AppendUint16(head, uint16(block))
	head = binary.LittleEndian.AppendUint16(head, encodings[e].bits)
	head = append(head, "data"...)
	head = binary.LittleEndian.AppendUint32(head, uint32(size))
	out.Write(head) // a bufio.Writer keeps its first error for Flush
	var b []byte
	for i := range c.Len() {
		for _, ch := range c.Channels {
			b = e.encode(b[:0], ch[i])
			out.Write(b)
		}
	}
	if size&1 == 1 {
		out.WriteByte(0)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("audio: %w", err)
	}
	return nil
}

// encode appends a sample.
func (e Encoding) encode(b []byte, v float32) []byte {
	switch e {
	case Float32:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	case Float64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(v)))
	}
	full := float64(uint64(1) << (encodings[e].bits - 1))
	whole := math.RoundToEven(float64(v) * full)
	n := int32(0)
	if v == v {
		n = int32(max(-full, min(full-1, whole)))
	}
	switch e {
	case PCM8:
		return append(b, byte(n+128))
	case PCM16:
		return binary.LittleEndian.AppendUint16(b, uint16(n))
	case PCM24:
		return append(b, byte(n), byte(n>>8), byte(n>>16))
	}
	return binary.LittleEndian.AppendUint32(b, uint32(n))
}
