package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/cortado-ml/cortado/data"
)

// classSet is samples of several classes, to train and to test on.
type classSet struct {
	train, test data.Dataset
	classes     []string
	files       fs.FS
	names       []string // in files, of the test's samples; nil where these are not files of their own
}

// check refuses what there is nothing to learn from.
func (s classSet) check(samples string) error {
	if len(s.classes) < 2 {
		return fmt.Errorf("there is nothing to tell apart: all %s are of the class %q", samples, s.classes)
	}
	return nil
}

// classFiles is samples in files, in one folder for each class.
type classFiles interface {
	data.Dataset
	Classes() []string
	Name(i int) string
}

// openFolders opens a folder for each class, below train and test if these are there. Else each tenth file is kept for the test.
func openFolders(files fs.FS, samples string, open func(fs.FS) (classFiles, error)) (s classSet, err error) {
	if _, err := fs.Stat(files, "train"); errors.Is(err, fs.ErrNotExist) {
		return splitFolders(files, samples, open)
	}
	sub := func(name string) (d classFiles, err error) {
		below, err := fs.Sub(files, name)
		if err == nil {
			d, err = open(below)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return d, nil
	}
	train, err := sub("train")
	if err != nil {
		return s, err
	}
	test, err := sub("test")
	if err != nil {
		return s, err
	}
	if !slices.Equal(train.Classes(), test.Classes()) { // labels are places in these lists
		return s, fmt.Errorf("train and test have different classes: %q and %q", train.Classes(), test.Classes())
	}
	s = classSet{train: train, test: test, classes: train.Classes(), files: files}
	for i := range test.Len() {
		s.names = append(s.names, "test/"+test.Name(i))
	}
	return s, nil
}

// splitFolders opens a folder for each class and keeps each tenth file for the test.
func splitFolders(files fs.FS, samples string, open func(fs.FS) (classFiles, error)) (s classSet, err error) {
	all, err := open(files)
	if err != nil {
		return s, err
	}
	s = classSet{classes: all.Classes(), files: files}
	var train, test []int
	for i := range all.Len() {
		if i%10 == 9 {
			test = append(test, i)
			s.names = append(s.names, all.Name(i))
		} else {
			train = append(train, i)
		}
	}
	if len(test) == 0 {
		return s, fmt.Errorf("%d %s are too few: want ten at least, to keep one for the test", all.Len(), samples)
	}
	if s.train, err = data.Subset(all, train); err != nil {
		return s, err
	}
	s.test, err = data.Subset(all, test)
	return s, err
}
