package table

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// Encoder turns rows into samples as the training rows were: x is f32[width], each input column's share one behind another, and y the target.
//   - A Number is (value - Mean) / Std. One without a value is 0, which is the mean; where training rows lacked values, a second input says 1.
//   - A Category is one input for each class, 1 for the row's own and 0 for the others. All are 0 without a value, and for a class that the
//     training rows do not have.
//   - The target is the number of its class, i64[], or the standardised number, f32[1], which Column.Value turns back. A row whose target has
//     no value, or is no class that is known, is an error.
//
// It is plain data, for encoding/json.
type Encoder struct {
	Format Format   `json:"format"` // of the training file; its Kinds name every column that is used
	Inputs []Column `json:"inputs"`
	Target *Column  `json:"target,omitempty"` // nil for none
}

// Fit makes an encoder that predicts the target, or nothing if target is empty, from all other columns. The statistics are those of the rows
// listed, nil for all: of the training rows, so that nothing of the others is known beforehand.
func (t *Table) Fit(target string, rows []int) (*Encoder, error) {
	if rows == nil {
		rows = make([]int, t.Len())
		for i := range rows {
			rows[i] = i
		}
	}
	if len(rows) == 0 {
		return nil, &Error{File: t.file, Err: errors.New("no rows to train on")}
	}
	columns := t.Columns()
	for i := range columns {
		if columns[i].Kind == Skip {
			continue
		}
		var m moments
		c := &columns[i]
		c.Missing = false
		for _, r := range rows {
			if r < 0 || r >= t.Len() {
				return nil, &Error{File: t.file, Err: fmt.Errorf("there is no row %d: there are %d", r, t.Len())}
			}
			if v := t.values[i][r]; math.IsNaN(v) {
				c.Missing = true
			} else if c.Kind == Number {
				m.add(v)
			}
		}
		if c.Kind != Number {
			continue
		}
		if err := m.standardise(c); err != nil {
			return nil, &Error{t.file, 0, c.Name, err}
		}
	}
	return newEncoder(t.file, t.format, columns, target)
}

// Scan makes, in one pass over a file of any length, the encoder that Fit makes from all rows. It finds out what a column holds as Read does.
func Scan(r io.Reader, f Format, target string) (*Encoder, error) {
	name := fileName(r)
	columns, err := profiles(name, r, f)
	if err != nil {
		return nil, err
	}
	return newEncoder(name, f, columns, target)
}

// newEncoder divides the columns into inputs and the target.
func newEncoder(file string, f Format, columns []Column, target string) (*Encoder, error) {
	e := &Encoder{Format: f}
	e.Format.Kinds = map[string]Kind{}
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
		switch {
		case c.Name == target && c.Kind == Skip:
			return nil, &Error{file, 0, target, errors.New("it is to be learned, but no cell has a value, or Format.Kinds leaves it out")}
		case c.Kind == Skip:
			continue
		case c.Name == target:
			e.Target = &c
		default:
			e.Inputs = append(e.Inputs, c)
		}
		e.Format.Kinds[c.Name] = c.Kind
	}
	switch {
	case target != "" && e.Target == nil:
		return nil, &Error{File: file, Err: fmt.Errorf("there is no column %q to be learned: there are %s", target, quoted(names))}
	case len(e.Inputs) == 0:
		return nil, &Error{File: file, Err: errors.New("there is no column to learn from")}
	}
	return e, nil
}

// WithoutTarget is e for rows of which the target is not known, whose file need not have its column.
func (e *Encoder) WithoutTarget() *Encoder {
	c := &Encoder{Format: e.Format, Inputs: e.Inputs}
	c.Format.Kinds = map[string]Kind{}
	for name, k := range e.Format.Kinds {
		if e.Target == nil || name != e.Target.Name {
			c.Format.Kinds[name] = k
		}
	}
	return c
}

// Width is the length of x.
func (e *Encoder) Width() int {
	n := 0
	for i := range e.Inputs {
		n += e.Inputs[i].Width()
	}
	return n
}

// Specs are those of a sample: f32[Width], and i64[] or f32[1], or the zero Spec without a target.
func (e *Encoder) Specs() (x, y tensor.Spec) {
	x = tensor.SpecOf(tensor.F32, e.Width())
	switch {
	case e.Target == nil:
	case e.Target.Kind == Category:
		y = tensor.SpecOf(tensor.I64)
	default:
		y = tensor.SpecOf(tensor.F32, 1)
	}
	return x, y
}

// columns are the inputs and, last, the target.
func (e *Encoder) columns() []*Column {
	list := make([]*Column, 0, len(e.Inputs)+1)
	for i := range e.Inputs {
		list = append(list, &e.Inputs[i])
	}
	if e.Target != nil {
		list = append(list, e.Target)
	}
	return list
}

// Check refuses what cannot have come from Fit or Scan, since an encoder may come from a file. What uses one does so by itself.
func (e *Encoder) Check() error {
	if e == nil {
		return &Error{Err: errors.New("there is no encoder")}
	}
	seen := map[string]bool{}
	for _, c := range e.columns() {
		if err := c.check(); err != nil {
			return &Error{Err: err}
		}
		if seen[c.Name] {
			return &Error{Err: fmt.Errorf("the encoder has two columns %q", c.Name)}
		}
		seen[c.Name] = true
	}
	if len(e.Inputs) == 0 {
		return &Error{Err: errors.New("the encoder has no inputs")}
	}
	return nil
}

// encode writes a row, the values of columns(), into a sample. It says in which column a fault is.
func (e *Encoder) encode(row []float64, x, y tensor.Tensor) (column string, err error) {
	out := tensor.Data[float32](x)
	for i := range e.Inputs {
		c := &e.Inputs[i]
		n, v := c.Width(), row[i]
		clear(out[:n])
		switch {
		case c.Kind == Category:
			if v == v {
				out[int(v)] = 1
			}
		case v == v:
			if out[0], err = c.standardised(v); err != nil {
				return c.Name, err
			}
		case c.Missing:
			out[1] = 1
		}
		out = out[n:]
	}
	if e.Target == nil {
		return "", nil
	}
	v := row[len(e.Inputs)]
	switch {
	case v != v:
		return e.Target.Name, errNoTarget
	case e.Target.Kind == Category:
		y.SetInt(0, int64(v))
	default:
		s, err := e.Target.standardised(v)
		if err != nil {
			return e.Target.Name, err
		}
		y.Set(0, float64(s))
	}
	return "", nil
}

// standardised refuses what a float32 cannot hold.
func (c *Column) standardised(v float64) (float32, error) {
	s := float32((v - c.Mean) / c.Std)
	if math.IsInf(float64(s), 0) {
		return 0, fmt.Errorf("%v is too far from the training rows' mean %v to be standardised", v, c.Mean)
	}
	return s, nil
}
