package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// Operations that reduce the windows of images: this file and avgpool.go.

var _ = register(MaxPool2DOp{}, MaxPool2DGradOp{}, MaxPool2DGatherOp{})

// MaxPool2DOp is the maximum of each window of x [n, c, h, w], and, hidden, where in its h*w plane it stands, as i32. The padding is no
// candidate. A NaN wins; of equal maxima the first in row-major order of the window wins.
type MaxPool2DOp struct {
	total
	strict
	Size, Stride [2]int // along height and width
	Pad          [4]int // top, bottom, left, right; less than Size
}

// Name is "max-pool2d".
func (MaxPool2DOp) Name() string { return "max-pool2d" }

func (o MaxPool2DOp) window() window { return window{o.Size, o.Stride, o.Pad} }

// Infer wants windows that all contain an element.
func (o MaxPool2DOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkImages(1, in); err != nil {
		return nil, err
	}
	s, err := o.window().pooled(in[0].Shape, in)
	if err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: s}, {DType: tensor.I32, Shape: s}}, nil
}

// pooled is the shape of a pool over x. A window of padding alone would have no value, so it is refused.
func (o window) pooled(x tensor.Shape, in []tensor.Spec) (tensor.Shape, error) {
	h, w := x.Dim(2), x.Dim(3)
	oh, ow, err := o.steps(h, w, in)
	switch {
	case err != nil:
		return tensor.Shape{}, err
	case h == 0 || w == 0 || h*w > math.MaxInt32:
		return tensor.Shape{}, &tensor.ShapeError{Msg: fmt.Sprintf("a plane of [%d %d] has no pool: it is empty, or has more than 2^31 elements", h, w), In: in}
	case max(o.pad[0], o.pad[1]) >= o.size[0] || max(o.pad[2], o.pad[3]) >= o.size[1]:
		return tensor.Shape{}, &tensor.ShapeError{Msg: fmt.Sprintf("padding %v (top, bottom, left, right) must be less than the window %v", o.pad, o.size), In: in}
	}
	return image(x.Dim(0), x.Dim(1), oh, ow), nil
}

// Ref scans each window.
func (o MaxPool2DOp) Ref(out, in []tensor.Tensor) error {
	o.window().each(in[0].Shape(), func(plane, j, y0, y1, x0, x1, w int) {
		best := plane + y0*w + x0
		for y := y0; y < y1; y++ {
			for i := plane + y*w + x0; i < plane+y*w+x1; i++ {
				if a, b := in[0].At(i), in[0].At(best); a > b || a != a && b == b {
					best = i
				}
			}
		}
		if !out[0].IsNone() {
			move(out[0], in[0]).run(j, best, 1)
		}
		if !out[1].IsNone() {
			out[1].SetInt(j, int64(best-plane))
		}
	})
	return nil
}

// each calls f for every window over images of shape s: where its plane begins, the position of its result, the rows and columns of the
// plane that it covers, and the plane's width.
func (o window) each(s tensor.Shape, f func(plane, j, y0, y1, x0, x1, w int)) {
	h, w := s.Dim(2), s.Dim(3)
	oh, ow, _ := o.steps(h, w, nil)
	for p := range s.Dim(0) * s.Dim(1) {
		for a := range oh {
			for b := range ow {
				y0, y1, x0, x1 := o.clip(a, b, h, w)
				f(p*h*w, (p*oh+a)*ow+b, y0, y1, x0, x1, w)
			}
		}
	}
}

// Grad gives each dy to the maximum.
func (o MaxPool2DOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	s := b.InSpec(0).Shape
	b.Set(0, Apply(MaxPool2DGradOp{H: s.Dim(2), W: s.Dim(3)}, dy, b.Out(1)))
}

// Cost is a comparison for each element of each window.
func (o MaxPool2DOp) Cost(in, out []tensor.Spec) Cost {
	return Elementwise(float64(o.Size[0]*o.Size[1]), in, out[:1])
}

// Batch cuts the images, or their channels.
func (MaxPool2DOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) { return batchPlanes(axis, 2) }

// Samples slide every kind of window.
func (MaxPool2DOp) Samples() []Sample {
	nan, inf := math.NaN(), math.Inf(1)
	two := MaxPool2DOp{Size: [2]int{2, 2}, Stride: [2]int{2, 2}}
	rows := []Sample{
		{Name: "many pixels in a window", Op: MaxPool2DOp{Size: [2]int{12, 11}, Stride: [2]int{12, 11}}, In: []tensor.Tensor{ramp(1, 1, 2, 12, 22)}},
		{Name: "ties", Op: two, In: []tensor.Tensor{farr(d(1, 1, 2, 6), 1, 1, 0, 2, math.Copysign(0, -1), 0, 1, 1, 2, 2, 0, math.Copysign(0, -1))}, ValueOnly: true},
		{Name: "special", Op: two, In: []tensor.Tensor{farr(d(1, 1, 2, 8), nan, 1, inf, 1, -inf, -inf, 1, 2, 3, 1, nan, 2, -inf, -inf, nan, nan)}, ValueOnly: true},
		{Name: "-inf at the border", Op: MaxPool2DOp{Size: [2]int{3, 3}, Stride: [2]int{2, 2}, Pad: [4]int{1, 1, 1, 1}}, In: []tensor.Tensor{farr(d(1, 1, 2, 2), -inf, -inf, -inf, -inf)}, ValueOnly: true},
		{Name: "padding as large as the window", Op: MaxPool2DOp{Size: [2]int{2, 2}, Stride: [2]int{2, 2}, Pad: [4]int{0, 2, 0, 0}}, In: []tensor.Tensor{ramp(1, 1, 1, 4, 4)}, Refused: "padding [0 2 0 0] (top, bottom, left, right) must be less than the window [2 2]"},
		{Name: "window too large", Op: MaxPool2DOp{Size: [2]int{5, 5}, Stride: [2]int{1, 1}}, In: []tensor.Tensor{ramp(1, 1, 1, 4, 4)}, Refused: "window [5 5] is larger than the padded plane [4 4]"},
		{Name: "stride 0", Op: MaxPool2DOp{Size: [2]int{2, 2}}, In: []tensor.Tensor{ramp(1, 1, 1, 4, 4)}, Refused: "window [2 2] with stride [0 0]: both are at least 1"},
		{Name: "empty plane", Op: MaxPool2DOp{Size: [2]int{2, 2}, Stride: [2]int{1, 1}, Pad: [4]int{1, 1, 1, 1}}, In: []tensor.Tensor{ramp(1, 1, 1, 0, 4)}, Refused: "a plane of [0 4] has no pool"},
		{Name: "integers", Op: two, In: []tensor.Tensor{iarr(d(1, 1, 2, 2), 1, 2, 3, 4)}, Refused: "wants floats of one type with four axes"},
		{Name: "rank 2", Op: two, In: []tensor.Tensor{ramp(1, 2, 2)}, Refused: "images are [n, channels, height, width]"},
	}
	for _, c := range poolCases() {
		rows = append(rows, Sample{Name: c.name, Op: MaxPool2DOp{Size: c.size, Stride: c.stride, Pad: c.pad}, In: []tensor.Tensor{ramp(1, c.x.Dims()...)}})
	}
	return rows
}

// poolCase is a geometry that all pools are run on.
type poolCase struct {
	name string
	x    tensor.Shape
	window
}

func poolCases() []poolCase {
	even := func(size, stride, pad int) window {
		return window{[2]int{size, size}, [2]int{stride, stride}, [4]int{pad, pad, pad, pad}}
	}
	return []poolCase{
		{"2x2", image(2, 2, 4, 6), even(2, 2, 0)},
		{"2x2 with a rest", image(1, 2, 5, 7), even(2, 2, 0)},
		{"overlapping", image(1, 2, 5, 4), even(3, 1, 0)},
		{"overlapping and padded", image(1, 1, 5, 6), even(3, 2, 1)},
		{"1x1", image(1, 2, 3, 2), even(1, 1, 0)},
		{"stride beyond the window", image(1, 1, 7, 8), even(2, 3, 0)},
		{"the whole plane", image(2, 3, 3, 3), even(3, 3, 0)},
		{"uneven", image(1, 2, 4, 5), window{[2]int{2, 3}, [2]int{1, 2}, [4]int{1, 0, 2, 1}}},
		{"more window than plane", image(1, 1, 1, 2), window{[2]int{3, 3}, [2]int{1, 1}, [4]int{1, 1, 0, 2}}},
		{"no image", image(0, 2, 4, 4), even(2, 2, 0)},
		{"no channel", image(2, 0, 4, 4), even(2, 2, 0)},
		{"channels beside a block", image(2, 19, 6, 4), even(2, 2, 0)},
	}
}

// batchPlanes keeps the first two axes of images.
func batchPlanes(axis []int, outs int) ([]int, BatchKind) {
	if axis[0] > 1 {
		return nil, Mixes
	}
	return batchBeside(-1, axis, outs)
}

// MaxPool2DGradOp is the adjoint of MaxPool2DOp over images [n, c, H, W]: (dy, index), both [n, c, oh, ow], adds each dy into zeros where its
// maximum stood. An index outside the plane, of which the pool makes none, is left out.
type MaxPool2DGradOp struct {
	total
	strict
	H, W int
}

// Name is "max-pool2d gradient".
func (MaxPool2DGradOp) Name() string { return "max-pool2d gradient" }

// Infer wants an index for each element.
func (o MaxPool2DGradOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkPoolIndex(in); err != nil {
		return nil, err
	}
	if in[0].Shape != in[1].Shape || o.H < 0 || o.W < 0 {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("wants an index for each element, and a plane, not [%d %d]", o.H, o.W), In: in}
	}
	s := in[0].Shape
	return []tensor.Spec{{DType: in[0].DType, Shape: image(s.Dim(0), s.Dim(1), o.H, o.W)}}, nil
}

// checkPoolIndex wants images and the i32 indices of a pool over as many planes.
func checkPoolIndex(in []tensor.Spec) error {
	if err := checkCount(2, in); err != nil {
		return err
	}
	x, idx := in[0].Shape, in[1].Shape
	if !in[0].DType.Float() || in[1].DType != tensor.I32 || x.Rank() != 4 || idx.Rank() != 4 || x.Dim(0) != idx.Dim(0) || x.Dim(1) != idx.Dim(1) {
		return &tensor.ShapeError{Msg: "wants floats [n, c, height, width] and the i32 indices of a pool over as many planes", In: in}
	}
	return nil
}

// Ref adds; windows may overlap.
func (o MaxPool2DGradOp) Ref(out, in []tensor.Tensor) error {
	sum := newAdder(out[0])
	eachWinner(in[1], o.H*o.W, func(i, j int) {
		if i >= 0 {
			sum.add(i, in[0], j)
		}
	})
	sum.store()
	return nil
}

// eachWinner calls f for every pool position j with the element i of the image that won there, or -1.
func eachWinner(idx tensor.Tensor, plane int, f func(i, j int)) {
	n := idx.Shape().Dim(2) * idx.Shape().Dim(3)
	for j := range idx.Len() {
		i := int(idx.Int(j))
		if i < 0 || i >= plane {
			f(-1, j)
		} else {
			f(j/n*plane+i, j)
		}
	}
}

// Grad reads where the maxima stood.
func (MaxPool2DGradOp) Grad(b *Backward) {
	g, _ := b.Dy(0)
	b.Set(0, Apply(MaxPool2DGatherOp{}, g, b.In(1)))
}

// Cost is an addition for each element of dy.
func (MaxPool2DGradOp) Cost(in, out []tensor.Spec) Cost {
	c := Traffic(in, out)
	c.FLOPs = float64(in[0].Shape.Size())
	return c
}

// Batch cuts the images, or their channels.
func (MaxPool2DGradOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchPlanes(axis, 1)
}

// Samples have winners in every place, and shared ones.
func (MaxPool2DGradOp) Samples() []Sample {
	o := MaxPool2DGradOp{H: 3, W: 4}
	return []Sample{
		{Name: "apart", Op: o, In: []tensor.Tensor{ramp(1, 1, 2, 1, 2), arr[int32](d(1, 2, 1, 2), 5, 2, 0, 11)}},
		{Name: "shared", Op: o, In: []tensor.Tensor{ramp(1, 2, 1, 2, 2), arr[int32](d(2, 1, 2, 2), 5, 5, 5, 6, 0, 11, 11, 0)}},
		{Name: "no image", Op: o, In: []tensor.Tensor{ramp(1, 0, 2, 1, 2), arr[int32](d(0, 2, 1, 2))}},
		{Name: "into nothing", Op: MaxPool2DGradOp{}, In: []tensor.Tensor{ramp(1, 1, 1, 0, 0), arr[int32](d(1, 1, 0, 0))}},
		{Name: "outside the plane", Op: o, In: []tensor.Tensor{ramp(1, 1, 1, 1, 3), arr[int32](d(1, 1, 1, 3), -1, 12, 3)}},
		{Name: "special", Op: o, In: []tensor.Tensor{farr(d(1, 1, 1, 4), math.NaN(), math.Inf(1), math.Inf(-1), 1), arr[int32](d(1, 1, 1, 4), 0, 1, 1, 2)}, ValueOnly: true},
		{Name: "i64 indices", Op: o, In: []tensor.Tensor{ramp(1, 1, 1, 1, 1), iarr(d(1, 1, 1, 1), 0)}, Refused: "the i32 indices of a pool"},
		{Name: "shapes differ", Op: o, In: []tensor.Tensor{ramp(1, 1, 1, 1, 2), arr[int32](d(1, 1, 1, 1), 0)}, Refused: "wants an index for each element"},
		{Name: "planes differ", Op: o, In: []tensor.Tensor{ramp(1, 1, 2, 1, 1), arr[int32](d(1, 1, 1, 1), 0)}, Refused: "over as many planes"},
		{Name: "negative plane", Op: MaxPool2DGradOp{H: -1, W: 1}, In: []tensor.Tensor{ramp(1, 1, 1, 1, 1), arr[int32](d(1, 1, 1, 1), 0)}, Refused: "a plane, not [-1 1]"},
	}
}

// MaxPool2DGatherOp reads images where the maxima of a pool stood: (x [n, c, h, w], index [n, c, oh, ow]). It is the adjoint of MaxPool2DGradOp, for second order.
// An index outside the plane reads 0.
type MaxPool2DGatherOp struct {
	total
	strict
}

// Name is "max-pool2d gather".
func (MaxPool2DGatherOp) Name() string { return "max-pool2d gather" }

// Infer wants images and indices.
func (MaxPool2DGatherOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkPoolIndex(in); err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: in[1].Shape}}, nil
}

// Ref copies.
func (MaxPool2DGatherOp) Ref(out, in []tensor.Tensor) error {
	s := in[0].Shape()
	eachWinner(in[1], s.Dim(2)*s.Dim(3), func(i, j int) {
		if i >= 0 {
			out[0].Set(j, in[0].At(i))
		} else {
			out[0].Set(j, 0)
		}
	})
	return nil
}

// Grad adds where the maxima stood.
func (MaxPool2DGatherOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	s := b.InSpec(0).Shape
	b.Set(0, Apply(MaxPool2DGradOp{H: s.Dim(2), W: s.Dim(3)}, dy, b.In(1)))
}

// Cost is a copy of what is taken.
func (MaxPool2DGatherOp) Cost(in, out []tensor.Spec) Cost {
	return Traffic(in[1:], append(out, out...))
}

// Batch cuts the images, or their channels.
func (MaxPool2DGatherOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchPlanes(axis, 1)
}

// Samples read winners in every place, and shared ones.
func (MaxPool2DGatherOp) Samples() []Sample {
	var o MaxPool2DGatherOp
	return []Sample{
		{Name: "apart", Op: o, In: []tensor.Tensor{ramp(1, 1, 2, 3, 4), arr[int32](d(1, 2, 1, 2), 5, 2, 0, 11)}},
		{Name: "shared", Op: o, In: []tensor.Tensor{ramp(1, 2, 1, 3, 4), arr[int32](d(2, 1, 2, 2), 5, 5, 5, 6, 0, 11, 11, 0)}},
		{Name: "no image", Op: o, In: []tensor.Tensor{ramp(1, 0, 2, 3, 4), arr[int32](d(0, 2, 1, 2))}},
		{Name: "outside the plane", Op: o, In: []tensor.Tensor{ramp(1, 1, 1, 2, 2), arr[int32](d(1, 1, 1, 3), -1, 4, 3)}},
		{Name: "special", Op: o, In: []tensor.Tensor{farr(d(1, 1, 1, 4), math.NaN(), math.Inf(1), math.Copysign(0, -1), 1), arr[int32](d(1, 1, 1, 3), 0, 1, 2)}, ValueOnly: true},
		{Name: "integers", Op: o, In: []tensor.Tensor{iarr(d(1, 1, 1, 1), 1), arr[int32](d(1, 1, 1, 1), 0)}, Refused: "wants floats [n, c, height, width]"},
		{Name: "one value", Op: o, In: []tensor.Tensor{ramp(1, 1, 1, 1, 1)}, Refused: "wants 2 values, not 1"},
	}
}
