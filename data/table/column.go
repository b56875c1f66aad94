package table

import (
	"errors"
	"fmt"
	"math"
)

// Column is one column of a table, and how an Encoder sees it.
type Column struct {
	Name    string   `json:"name"`
	Kind    Kind     `json:"kind"`
	Classes []string `json:"classes,omitempty"` // of a Category, in the order of their numbers: numbers by value, other texts by their bytes
	Mean    float64  `json:"mean,omitempty"`    // of a Number, over the training rows
	Std     float64  `json:"std,omitempty"`     // the standard deviation, over all n and not n-1 rows; 1 for a constant. Never 0 in an Encoder
	Missing bool     `json:"missing,omitempty"` // some training row has no value: then a Number has a second input, 1 where there is none
}

// Value is the number that a standardised one stands for, in the column's own unit.
func (c *Column) Value(standardised float64) float64 { return standardised*c.Std + c.Mean }

// Width is how many inputs the column makes: one for each class of a Category; one for a Number, or two.
func (c *Column) Width() int {
	switch {
	case c.Kind == Category:
		return len(c.Classes)
	case c.Missing:
		return 2
	}
	return 1
}

// check refuses what no column of an Encoder can be.
func (c *Column) check() error {
	switch {
	case c.Kind != Number && c.Kind != Category:
		return fmt.Errorf("column %q of the encoder has the kind %q", c.Name, c.Kind)
	case c.Kind == Number && !(c.Std > 0 && c.Std <= math.MaxFloat64 && math.Abs(c.Mean) <= math.MaxFloat64):
		return fmt.Errorf("column %q of the encoder has the mean %v and the deviation %v", c.Name, c.Mean, c.Std)
	case c.Kind == Category && (len(c.Classes) == 0 || len(c.Classes) > MaxClasses):
		return fmt.Errorf("column %q of the encoder has %d classes", c.Name, len(c.Classes))
	}
	return nil
}

// moments is a running mean and sum of squared deviations from it (B. P. Welford, "Note on a method for calculating corrected sums of squares and
// products", Technometrics 4, 1962).
type moments struct {
	n        int
	mean, m2 float64
}

func (m *moments) add(v float64) {
	m.n++
	d := v - m.mean
	m.mean += d / float64(m.n)
	m.m2 += d * (v - m.mean)
}

// standardise sets the column's statistics.
func (m *moments) standardise(c *Column) error {
	c.Mean, c.Std = 0, 1
	if m.n == 0 {
		return nil
	}
	std := math.Sqrt(m.m2 / float64(m.n))
	if math.IsNaN(std) || math.IsInf(std, 0) || math.IsInf(m.mean, 0) {
		return errors.New("its numbers are too far apart to be standardised")
	}
	c.Mean = m.mean
	if std > 0 {
		c.Std = std
	}
	return nil
}
