package table

import (
	"fmt"
	"math"
	"strings"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/tensor"
)

// rows is a Table as an Encoder sees it.
type rows struct {
	*Encoder
	table  *Table
	values [][]float64 // of the encoder's columns
	x, y   tensor.Spec
}

// Data is the table's rows, in order, as e sees them; data.Subset picks some. The encoder may come from another table: columns are found by
// name, classes by text. All columns that are missing or of another kind are told at once; a second file is read with the encoder's Format.
func (t *Table) Data(e *Encoder) (data.Dataset, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	d := &rows{Encoder: e, table: t}
	d.x, d.y = e.Specs()
	var faults []string
	for _, c := range e.columns() {
		i, err := t.find(c.Name)
		switch {
		case err != nil:
			faults = append(faults, fmt.Sprintf("%q is not there", c.Name))
		case t.columns[i].Kind != c.Kind:
			faults = append(faults, fmt.Sprintf("%q is a %s, not a %s", c.Name, t.columns[i].Kind, c.Kind))
		default:
			d.values = append(d.values, translated(t.values[i], &t.columns[i], c))
		}
	}
	if faults != nil {
		return nil, &Error{File: t.file, Err: fmt.Errorf("not the columns of the encoder: %s; read the file with its Format", strings.Join(faults, ", "))}
	}
	return d, nil
}

// translated is a column with the classes of another.
func translated(values []float64, from, to *Column) []float64 {
	if from.Kind != Category {
		return values
	}
	codes := to.codes()
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.NaN()
		if v == v {
			if code, known := codes[from.Classes[int(v)]]; known {
				out[i] = code
			}
		}
	}
	return out
}

func (d *rows) Len() int { return d.table.Len() }

func (d *rows) Specs() (x, y tensor.Spec) { return d.x, d.y }

func (d *rows) Sample(i int, x, y tensor.Tensor) error {
	if i < 0 || i >= d.Len() {
		return &Error{File: d.table.file, Err: fmt.Errorf("there is no row %d: there are %d", i, d.Len())}
	}
	if err := checkSpecs(d.x, d.y, x, y); err != nil {
		return err
	}
	row := make([]float64, len(d.values))
	for c := range row {
		row[c] = d.values[c][i]
	}
	if column, err := d.encode(row, x, y); err != nil {
		return d.table.fail(i, column, err)
	}
	return nil
}

// checkSpecs refuses places that a sample does not fit.
func checkSpecs(wantX, wantY tensor.Spec, x, y tensor.Tensor) error {
	if x.Spec() != wantX || y.Spec() != wantY {
		return &Error{Err: fmt.Errorf("a sample is %v and %v, not %v and %v", wantX, wantY, x.Spec(), y.Spec())}
	}
	return nil
}
