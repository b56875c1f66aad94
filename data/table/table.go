package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

// Table is the rows of a file in memory. A column takes eight bytes a row.
type Table struct {
	file    string
	format  Format
	columns []Column
	values  [][]float64 // by column: numbers, or numbers of classes; NaN is missing. nil for Skip
	lines   []int       // where each row begins
}

// Read takes a whole CSV file in. A column is a Number if all cells with a value are, a Category if none is, and is left out if no cell has a
// value; where some cells are numbers and others are not, Format.Kinds must decide. Errors are an *Error, with the file's name if r is a file.
func Read(r io.Reader, f Format) (*Table, error) {
	if r == nil {
		return nil, &Error{Err: errors.New("there is nothing to read")}
	}
	whole, err := io.ReadAll(r)
	if err != nil {
		return nil, &Error{File: fileName(r), Err: err}
	}
	name := fileName(r)
	columns, err := profiles(name, bytes.NewReader(whole), f)
	if err != nil {
		return nil, err
	}
	in, err := newReader(name, bytes.NewReader(whole), f)
	if err != nil {
		return nil, err
	}
	t := &Table{file: name, format: f, columns: columns, values: make([][]float64, len(columns))}
	codes := make([]map[string]float64, len(columns))
	for i := range columns {
		codes[i] = columns[i].codes()
	}
	for {
		row, err := in.next()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		t.lines = append(t.lines, in.line)
		for i := range columns {
			if columns[i].Kind == Skip {
				continue
			}
			v, err := columns[i].value(row[i], codes[i], f)
			if err != nil {
				return nil, in.fail(in.line, columns[i].Name, err)
			}
			t.values[i] = append(t.values[i], v)
		}
	}
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.lines) }

// Columns are all columns of the file, with the statistics of all its rows.
func (t *Table) Columns() []Column { return append([]Column(nil), t.columns...) }

// Labels are the classes of the rows in a Category, numbered as its Classes are: what data.SplitClasses wants. A row without one is an error.
func (t *Table) Labels(column string) ([]int, error) {
	i, err := t.find(column)
	if err != nil {
		return nil, err
	}
	if t.columns[i].Kind != Category {
		return nil, &Error{t.file, 0, column, fmt.Errorf("it has no classes: its kind is %q", t.columns[i].Kind)}
	}
	labels := make([]int, t.Len())
	for row, v := range t.values[i] {
		if math.IsNaN(v) {
			return nil, t.fail(row, column, errNoTarget)
		}
		labels[row] = int(v)
	}
	return labels, nil
}

// find is a column's number.
func (t *Table) find(name string) (int, error) {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		if c.Name == name {
			return i, nil
		}
		names[i] = c.Name
	}
	return 0, &Error{File: t.file, Err: fmt.Errorf("there is no column %q: there are %s", name, quoted(names))}
}

// fail is an error of a cell, by row.
func (t *Table) fail(row int, column string, err error) error {
	return &Error{t.file, t.lines[row], column, err}
}

var errNoTarget = errors.New("the row has no value to be learned, or a class that the training rows lack")

// codes is the number of each class.
func (c *Column) codes() map[string]float64 {
	m := make(map[string]float64, len(c.Classes))
	for i, name := range c.Classes {
		m[name] = float64(i)
	}
	return m
}

// value is a cell's number, or that of its class. A class that is not known is missing, and so is a cell without a value: NaN.
func (c *Column) value(cell string, codes map[string]float64, f Format) (float64, error) {
	if f.missing(cell) {
		return math.NaN(), nil
	}
	if c.Kind == Number {
		return parse(cell)
	}
	if code, known := codes[cell]; known {
		return code, nil
	}
	return math.NaN(), nil
}
