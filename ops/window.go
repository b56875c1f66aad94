package ops

import (
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
)

// What convolution and pooling share: a window that slides over the padded plane of an image [n, channels, height, width].

// window is its geometry, along height and width.
type window struct {
	size, stride [2]int
	pad          [4]int // top, bottom, left, right
}

// steps is the number of positions over a plane of h by w, or why there are none. in are the operands, for the error.
func (o window) steps(h, w int, in []tensor.Spec) (oh, ow int, err error) {
	refuse := func(format string, a ...any) (int, int, error) {
		return 0, 0, &tensor.ShapeError{Msg: fmt.Sprintf(format, a...), In: in}
	}
	n, plane := [2]int{}, [2]int{h, w}
	for i := range n {
		lo, hi := o.pad[2*i], o.pad[2*i+1]
		switch {
		case o.size[i] < 1 || o.stride[i] < 1:
			return refuse("window %v with stride %v: both are at least 1", o.size, o.stride)
		case lo < 0 || hi < 0 || lo > maxPad || hi > maxPad:
			return refuse("padding %v (top, bottom, left, right): wants 0 to 2^30", o.pad)
		case o.size[i] > lo+plane[i]+hi:
			return refuse("window %v is larger than the padded plane [%d %d]", o.size, o.pad[0]+h+o.pad[1], o.pad[2]+w+o.pad[3])
		}
		n[i] = (lo+plane[i]+hi-o.size[i])/o.stride[i] + 1
	}
	return n[0], n[1], nil
}

// clip is the part of the window at position (i, j) that lies in the plane of h by w: rows y0 to y1, columns x0 to x1, exclusive.
func (o window) clip(i, j, h, w int) (y0, y1, x0, x1 int) {
	y0, x0 = i*o.stride[0]-o.pad[0], j*o.stride[1]-o.pad[2]
	return max(y0, 0), min(y0+o.size[0], h), max(x0, 0), min(x0+o.size[1], w)
}

// image is an [n, channels, height, width] shape.
func image(n, c, h, w int) tensor.Shape { return tensor.Of(n, c, h, w) }

// checkImages wants n values, all of one float type and four axes.
func checkImages(n int, in []tensor.Spec) error {
	if err := checkCount(n, in); err != nil {
		return err
	}
	for _, s := range in {
		if !s.DType.Float() || s.DType != in[0].DType || s.Shape.Rank() != 4 {
			return &tensor.ShapeError{Msg: "wants floats of one type with four axes: images are [n, channels, height, width], weights [out, in, height, width]", In: in}
		}
	}
	return nil
}
