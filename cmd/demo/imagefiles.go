package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/data/fashion"
	"github.com/cortado-ml/cortado/tensor"
)

// imageSet is images to train and to test on.
type imageSet struct {
	train, test data.Dataset
	classes     []string
}

// openImageFiles opens "fashion", the sample that the program brings along; a folder with the four IDX files of MNIST and its like; or a folder of
// pictures, one folder for each class, perhaps below "train" and "test".
func openImageFiles(name string) (s imageSet, err error) {
	if name == "fashion" {
		return openIDX(fashion.Files(), fashion.Classes())
	}
	info, err := os.Stat(name)
	if err != nil {
		return s, errors.Unwrap(err)
	}
	if !info.IsDir() {
		return s, errors.New("it is a file: want a folder with IDX files, or with one folder of pictures for each class")
	}
	files := os.DirFS(name)
	if list, _ := fs.Glob(files, "*-ubyte*"); len(list) > 0 {
		s, err = openIDX(files, nil)
	} else {
		s, err = openFolders(name)
	}
	if err == nil && len(s.classes) < 2 {
		err = fmt.Errorf("there is nothing to tell apart: all images are of the class %q", s.classes)
	}
	return s, err
}

func openIDX(files fs.FS, classes []string) (s imageSet, err error) {
	train, test, err := data.OpenIDX(files)
	if err != nil {
		return s, err
	}
	if classes == nil {
		classes = train.Classes()
	}
	return imageSet{train, test, classes}, nil
}

// pictures are decoded as gray images of this size, as the models are made for.
var pictures = tensor.SpecOf(tensor.F32, 1, 28, 28)

// openFolders opens a folder for each class, below train and test if these are there.
func openFolders(name string) (s imageSet, err error) {
	if _, err := os.Stat(filepath.Join(name, "train")); err != nil {
		return splitFolders(name)
	}
	train, err := data.OpenFolder(os.DirFS(filepath.Join(name, "train")), pictures)
	if err != nil {
		return s, fmt.Errorf("train: %w", err)
	}
	test, err := data.OpenFolder(os.DirFS(filepath.Join(name, "test")), pictures)
	if err != nil {
		return s, fmt.Errorf("test: %w", err)
	}
	if !slices.Equal(train.Classes(), test.Classes()) { // labels are places in these lists
		return s, fmt.Errorf("train and test have different classes: %q and %q", train.Classes(), test.Classes())
	}
	return imageSet{train, test, train.Classes()}, nil
}

// splitFolders opens a folder for each class and keeps each tenth picture for the test.
func splitFolders(name string) (s imageSet, err error) {
	all, err := data.OpenFolder(os.DirFS(name), pictures)
	if err != nil {
		return s, err
	}
	var train, test []int
	for i := range all.Len() {
		if i%10 == 9 {
			test = append(test, i)
		} else {
			train = append(train, i)
		}
	}
	if len(test) == 0 {
		return s, fmt.Errorf("%d pictures are too few: want ten at least, to keep one for the test", all.Len())
	}
	s.classes = all.Classes()
	if s.train, err = data.Subset(all, train); err != nil {
		return s, err
	}
	s.test, err = data.Subset(all, test)
	return s, err
}
