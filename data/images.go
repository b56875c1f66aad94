package data

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/cortado-ml/cortado/tensor"
)

// Images is images of bytes in memory, with a label each. It is a Dataset: x is f32[channels, height, width] from 0 to 1, y is i64[].
type Images struct {
	pixels []uint8
	labels []uint8
	x      tensor.Spec
	most   int // the largest label
}

// NewImages makes a data set of pixels, u8[n, height, width] or u8[n, channels, height, width], and labels, u8[n]. It shares their memory.
func NewImages(pixels, labels tensor.Tensor) (*Images, error) {
	shape := pixels.Shape().Dims()
	if pixels.DType() != tensor.U8 || len(shape) < 3 || len(shape) > 4 {
		return nil, fmt.Errorf("data: images are u8[n height width] or u8[n channels height width], not %v", pixels.Spec())
	}
	if labels.DType() != tensor.U8 || labels.Shape().Rank() != 1 {
		return nil, fmt.Errorf("data: labels are u8[n], not %v", labels.Spec())
	}
	if pixels.Len() == 0 {
		return nil, fmt.Errorf("data: there are no pixels in %v", pixels.Spec())
	}
	if shape[0] != labels.Len() {
		return nil, fmt.Errorf("data: %d images but %d labels", shape[0], labels.Len())
	}
	if len(shape) == 3 {
		shape = []int{shape[0], 1, shape[1], shape[2]}
	}
	d := &Images{pixels: tensor.Data[uint8](pixels), labels: tensor.Data[uint8](labels), x: tensor.SpecOf(tensor.F32, shape[1:]...)}
	for _, label := range d.labels {
		d.most = max(d.most, int(label))
	}
	return d, nil
}

// OpenIDX reads the four files of MNIST, Fashion-MNIST and their like: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte
// and t10k-labels-idx1-ubyte. Each may be gzipped or not, with or without ".gz" in its name, and written with a point, as in
// train-images.idx3-ubyte.
func OpenIDX(files fs.FS) (train, test *Images, err error) {
	train, trainLabels, err := openSplit(files, "train")
	if err != nil {
		return nil, nil, err
	}
	test, testLabels, err := openSplit(files, "t10k")
	if err != nil {
		return nil, nil, err
	}
	if test.x != train.x {
		return nil, nil, fmt.Errorf("data: the training images are %v, but the test images %v", train.x, test.x)
	}
	if test.most > train.most {
		return nil, nil, fmt.Errorf("data: %s has a label %d, but the labels of %s end at %d", testLabels, test.most, trainLabels, train.most)
	}
	return train, test, nil
}

// openSplit reads images and labels, and also gives the name of the labels' file.
func openSplit(files fs.FS, split string) (*Images, string, error) {
	images, err := findIDX(files, split+"-images", "idx3-ubyte")
	if err != nil {
		return nil, "", err
	}
	labels, err := findIDX(files, split+"-labels", "idx1-ubyte")
	if err != nil {
		return nil, "", err
	}
	x, err := ReadIDX(files, images)
	if err != nil {
		return nil, "", err
	}
	y, err := ReadIDX(files, labels)
	if err != nil {
		return nil, "", err
	}
	d, err := NewImages(x, y)
	if err != nil {
		return nil, "", fmt.Errorf("data: %s and %s: %s", images, labels, strings.TrimPrefix(err.Error(), "data: "))
	}
	return d, labels, nil
}

// findIDX is the first of the usual names that is there.
func findIDX(files fs.FS, name, kind string) (string, error) {
	if files == nil {
		return "", errors.New("data: there are no files")
	}
	names := []string{name + "-" + kind + ".gz", name + "-" + kind, name + "." + kind + ".gz", name + "." + kind}
	for _, n := range names {
		info, err := fs.Stat(files, n)
		if err == nil && !info.IsDir() {
			return n, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("data: %w", err)
		}
	}
	return "", fmt.Errorf("data: none of the files %s: %w", strings.Join(names, ", "), fs.ErrNotExist)
}

// Len is the number of images.
func (d *Images) Len() int { return len(d.labels) }

// Specs are f32[channels, height, width] and i64[].
func (d *Images) Specs() (x, y tensor.Spec) { return d.x, tensor.SpecOf(tensor.I64) }

// Sample writes image i and its label.
func (d *Images) Sample(i int, x, y tensor.Tensor) error {
	if err := checkSample(d, i, x, y); err != nil {
		return err
	}
	n := d.x.Shape.Size()
	values := tensor.Data[float32](x)
	for j, b := range d.pixels[i*n : (i+1)*n] {
		values[j] = float32(b) / 255
	}
	y.SetInt(0, int64(d.labels[i]))
	return nil
}

// Classes are the labels, from 0 to the largest, as text.
func (d *Images) Classes() []string {
	names := make([]string, d.most+1)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}
