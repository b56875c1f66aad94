package table

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// profile is what a pass over a file learns about one column. It needs no more memory for a longer file.
type profile struct {
	moments                 // of the numbers
	missing  int            // cells without a value
	text     *found         // the first cell that is no number
	infinite *found         // the first number that is not finite
	classes  map[string]int // the line of each different cell, up to MaxClasses of them
	many     *found         // the first cell beyond these
}

// found is a cell that may turn out to be a fault.
type found struct {
	cell string
	line int
	err  error
}

// add takes note of one cell.
func (p *profile) add(cell string, line int, f Format) {
	if f.missing(cell) {
		p.missing++
		return
	}
	v, err := parse(cell)
	switch {
	case v != v:
		p.missing++
		return
	case err == nil:
		p.moments.add(v)
	case errors.Is(err, errRange) && p.infinite == nil:
		p.infinite = &found{shown(cell), line, err}
	case errors.Is(err, errText) && p.text == nil:
		p.text = &found{shown(cell), line, err}
	}
	if p.many != nil {
		return
	}
	if p.classes == nil {
		p.classes = map[string]int{}
	}
	if _, there := p.classes[cell]; there {
		return
	}
	if len(p.classes) == MaxClasses {
		p.many = &found{shown(cell), line, fmt.Errorf("more than %d different texts, of which this is one: %q", MaxClasses, shown(cell))}
		return
	}
	p.classes[string(append([]byte(nil), cell...))] = line // the reader's row is one string, which must not be kept for a cell
}

// decide is the column's kind and classes. The fault it returns has a line.
func (p *profile) decide(name string, f Format) (Column, *found) {
	c := Column{Name: name, Kind: f.Kinds[name]}
	values := p.n + len(p.classes)
	switch {
	case c.Kind != "":
	case values == 0:
		c.Kind = Skip
	case p.text == nil:
		c.Kind = Number
	case p.n > 0:
		p.text.err = fmt.Errorf("%w, but %d other cells are: set Format.Kinds[%q] to %q or %q, or add the text to Format.Missing", p.text.err, p.n, name, Category, Skip)
		return c, p.text
	default:
		c.Kind = Category
	}
	switch {
	case c.Kind == Number && p.text != nil:
		return c, p.text
	case c.Kind == Number && p.infinite != nil:
		return c, p.infinite
	case c.Kind == Category && p.many != nil:
		p.many.err = fmt.Errorf("%w; set Format.Kinds[%q] to %q", p.many.err, name, Skip)
		return c, p.many
	case c.Kind == Category && values == 0:
		return c, &found{err: errors.New("no class, since no cell has a value")}
	case c.Kind == Category:
		c.Classes = inOrder(p.classes)
	}
	return c, nil
}

// inOrder sorts classes: by value if all are numbers, else by their bytes.
func inOrder(classes map[string]int) []string {
	names := make([]string, 0, len(classes))
	values := make(map[string]float64, len(classes))
	for name := range classes {
		names = append(names, name)
		if v, err := strconv.ParseFloat(name, 64); err == nil {
			values[name] = v
		}
	}
	slices.Sort(names)
	if len(values) == len(names) {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(values[a], values[b]) })
	}
	return names
}

// profiles passes over a whole file and gives its columns, with statistics of all rows.
func profiles(file string, r io.Reader, f Format) ([]Column, error) {
	t, err := newReader(file, r, f)
	if err != nil {
		return nil, err
	}
	seen := make([]profile, len(t.columns))
	rows := 0
	for ; ; rows++ {
		row, err := t.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, cell := range row {
			if f.Kinds[t.columns[i]] != Skip {
				seen[i].add(cell, t.line, f)
			}
		}
	}
	if rows == 0 {
		if strings.Contains(strings.Join(t.columns, ""), "\r") {
			return nil, t.fail(0, "", errors.New("its lines end with a carriage return alone: save it with \\n or \\r\\n"))
		}
		return nil, t.fail(0, "", errors.New("there is no row beside the header"))
	}
	columns := make([]Column, len(seen))
	for i := range seen {
		var fault *found
		columns[i], fault = seen[i].decide(t.columns[i], f)
		if fault != nil {
			return nil, t.fail(fault.line, t.columns[i], fault.err)
		}
		if columns[i].Kind != Number {
			columns[i].Missing = columns[i].Kind == Category && seen[i].missing > 0
			continue
		}
		columns[i].Missing = seen[i].missing > 0
		if err := seen[i].standardise(&columns[i]); err != nil {
			return nil, t.fail(0, t.columns[i], err)
		}
	}
	return columns, nil
}
