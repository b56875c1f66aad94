package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Encoding is how a WAV file holds samples.
type Encoding int

// The encodings: whole numbers of so many bits, of which the largest stand for full scale, and floating-point numbers.
const (
	PCM8 Encoding = iota + 1
	PCM16
	PCM24
	PCM32
	Float32
	Float64
)

// The codes of a WAV file's formats.
const (
	codePCM        = 1
	codeFloat      = 3
	codeExtensible = 0xfffe
)

// encodings are the format code and the bits of each Encoding.
var encodings = [...]struct{ code, bits uint16 }{PCM8: {codePCM, 8}, PCM16: {codePCM, 16}, PCM24: {codePCM, 24}, PCM32: {codePCM, 32}, Float32: {codeFloat, 32}, Float64: {codeFloat, 64}}

// bytes is the size of a sample.
func (e Encoding) bytes() int { return int(encodings[e].bits) / 8 }

// String is the name: pcm16.
func (e Encoding) String() string {
	if e < PCM8 || e > Float64 {
		return fmt.Sprintf("Encoding(%d)", int(e))
	}
	if encodings[e].code == codePCM {
		return fmt.Sprintf("pcm%d", encodings[e].bits)
	}
	return fmt.Sprintf("float%d", encodings[e].bits)
}

// fmtChunk is what a file says of its samples.
type fmtChunk struct {
	Code, Channels uint16
	Rate, PerSec   uint32
	Block, Bits    uint16
}

// unknown is what programs that write to a pipe say of the length: this or more.
const unknown = 0x7ffff000

// ReadWAV reads a WAV file: whole numbers of 8, 16, 24 or 32 bits or floating-point numbers of 32 or 64, with any number of channels, plain or
// extensible. A whole number of n bits is divided by 2^(n-1), so full scale is from -1 to just below 1; floating-point numbers stay as they are,
// rounded to 32 bits. Other chunks than the format and the samples are passed over, and so is what is behind these.
//
// A file that ends before the samples it promises is an error, unless it promises 0x7ffff000 bytes or more, which is how programs that write to a pipe
// say that they do not know. Memory is asked for as the samples come, whatever is promised. (Source: Microsoft and IBM, "Multimedia Programming
// Interface and Data Specifications 1.0", 1991; "Multiple channel audio data and WAVE files", 2007.)
func ReadWAV(r io.Reader) (Clip, error) {
	if r == nil {
		return Clip{}, errors.New("audio: there is nothing to read")
	}
	c, err := readWAV(bufio.NewReader(r))
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("it is cut off: %w", io.ErrUnexpectedEOF)
		}
		return Clip{}, fmt.Errorf("audio: a WAV file: %w", err)
	}
	return c, nil
}

func readWAV(in *bufio.Reader) (Clip, error) {
	start, err := in.Peek(12)
	if err != nil && err != io.EOF {
		return Clip{}, err
	}
	if len(start) < 12 || string(start[:4]) != "RIFF" || string(start[8:]) != "WAVE" {
		return Clip{}, fmt.Errorf("it is none: it starts with %q", start)
	}
	in.Discard(12)
	var f *fmtChunk
	for {
		var head struct {
			Name [4]byte
			Size uint32
		}
		if err := binary.Read(in, binary.LittleEndian, &head); err != nil {
			return Clip{}, err
		}
		switch string(head.Name[:]) {
		case "fmt ":
			if f != nil {
				return Clip{}, errors.New("it has two formats")
			}
			if f, err = readFormat(in, head.Size); err != nil {
				return Clip{}, err
			}
		case "data":
			if f == nil {
				return Clip{}, errors.New("its samples come before their format")
			}
			return readData(in, f, head.Size)
		default:
			if err := skip(in, int64(head.Size)+int64(head.Size&1)); err != nil {
				return Clip{}, err
			}
		}
	}
}

// skip passes over n bytes, which must be there.
func skip(in io.Reader, n int64) error {
	_, err := io.CopyN(io.Discard, in, n)
	return err
}

// readFormat reads the format, and refuses what cannot be read.
func readFormat(in io.Reader, size uint32) (*fmtChunk, error) {
	if size < 16 {
		return nil, fmt.Errorf("its format has %d bytes", size)
	}
	f := new(fmtChunk)
	if err := binary.Read(in, binary.LittleEndian, f); err != nil {
		return nil, err
	}
	rest := int64(size) + int64(size&1) - 16
	if f.Code == codeExtensible {
		if size < 40 {
			return nil, fmt.Errorf("its extensible format has %d bytes", size)
		}
		var e struct {
			Size, ValidBits uint16
			Speakers        uint32
			Code            uint16
			GUID            [14]byte
		}
		if err := binary.Read(in, binary.LittleEndian, &e); err != nil {
			return nil, err
		}
		if string(e.GUID[:]) != extensibleGUID {
			return nil, fmt.Errorf("its extensible format is not known: % x", e.GUID)
		}
		f.Code = e.Code
		rest -= 24
	}
	if f.encoding() == 0 {
		return nil, fmt.Errorf("its samples are of format %#x with %d bits: only whole numbers of 8, 16, 24 and 32 and floating-point numbers of 32 and 64 bits are supported", f.Code, f.Bits)
	}
	if f.Channels == 0 || f.Rate == 0 || f.Rate > math.MaxInt32 {
		return nil, fmt.Errorf("it has %d channels of %d samples a second", f.Channels, f.Rate)
	}
	if int(f.Block) != int(f.Channels)*f.encoding().bytes() {
		return nil, fmt.Errorf("a sample of %d channels of %d bits has %d bytes", f.Channels, f.Bits, f.Block)
	}
	return f, skip(in, rest)
}

// extensibleGUID is what follows the code in the GUID of an extensible format.
const extensibleGUID = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

// encoding is 0 for one that is not supported.
func (f *fmtChunk) encoding() Encoding {
	for e := PCM8; e <= Float64; e++ {
		if encodings[e].code == f.Code && encodings[e].bits == f.Bits {
			return e
		}
	}
	return 0
}

// readData reads the samples.
func readData(in io.Reader, f *fmtChunk, size uint32) (Clip, error) {
	raw, err := io.ReadAll(io.LimitReader(in, int64(size)))
	if err != nil {
		return Clip{}, err
	}
	if len(raw) < int(size) && size < unknown {
		return Clip{}, fmt.Errorf("it is cut off: it promises %d bytes of samples, and %d are there", size, len(raw))
	}
	block, channels := int(f.Block), int(f.Channels)
	if len(raw)%block != 0 {
		return Clip{}, fmt.Errorf("its %d bytes of samples are not a multiple of %d", len(raw), block)
	}
	c := Clip{Rate: int(f.Rate), Channels: make([][]float32, channels)}
	e, frames := f.encoding(), len(raw)/block
	all := make([]float32, frames*channels)
	for k := range channels {
		out := all[k*frames : (k+1)*frames : (k+1)*frames]
		e.decode(out, raw[min(len(raw), k*e.bytes()):], block)
		c.Channels[k] = out
	}
	return c, nil
}

// decode reads samples, block bytes apart.
func (e Encoding) decode(out []float32, raw []byte, block int) {
	for i := range out {
		b := raw[i*block:]
		switch e {
		case PCM8:
			out[i] = float32(int(b[0])-128) / (1 << 7)
		case PCM16:
			out[i] = float32(int16(binary.LittleEndian.Uint16(b))) / (1 << 15)
		case PCM24:
			out[i] = float32(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)>>8) / (1 << 23)
		case PCM32:
			out[i] = float32(int32(binary.LittleEndian.Uint32(b))) / (1 << 31)
		case Float32:
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b))
		case Float64:
			out[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	}
}
