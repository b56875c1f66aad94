package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/data/table"
	"github.com/cortado-ml/cortado/tensor"
)

// csvPrefix is what -data begins with for a table.
const csvPrefix = "csv:"

// testShare is the part of a table's rows that are kept for the test. Which ones does not depend on -seed: runs can be compared.
const testShare, testSeed = 0.2, 1

// fewClasses is how many different whole numbers a column to be learned may have, at most, for each to be a class.
const fewClasses = 20

// tableSet is the rows of a table to train and to test on.
type tableSet struct {
	encoder     *table.Encoder
	train, test data.Dataset
	usual       int // the class that most of the training rows have
}

// openTableFile reads a CSV file, and decides what is to be learned: the column called target, or the last. Its values are classes if they are text, or a
// few whole numbers written as such; else numbers, as are 1.0 and 2.0.
func openTableFile(path, target string, skip []string) (s tableSet, err error) {
	format := table.Format{Kinds: map[string]table.Kind{}}
	for _, name := range skip {
		format.Kinds[name] = table.Skip
	}
	t, err := readTable(path, format)
	if err != nil {
		return s, err
	}
	columns := t.Columns()
	if target == "" {
		target = columns[len(columns)-1].Name
	}
	i := slices.IndexFunc(columns, func(c table.Column) bool { return c.Name == target })
	if i >= 0 && columns[i].Kind == table.Number {
		format.Kinds[target] = table.Category
		if asClasses, err := readTable(path, format); err == nil { // else it has too many different values
			classes := asClasses.Columns()[i].Classes
			if len(classes) == 1 || fewWhole(classes) {
				t = asClasses
			}
		}
	}
	return splitTable(t, target)
}

func readTable(path string, f table.Format) (*table.Table, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer file.Close()
	t, err := table.Read(file, f)
	var e *table.Error
	if errors.As(err, &e) && e.Column != "" {
		err = fmt.Errorf("%w (here -skip leaves columns out)", err)
	}
	return t, err
}

// fewWhole reports whether all are whole numbers, written as such, and not many.
func fewWhole(classes []string) bool {
	for _, c := range classes {
		if n, err := strconv.Atoi(c); err != nil || strconv.Itoa(n) != c {
			return false
		}
	}
	return len(classes) <= fewClasses
}

// splitTable keeps rows for the test, of each class its share, and fits the encoder to the others.
func splitTable(t *table.Table, target string) (s tableSet, err error) {
	if t.Len() < 10 {
		return s, fmt.Errorf("%d rows are too few: want ten at least, to keep some for the test", t.Len())
	}
	whole, err := t.Fit(target, nil)
	if err != nil {
		return s, err
	}
	labels := make([]int, t.Len())
	if whole.Target.Kind == table.Category {
		if len(whole.Target.Classes) == 1 {
			return s, fmt.Errorf("there is nothing to learn: the column %q is %s in all rows", target, whole.Target.Classes[0])
		}
		if labels, err = t.Labels(target); err != nil {
			return s, err
		}
	}
	train, test, err := data.SplitClasses(labels, testShare, testSeed)
	if err != nil {
		return s, err
	}
	if len(test) == 0 {
		return s, fmt.Errorf("no class of the column %q has two rows, one to train on and one to test", target)
	}
	count := map[int]int{}
	for _, row := range train {
		count[labels[row]]++
		if count[labels[row]] > count[s.usual] {
			s.usual = labels[row]
		}
	}
	if s.encoder, err = t.Fit(target, train); err != nil {
		return s, err
	}
	all, err := t.Data(s.encoder)
	if err != nil {
		return s, err
	}
	if err := readable(all); err != nil {
		return s, err
	}
	if s.train, err = data.Subset(all, train); err != nil {
		return s, err
	}
	s.test, err = data.Subset(all, test)
	return s, err
}

// readable reads each row once, so that one that cannot be learned from, as it lacks what is to be learned, is told before training.
func readable(all data.Dataset) error {
	xs, ys := all.Specs()
	x, y := tensor.New(xs), tensor.New(ys)
	for i := range all.Len() {
		if err := all.Sample(i, x, y); err != nil {
			return err
		}
	}
	return nil
}
