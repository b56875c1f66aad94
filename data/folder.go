package data

import (
	"fmt"
	"io/fs"

	"github.com/cortado-ml/cortado/tensor"
)

// Folder is images in files, one folder for each class. It is a Dataset: x is the f32[channels, height, width] that it was opened with, prepared
// as DecodeImage does, each time that it is asked for; y is i64[], the number of the class.
type Folder struct {
	files fs.FS
	list  Classes
	x     tensor.Spec
}

// OpenFolder lists the images: the files that end in .png, .jpg or .jpeg, as FindClasses does. They are read later, one by one.
func OpenFolder(files fs.FS, x tensor.Spec) (*Folder, error) {
	if err := checkImageSpec(x); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	list, err := FindClasses(files, "PNG or JPEG image", ".png", ".jpg", ".jpeg")
	if err != nil {
		return nil, err
	}
	return &Folder{files, list, x}, nil
}

// Len is the number of images.
func (d *Folder) Len() int { return len(d.list.Files) }

// Specs are the Spec that the folder was opened with, and i64[].
func (d *Folder) Specs() (x, y tensor.Spec) { return d.x, tensor.SpecOf(tensor.I64) }

// Sample reads image i. An error names its file.
func (d *Folder) Sample(i int, x, y tensor.Tensor) error {
	if err := checkSample(d, i, x, y); err != nil {
		return err
	}
	if err := d.read(d.list.Files[i], x); err != nil {
		return fmt.Errorf("data: %s: %w", d.list.Files[i], err)
	}
	y.SetInt(0, int64(d.list.Labels[i]))
	return nil
}

func (d *Folder) read(name string, x tensor.Tensor) error {
	file, err := d.files.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return decode(file, x)
}

// Classes are the names of the classes, in the order of the labels.
func (d *Folder) Classes() []string { return append([]string(nil), d.list.Names...) }

// Name is the file of image i.
func (d *Folder) Name(i int) string { return d.list.Files[i] }
