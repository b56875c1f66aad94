package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(AvgPool2DOp{}, AvgPool2DGradOp{})

// AvgPool2DOp is the mean of each window of x [n, c, h, w].
type AvgPool2DOp struct {
	total
	strict
	Size, Stride [2]int // along height and width
	Pad          [4]int // top, bottom, left, right; less than Size
	CountPad     bool   // the padding counts, as zeros; otherwise the mean is over what lies in the plane
}

// Name is "average-pool2d".
func (AvgPool2DOp) Name() string { return "average-pool2d" }

func (o AvgPool2DOp) window() window { return window{o.Size, o.Stride, o.Pad} }

// Infer wants windows that all contain an element.
func (o AvgPool2DOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkImages(1, in); err != nil {
		return nil, err
	}
	s, err := o.window().pooled(in[0].Shape, in)
	if err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: s}}, nil
}

// each calls f for every element i of x in a window with the window's result j and the number of elements that the window counts.
func (o AvgPool2DOp) each(x tensor.Shape, f func(i, j int, count float64)) {
	o.window().each(x, func(plane, j, y0, y1, x0, x1, w int) {
		count := float64((y1 - y0) * (x1 - x0))
		if o.CountPad {
			count = float64(o.Size[0] * o.Size[1])
		}
		for y := y0; y < y1; y++ {
			for x := x0; x < x1; x++ {
				f(plane+y*w+x, j, count)
			}
		}
	})
}

// Ref adds and divides.
func (o AvgPool2DOp) Ref(out, in []tensor.Tensor) error {
	sum := newAdder(out[0])
	by := make([]float64, out[0].Len())
	o.each(in[0].Shape(), func(i, j int, count float64) {
		sum.add(j, in[0], i)
		by[j] = count
	})
	for j, n := range by {
		sum.f[j] /= n
	}
	sum.store()
	return nil
}

// Grad spreads each dy over its window.
func (o AvgPool2DOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	s := b.InSpec(0).Shape
	b.Set(0, Apply(AvgPool2DGradOp{Size: o.Size, Stride: o.Stride, Pad: o.Pad, CountPad: o.CountPad, H: s.Dim(2), W: s.Dim(3)}, dy))
}

// Cost is an addition for each element of each window.
func (o AvgPool2DOp) Cost(in, out []tensor.Spec) Cost {
	return Elementwise(float64(o.Size[0]*o.Size[1]), in, out)
}

// Batch cuts the images, or their channels.
func (AvgPool2DOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) { return batchPlanes(axis, 1) }

// Samples slide every kind of window, with both ways to count.
func (AvgPool2DOp) Samples() []Sample {
	two := AvgPool2DOp{Size: [2]int{2, 2}, Stride: [2]int{2, 2}}
	rows := []Sample{
		{Name: "special", Op: two, In: []tensor.Tensor{farr(d(1, 1, 2, 6), math.NaN(), 1, math.Inf(1), 1, 3, -3, 2, 3, math.Inf(-1), 4, 5, -5)}, ValueOnly: true},
		{Name: "padding as large as the window", Op: AvgPool2DOp{Size: [2]int{2, 2}, Stride: [2]int{2, 2}, Pad: [4]int{0, 0, 2, 0}}, In: []tensor.Tensor{ramp(1, 1, 1, 4, 4)}, Refused: "must be less than the window [2 2]"},
		{Name: "window too large", Op: AvgPool2DOp{Size: [2]int{5, 5}, Stride: [2]int{1, 1}}, In: []tensor.Tensor{ramp(1, 1, 1, 4, 4)}, Refused: "window [5 5] is larger than the padded plane [4 4]"},
		{Name: "empty plane", Op: AvgPool2DOp{Size: [2]int{1, 1}, Stride: [2]int{1, 1}}, In: []tensor.Tensor{ramp(1, 1, 1, 4, 0)}, Refused: "window [1 1] is larger than the padded plane [4 0]"},
		{Name: "integers", Op: two, In: []tensor.Tensor{iarr(d(1, 1, 2, 2), 1, 2, 3, 4)}, Refused: "wants floats of one type with four axes"},
	}
	for _, c := range poolCases() {
		for name, count := range map[string]bool{c.name: false, c.name + ", padding counts": true} {
			o := AvgPool2DOp{Size: c.size, Stride: c.stride, Pad: c.pad, CountPad: count}
			rows = append(rows, Sample{Name: name, Op: o, In: []tensor.Tensor{ramp(1, c.x.Dims()...)}, ULP: 16})
		}
	}
	return rows
}

// AvgPool2DGradOp is the adjoint of AvgPool2DOp over images of height H and width W: dy [n, c, oh, ow] becomes [n, c, H, W].
// It adds to each element of a window its part of dy.
type AvgPool2DGradOp struct {
	total
	strict
	Size, Stride [2]int
	Pad          [4]int
	CountPad     bool
	H, W         int
}

// Name is "average-pool2d gradient".
func (AvgPool2DGradOp) Name() string { return "average-pool2d gradient" }

func (o AvgPool2DGradOp) forward() AvgPool2DOp {
	return AvgPool2DOp{Size: o.Size, Stride: o.Stride, Pad: o.Pad, CountPad: o.CountPad}
}

// Infer wants the dy that a pool over such images has.
func (o AvgPool2DGradOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkImages(1, in); err != nil {
		return nil, err
	}
	dy := in[0].Shape
	x := image(dy.Dim(0), dy.Dim(1), o.H, o.W)
	want, err := o.forward().window().pooled(x, in)
	if err != nil {
		return nil, err
	}
	if dy != want {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("the pool of %v gives %v, not %v", x, want, dy), In: in}
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: x}}, nil
}

// Ref adds; windows may overlap.
func (o AvgPool2DGradOp) Ref(out, in []tensor.Tensor) error {
	sum := newAdder(out[0])
	o.forward().each(out[0].Shape(), func(i, j int, count float64) { sum.f[i] += in[0].At(j) / count })
	sum.store()
	return nil
}

// Grad is the pool.
func (o AvgPool2DGradOp) Grad(b *Backward) {
	g, _ := b.Dy(0)
	b.Set(0, Apply(o.forward(), g))
}

// Cost is that of the pool.
func (o AvgPool2DGradOp) Cost(in, out []tensor.Spec) Cost {
	return Elementwise(float64(o.Size[0]*o.Size[1]), out, in)
}

// Batch cuts the images, or their channels.
func (AvgPool2DGradOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchPlanes(axis, 1)
}

// Samples have the geometries of the pool.
func (AvgPool2DGradOp) Samples() []Sample {
	rows := []Sample{
		{Name: "another size", Op: AvgPool2DGradOp{Size: [2]int{2, 2}, Stride: [2]int{2, 2}, H: 6, W: 4}, In: []tensor.Tensor{ramp(1, 1, 1, 2, 2)}, Refused: "the pool of [1 1 6 4] gives [1 1 3 2], not [1 1 2 2]"},
		{Name: "window too large", Op: AvgPool2DGradOp{Size: [2]int{2, 2}, Stride: [2]int{2, 2}, H: 1, W: 1}, In: []tensor.Tensor{ramp(1, 1, 1, 1, 1)}, Refused: "is larger than the padded plane [1 1]"},
		{Name: "rank 3", Op: AvgPool2DGradOp{Size: [2]int{1, 1}, Stride: [2]int{1, 1}, H: 1, W: 1}, In: []tensor.Tensor{ramp(1, 1, 1, 1)}, Refused: "with four axes"},
	}
	for _, c := range poolCases() {
		for name, count := range map[string]bool{c.name: false, c.name + ", padding counts": true} {
			o := AvgPool2DGradOp{Size: c.size, Stride: c.stride, Pad: c.pad, CountPad: count, H: c.x.Dim(2), W: c.x.Dim(3)}
			y, _ := c.pooled(c.x, nil)
			rows = append(rows, Sample{Name: name, Op: o, In: []tensor.Tensor{ramp(1, y.Dims()...)}, ULP: 16})
		}
	}
	return rows
}
