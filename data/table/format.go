package table

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is what a column holds.
type Kind string

// The kinds of columns.
const (
	Number   Kind = "number"   // finite decimal numbers: 3, -0.5, 1e-3
	Category Kind = "category" // text, each different one a class
	Skip     Kind = "skip"     // nothing that is used
)

// MaxClasses is how many different texts a Category may have. A column with more is a name, a number or free text, which one input per
// text would not help to learn from.
const MaxClasses = 1000

// Format says how a file is written. The zero Format is for a file with a header and commas.
//
// Blanks around a cell do not count, empty lines are passed over, and a mark of the UTF-8 encoding at the start is too.
type Format struct {
	Comma    rune            `json:"comma,omitempty"`    // between the cells; 0 is a comma
	Comment  rune            `json:"comment,omitempty"`  // what begins a line that is passed over; 0 is nothing
	NoHeader bool            `json:"noheader,omitempty"` // the first line is data; the columns are called "1", "2" and so on
	Missing  []string        `json:"missing,omitempty"`  // the texts that stand for no value, beside the empty one; nil is DefaultMissing
	Kinds    map[string]Kind `json:"kinds,omitempty"`    // of columns by name, where the cells shall not decide
}

// DefaultMissing are the texts that stand for no value in most files.
func DefaultMissing() []string {
	return []string{"NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?"}
}

// check refuses kinds that there are not. Package csv checks the runes.
func (f Format) check() error {
	for name, k := range f.Kinds {
		if k != Number && k != Category && k != Skip {
			return fmt.Errorf("column %q: there is no kind %q: there are %q, %q and %q", name, k, Number, Category, Skip)
		}
	}
	return nil
}

// missing reports whether a cell stands for no value.
func (f Format) missing(cell string) bool {
	if f.Missing == nil {
		switch cell {
		case "", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?":
			return true
		}
		return false
	}
	return cell == "" || slices.Contains(f.Missing, cell)
}

var (
	errText  = errors.New("is not a number")
	errRange = errors.New("is not a finite number")
)

// parse reads a number. NaN, in whatever spelling, is a missing value and comes without an error.
func parse(cell string) (float64, error) {
	v, err := strconv.ParseFloat(cell, 64)
	switch {
	case strings.ContainsAny(cell, "_xX"): // Go's own ways to write numbers: in a file 1_2 is a name
		return 0, fmt.Errorf("%q %w", shown(cell), errText)
	case errors.Is(err, strconv.ErrRange) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%q %w", shown(cell), errRange)
	case err != nil:
		return 0, fmt.Errorf("%q %w", shown(cell), errText)
	}
	return v, nil
}

// shown is enough of a cell for an error.
func shown(cell string) string {
	const most = 40
	if len(cell) > most {
		return strings.ToValidUTF8(cell[:most], "") + "…"
	}
	return cell
}
