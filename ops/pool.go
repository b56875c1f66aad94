package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// poolOps reduce the windows of images: this file and avgpool.go.
var poolOps = []Sampled{MaxPool2DOp{}, MaxPool2DGradOp{}, MaxPool2DGatherOp{}, AvgPool2DOp{}, AvgPool2DGradOp{}}

// MaxPool2DOp is the maximum of each window of x [n, c, h, w], and, hidden, where in its h*w plane it stands, as i32. The padding is no
// candidate. A NaN wins; of equal maxima the first in row-major order of the window wins.
type MaxPool2DOp struct {
	total
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

// batchPlanes keeps the first two axes of images.
func batchPlanes(axis []int, outs int) ([]int, BatchKind) {
	if axis[0] > 1 {
		return nil, Mixes
	}
	return batchBeside(-1, axis, outs)
}

// MaxPool2DGradOp is the adjoint of MaxPool2DOp over images of height H and width W: (dy, index) adds each dy into zeros where its
// maximum stood. An index outside the plane, of which the pool makes none, is left out.
type MaxPool2DGradOp struct {
	total
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

// MaxPool2DGatherOp reads images where the maxima of a pool stood: (x, index). It is the adjoint of MaxPool2DGradOp, for second order.
// An index outside the plane reads 0.
type MaxPool2DGatherOp struct{ total }

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

// Pool says how a window slides. Uneven windows, strides and paddings are fields of MaxPool2DOp and AvgPool2DOp.
type Pool struct {
	Size    int // height and width of the window
	Stride  int // along height and width; 0 means Size
	Padding int // on each of the four sides; less than Size
}

func (p Pool) window() window {
	if p.Stride == 0 {
		p.Stride = p.Size
	}
	return window{[2]int{p.Size, p.Size}, [2]int{p.Stride, p.Stride}, [4]int{p.Padding, p.Padding, p.Padding, p.Padding}}
}

// MaxPool2D is the maximum of each window of images x [n, channels, height, width]. The padding is no candidate, a NaN wins.
//
//go:noinline
func MaxPool2D(x Value, p Pool) Value {
	w := p.window()
	return Apply(MaxPool2DOp{Size: w.size, Stride: w.stride, Pad: w.pad}, x)
}
