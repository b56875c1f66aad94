package text

import (
	"fmt"
	"io"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/tensor"
)

// windows is pieces of a list of tokens.
type windows struct {
	tokens         []int32
	length, stride int
}

// Windows is the samples x = tokens[k : k+length] and y = tokens[k+1 : k+1+length], both i64[length], for k = 0, stride, 2 stride and so on: at each
// place of x the token there, and in y the one to predict from all up to it. A stride of length uses each token once; a stride of 1 lets a
// shuffling loader begin anywhere. What is left at the end and fills no window is in none. It shares the tokens' memory.
func Windows(tokens []int32, length, stride int) (data.Dataset, error) {
	switch {
	case length < 1 || stride < 1:
		return nil, fmt.Errorf("text: windows of %d tokens, %d apart: both must be positive", length, stride)
	case len(tokens) <= length:
		return nil, fmt.Errorf("text: %d tokens do not fill a window of %d and the one behind it", len(tokens), length)
	}
	return &windows{tokens, length, stride}, nil
}

func (w *windows) Len() int { return (len(w.tokens)-1-w.length)/w.stride + 1 }

func (w *windows) Specs() (x, y tensor.Spec) {
	s := tensor.SpecOf(tensor.I64, w.length)
	return s, s
}

func (w *windows) Sample(i int, x, y tensor.Tensor) error {
	if i < 0 || i >= w.Len() {
		return fmt.Errorf("text: there is no window %d: there are %d", i, w.Len())
	}
	return write(w.tokens[i*w.stride:], w.length, x, y)
}

// write writes a window.
func write(tokens []int32, length int, x, y tensor.Tensor) error {
	xs, ys := tensor.Data[int64](x), tensor.Data[int64](y)
	if want := tensor.SpecOf(tensor.I64, length); x.Spec() != want || y.Spec() != want {
		return fmt.Errorf("text: a sample is %v and %v, not %v and %v", want, want, x.Spec(), y.Spec())
	}
	for k := range length {
		xs[k], ys[k] = int64(tokens[k]), int64(tokens[k+1])
	}
	return nil
}

// Source is the windows of a text of any length, one behind another. It is a data.Source.
type Source struct {
	in        chunks
	tokenizer Tokenizer
	tokens    []int32 // read, but not in a window
	length    int
}

// NewSource reads r as Windows of that length and stride. Encoding it in pieces, of which each ends with a line, gives the tokens that Encode gives for
// the whole, but for where 64 KiB have no end of a line. Close closes r, if r has a Close.
func NewSource(r io.Reader, t Tokenizer, length int) (*Source, error) {
	switch {
	case length < 1:
		return nil, fmt.Errorf("text: windows of %d tokens", length)
	case r == nil || t == nil:
		return nil, fmt.Errorf("text: a source needs something to read and a tokenizer")
	}
	return &Source{in: chunks{from: r}, tokenizer: t, length: length}, nil
}

// Specs are i64[length], twice.
func (s *Source) Specs() (x, y tensor.Spec) {
	spec := tensor.SpecOf(tensor.I64, s.length)
	return spec, spec
}

// Next writes the next window; io.EOF where what is left fills none.
func (s *Source) Next(x, y tensor.Tensor) error {
	for len(s.tokens) <= s.length {
		piece, err := s.in.next()
		if err == io.EOF {
			return err
		}
		if err != nil {
			return fmt.Errorf("text: %w", err)
		}
		s.tokens = append(s.tokens, s.tokenizer.Encode(piece)...)
	}
	if err := write(s.tokens, s.length, x, y); err != nil {
		return err
	}
	s.tokens = s.tokens[s.length:]
	return nil
}

// Close closes what is read.
func (s *Source) Close() error {
	if c, ok := s.in.from.(io.Closer); ok {
		if err := c.Close(); err != nil {
			return fmt.Errorf("text: %w", err)
		}
	}
	return nil
}
