package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(ResizeOp{}, ResizeGradOp{})

// ResizeMode says how the elements between elements are found.
type ResizeMode uint8

// The modes. Positions are those of PyTorch's interpolate.
const (
	Nearest      ResizeMode = iota // the element at or before the position of the left edge
	NearestExact                   // the element nearest to the centre
	Bilinear                       // between two elements, linear along each axis
	Bicubic                        // between four elements, with a cubic convolution of -0.75 (Keys, 1981)
	Area                           // the mean of all elements that the new one touches
)

var resizeNames = [...]string{"nearest", "nearest-exact", "bilinear", "bicubic", "area"}

// ResizeOp gives an axis another size. It is linear: an element of the result is a sum of weighted elements.
type ResizeOp struct {
	total
	Axis  int8
	Size  int
	Mode  ResizeMode
	Align bool // the first and last elements keep their places; for Bilinear and Bicubic
	Scale Bits // elements of the input to one of the result; 0 means the quotient of the sizes
}

// Name is "resize" and the mode.
func (o ResizeOp) Name() string { return "resize " + nameOf(resizeNames[:], o.Mode) }

// Infer wants floats, and something to make more of.
func (o ResizeOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkAxis(o.Axis, 1, in); err != nil {
		return nil, err
	}
	n := in[0].Shape.Dim(int(o.Axis))
	scale := o.Scale.Float()
	switch {
	case int(o.Mode) >= len(resizeNames):
		return nil, &tensor.ShapeError{Msg: "there is no such mode", In: in}
	case !in[0].DType.Float():
		return nil, &tensor.ShapeError{Msg: "wants one float value; write a Cast", In: in}
	case n < 1 || o.Size < 1 || n > maxPad || o.Size > maxPad:
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("size %d from %d: wants 1 to 2^30", o.Size, n), In: in}
	case !(scale >= 0) || math.IsInf(scale, 0):
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("scale %v: wants a positive number, or 0 for the quotient of the sizes", scale), In: in}
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: in[0].Shape.With(int(o.Axis), o.Size)}}, nil
}

// Tap is a weighted element.
type Tap struct {
	At     int
	Weight float64
}

// Taps are what each of the Size elements of a result is made of, for an axis of n.
func (o ResizeOp) Taps(n int) [][]Tap {
	all := make([][]Tap, o.Size)
	for i := range all {
		all[i] = o.taps(float64(i), n)
	}
	return all
}

// taps are those of element i.
func (o ResizeOp) taps(i float64, n int) (list []Tap) {
	scale := o.Scale.Float()
	if scale == 0 {
		scale = float64(n) / float64(o.Size)
	}
	inside := func(at float64) int { return int(max(0, min(at, float64(n-1)))) }
	at := (i+0.5)*scale - 0.5 // the centre
	if o.Align {
		at = 0
		if o.Size > 1 {
			at = i * float64(n-1) / float64(o.Size-1)
		}
	}
	switch o.Mode {
	case Nearest:
		return []Tap{{inside(math.Floor(i * scale)), 1}}
	case NearestExact:
		return []Tap{{inside(math.Floor((i + 0.5) * scale)), 1}}
	case Bilinear:
		at = max(at, 0)
		t := at - math.Floor(at)
		return []Tap{{inside(math.Floor(at)), 1 - t}, {inside(math.Floor(at) + 1), t}}
	case Bicubic:
		for k := -1.0; k <= 2; k++ {
			list = append(list, Tap{inside(math.Floor(at) + k), cubic(at - math.Floor(at) - k)})
		}
		return list
	}
	first := int(i) * n / o.Size
	end := ((int(i)+1)*n + o.Size - 1) / o.Size
	for k := first; k < end; k++ {
		list = append(list, Tap{k, 1 / float64(end-first)})
	}
	return list
}

// cubic is the kernel of cubic convolution.
func cubic(x float64) float64 {
	const a = -0.75
	x = math.Abs(x)
	if x <= 1 {
		return ((a+2)*x-(a+3))*x*x + 1
	}
	return ((x-5)*x+8)*x*a - 4*a
}

// Ref adds the taps in float64.
func (o ResizeOp) Ref(out, in []tensor.Tensor) error {
	sum := newAdder(out[0])
	o.each(in[0].Shape(), func(i, j int, w float64) { sum.f[j] += w * in[0].At(i) })
	sum.store()
	return nil
}

// each calls f for every weighted element i of an array of shape s that is a part of element j of the result.
func (o ResizeOp) each(s tensor.Shape, f func(i, j int, w float64)) {
	outer, n, inner := around(s, o.Axis)
	taps := o.Taps(n)
	for r := range outer {
		for k, list := range taps {
			for _, t := range list {
				for c := range inner {
					f((r*n+t.At)*inner+c, (r*o.Size+k)*inner+c, t.Weight)
				}
			}
		}
	}
}

// Grad is the adjoint.
func (o ResizeOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, Apply(ResizeGradOp{Of: o, Dim: b.InSpec(0).Shape.Dim(int(o.Axis))}, dy))
}

// Cost is two operations for each tap, of which there are few.
func (ResizeOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(4, in, out) }

// Batch keeps another axis.
func (o ResizeOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchBeside(o.Axis, axis, 1)
}

// resizeCases are sizes that both operations are run on: an axis of n becomes one of size.
var resizeCases = []struct {
	n, size int
	scale   float64
}{{5, 8, 0}, {5, 3, 0}, {4, 1, 0}, {1, 5, 0}, {3, 3, 0}, {7, 10, 1 / 1.5}, {7, 4, 1 / 0.6}}

// Samples go up and down, to one element and from one.
func (ResizeOp) Samples() (rows []Sample) {
	for m := range ResizeMode(len(resizeNames)) {
		for _, c := range resizeCases {
			for _, align := range []bool{false, true} {
				o := ResizeOp{Axis: 1, Size: c.size, Mode: m, Align: align, Scale: F(c.scale)}
				rows = append(rows, Sample{Name: fmt.Sprintf("%d to %d", c.n, c.size), Op: o, In: []tensor.Tensor{ramp(1, 2, c.n, 3)}})
			}
		}
		rows = append(rows, Sample{Name: "special", Op: ResizeOp{Axis: 0, Size: 30, Mode: m}, In: []tensor.Tensor{specials()}, ValueOnly: true})
	}
	o := ResizeOp{Axis: 0, Size: 2}
	return append(rows,
		Sample{Name: "zero size beside", Op: o, In: []tensor.Tensor{ramp(1, 3, 0)}},
		Sample{Name: "of nothing", Op: o, In: []tensor.Tensor{ramp(1, 0)}, Refused: "size 2 from 0"},
		Sample{Name: "to nothing", Op: ResizeOp{Axis: 0}, In: []tensor.Tensor{ramp(1, 2)}, Refused: "size 0 from 2"},
		Sample{Name: "negative scale", Op: ResizeOp{Axis: 0, Size: 2, Scale: F(-1)}, In: []tensor.Tensor{ramp(1, 2)}, Refused: "wants a positive number"},
		Sample{Name: "no mode", Op: ResizeOp{Axis: 0, Size: 2, Mode: 99}, In: []tensor.Tensor{ramp(1, 2)}, Refused: "there is no such mode"},
		Sample{Name: "integers", Op: o, In: []tensor.Tensor{iarr(d(2), 1, 2)}, Refused: "wants one float value"},
		Sample{Name: "rank 0", Op: o, In: []tensor.Tensor{ramp(1)}, Refused: "there is no axis 0 in rank 0"},
	)
}

// ResizeGradOp is the adjoint of a ResizeOp on an axis of Dim.
type ResizeGradOp struct {
	total
	Of  ResizeOp
	Dim int
}

// Name is that of the resize, and "gradient".
func (o ResizeGradOp) Name() string { return o.Of.Name() + " gradient" }

// Infer wants what the resize gives.
func (o ResizeGradOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkAxis(o.Of.Axis, 1, in); err != nil {
		return nil, err
	}
	x := tensor.Spec{DType: in[0].DType, Shape: in[0].Shape.With(int(o.Of.Axis), o.Dim)}
	if y, err := o.Of.Infer([]tensor.Spec{x}); err != nil {
		return nil, err
	} else if y[0] != in[0] {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("a resize to %d does not give this", o.Of.Size), In: in}
	}
	return []tensor.Spec{x}, nil
}

// Ref gives each element of dy to what it was made of.
func (o ResizeGradOp) Ref(out, in []tensor.Tensor) error {
	sum := newAdder(out[0])
	o.Of.each(out[0].Shape(), func(i, j int, w float64) { sum.f[i] += w * in[0].At(j) })
	sum.store()
	return nil
}

// Grad is the resize.
func (o ResizeGradOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, Apply(o.Of, dy))
}

// Cost is that of the resize.
func (ResizeGradOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(4, out, in) }

// Batch keeps another axis.
func (o ResizeGradOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchBeside(o.Of.Axis, axis, 1)
}

// Samples mirror ResizeOp's.
func (ResizeGradOp) Samples() (rows []Sample) {
	for m := range ResizeMode(len(resizeNames)) {
		for _, c := range resizeCases {
			o := ResizeGradOp{Of: ResizeOp{Axis: 1, Size: c.size, Mode: m, Scale: F(c.scale)}, Dim: c.n}
			rows = append(rows, Sample{Name: fmt.Sprintf("%d to %d", c.n, c.size), Op: o, In: []tensor.Tensor{ramp(1, 2, c.size, 3)}})
		}
	}
	o := ResizeOp{Axis: 0, Size: 2}
	return append(rows,
		Sample{Name: "another size", Op: ResizeGradOp{Of: o, Dim: 3}, In: []tensor.Tensor{ramp(1, 3)}, Refused: "a resize to 2 does not give this"},
		Sample{Name: "from nothing", Op: ResizeGradOp{Of: o}, In: []tensor.Tensor{ramp(1, 2)}, Refused: "size 2 from 0"},
		Sample{Name: "rank 0", Op: ResizeGradOp{Of: o, Dim: 1}, In: []tensor.Tensor{ramp(1)}, Refused: "there is no axis 0 in rank 0"},
	)
}

// Scaling says how Resize makes images larger or smaller.
type Scaling struct {
	Mode   ResizeMode
	Size   []int     // of the last axes, one for each
	Factor []float64 // of those axes, where positions follow it rather than the quotient of the sizes; may be nil
	Align  bool      // the first and last elements keep their places; for Bilinear and Bicubic
}

// Resize gives the last axes of x other sizes, axis by axis: of images [n, c, h, w] the height and the width.
//
//go:noinline
func Resize(x Value, s Scaling) Value {
	if len(s.Size) > x.Rank() || s.Factor != nil && len(s.Factor) != len(s.Size) {
		return x.refuse(ResizeOp{Mode: s.Mode}, fmt.Sprintf("%d sizes and %d factors for %d axes", len(s.Size), len(s.Factor), x.Rank()))
	}
	for i, size := range s.Size {
		o := ResizeOp{Axis: int8(x.Rank() - len(s.Size) + i), Size: size, Mode: s.Mode, Align: s.Align}
		if s.Factor != nil {
			o.Scale = F(1 / s.Factor[i])
		}
		x = Apply(o, x)
	}
	return x
}
