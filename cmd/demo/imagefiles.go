package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/data/fashion"
	"github.com/cortado-ml/cortado/tensor"
)

// openImageFiles opens "fashion", the sample that the program brings along; a folder with the four IDX files of MNIST and its like; or a folder of
// pictures, one folder for each class, perhaps below "train" and "test".
func openImageFiles(name string) (s classSet, err error) {
	if name == "fashion" {
		return openIDX(fashion.Files(), fashion.Classes())
	}
	files, err := openFolder(name, "want a folder with IDX files, or with one folder of pictures for each class")
	if err != nil {
		return s, err
	}
	if list, _ := fs.Glob(files, "*-ubyte*"); len(list) > 0 {
		s, err = openIDX(files, nil)
	} else {
		s, err = openFolders(files, "pictures", func(files fs.FS) (classFiles, error) { return data.OpenFolder(files, pictures) })
	}
	if err != nil {
		return s, err
	}
	return s, s.check("images")
}

// openFolder is the files of a folder.
func openFolder(name, want string) (fs.FS, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if !info.IsDir() {
		return nil, errors.New("it is a file: " + want)
	}
	return os.DirFS(name), nil
}

func openIDX(files fs.FS, classes []string) (s classSet, err error) {
	train, test, err := data.OpenIDX(files)
	if err != nil {
		return s, err
	}
	if classes == nil {
		classes = train.Classes()
	}
	return classSet{train: train, test: test, classes: classes}, nil
}

// pictures are decoded as gray images of this size, as the models are made for.
var pictures = tensor.SpecOf(tensor.F32, 1, 28, 28)
