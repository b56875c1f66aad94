package data

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/cortado-ml/cortado/tensor"
)

// Folder is images in files, one folder for each class. It is a Dataset: x is the f32[channels, height, width] that it was opened with, prepared
// as DecodeImage does, each time that it is asked for; y is i64[], the number of the class.
type Folder struct {
	files   fs.FS
	names   []string // of the files
	labels  []int
	classes []string
	x       tensor.Spec
}

// OpenFolder lists the images: each folder in files is a class, in the order of their names, and each file in it, however deep, that ends in
// .png, .jpg or .jpeg is an image. Names that start with a point are passed over. The images are read later, one by one.
func OpenFolder(files fs.FS, x tensor.Spec) (*Folder, error) {
	if err := checkImageSpec(x); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	d := &Folder{files: files, x: x}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := fs.Stat(files, e.Name()) // e itself may be a link
		if err != nil {
			return nil, fmt.Errorf("data: %w", err)
		}
		if info.IsDir() {
			if err := d.addClass(e.Name()); err != nil {
				return nil, err
			}
		}
	}
	if len(d.classes) == 0 {
		return nil, fmt.Errorf("data: no folders, of which each would be a class of images")
	}
	return d, nil
}

// addClass lists the images of one class.
func (d *Folder) addClass(class string) error {
	before := len(d.names)
	err := fs.WalkDir(d.files, class, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(e.Name(), ".") && e.IsDir():
			return fs.SkipDir
		case !strings.HasPrefix(e.Name(), ".") && !e.IsDir() && isImage(name):
			d.names = append(d.names, name)
			d.labels = append(d.labels, len(d.classes))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	if len(d.names) == before {
		return fmt.Errorf("data: the folder %s holds no PNG or JPEG image", class)
	}
	d.classes = append(d.classes, class)
	return nil
}

// isImage goes by the name alone.
func isImage(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg":
		return true
	}
	return false
}

// Len is the number of images.
func (d *Folder) Len() int { return len(d.names) }

// Specs are the Spec that the folder was opened with, and i64[].
func (d *Folder) Specs() (x, y tensor.Spec) { return d.x, tensor.SpecOf(tensor.I64) }

// Sample reads image i. An error names its file.
func (d *Folder) Sample(i int, x, y tensor.Tensor) error {
	if err := checkSample(d, i, x, y); err != nil {
		return err
	}
	if err := d.read(d.names[i], x); err != nil {
		return fmt.Errorf("data: %s: %w", d.names[i], err)
	}
	y.SetInt(0, int64(d.labels[i]))
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
func (d *Folder) Classes() []string { return append([]string(nil), d.classes...) }

// Name is the file of image i.
func (d *Folder) Name(i int) string { return d.names[i] }
