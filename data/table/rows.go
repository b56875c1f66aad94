package table

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cortado-ml/cortado/tensor"
)

// Rows reads a file row by row, as an encoder sees it. It is a data.Source.
type Rows struct {
	e       *Encoder
	in      *reader
	from    io.Reader
	columns []*Column // of e
	cells   []int     // where they are in the file
	codes   []map[string]float64
	row     []float64
	x, y    tensor.Spec
}

// Rows reads the header; the file may have any columns beside those of the encoder. Close closes r, if r has a Close.
func (e *Encoder) Rows(r io.Reader) (*Rows, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	f := e.Format
	f.Kinds = nil // what is missing is told below, all at once
	in, err := newReader(fileName(r), r, f)
	if err != nil {
		return nil, err
	}
	at := make(map[string]int, len(in.columns))
	for i, name := range in.columns {
		at[name] = i
	}
	s := &Rows{e: e, in: in, from: r, columns: e.columns()}
	s.x, s.y = e.Specs()
	var missing []string
	for _, c := range s.columns {
		i, there := at[c.Name]
		if !there {
			missing = append(missing, strconv.Quote(c.Name))
		}
		s.cells = append(s.cells, i)
		s.codes = append(s.codes, c.codes())
	}
	if missing != nil {
		return nil, in.fail(0, "", fmt.Errorf("it lacks the columns %s: there are %s", strings.Join(missing, ", "), quoted(in.columns)))
	}
	s.row = make([]float64, len(s.cells))
	return s, nil
}

// Specs are those of the encoder.
func (s *Rows) Specs() (x, y tensor.Spec) { return s.x, s.y }

// Next writes the next row; io.EOF behind the last. Any other error is an *Error.
func (s *Rows) Next(x, y tensor.Tensor) error {
	if err := checkSpecs(s.x, s.y, x, y); err != nil {
		return err
	}
	cells, err := s.in.next()
	if err != nil {
		return err
	}
	for i, c := range s.columns {
		if s.row[i], err = c.value(cells[s.cells[i]], s.codes[i], s.e.Format); err != nil {
			return s.in.fail(s.in.line, c.Name, err)
		}
	}
	if column, err := s.e.encode(s.row, x, y); err != nil {
		return s.in.fail(s.in.line, column, err)
	}
	return nil
}

// Close closes what is read.
func (s *Rows) Close() error {
	if c, ok := s.from.(io.Closer); ok {
		if err := c.Close(); err != nil {
			return s.in.fail(0, "", err)
		}
	}
	return nil
}
