package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(PadOp{})

// PadOp puts Lo elements before and Hi elements behind its input along an axis, all X.
type PadOp struct {
	total
	strict
	Axis   int8
	Lo, Hi int
	X      Bits // converted to the type as Cast converts
}

// Name is "pad".
func (PadOp) Name() string { return "pad" }

// Infer refuses a negative padding.
func (o PadOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkAxis(o.Axis, 1, in); err != nil {
		return nil, err
	}
	if o.Lo < 0 || o.Hi < 0 || o.Lo > maxPad || o.Hi > maxPad {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("padding %d and %d: wants 0 to 2^30; to cut elements off write a Slice", o.Lo, o.Hi), In: in}
	}
	n := in[0].Shape.Dim(int(o.Axis))
	return []tensor.Spec{{DType: in[0].DType, Shape: in[0].Shape.With(int(o.Axis), o.Lo+n+o.Hi)}}, nil
}

// maxPad keeps sums of paddings and dimensions from overflowing an int of 64 bits, or of 32 where the rest is small.
const maxPad = 1 << 30

// Ref copies row by row.
func (o PadOp) Ref(out, in []tensor.Tensor) error {
	outer, n, inner := around(in[0].Shape(), o.Axis)
	y, m := out[0], move(out[0], in[0])
	for i := range y.Len() {
		y.Set(i, o.X.Float())
	}
	for r := range outer {
		m.run((r*(o.Lo+n+o.Hi)+o.Lo)*inner, r*n*inner, n*inner)
	}
	return nil
}

// Grad cuts the padding off.
func (o PadOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, dy.Slice(int(o.Axis), o.Lo, o.Lo+b.InSpec(0).Shape.Dim(int(o.Axis))))
}

// Cost is a copy.
func (PadOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch keeps another axis.
func (o PadOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchBeside(o.Axis, axis, 1)
}

// Samples pad every axis, with every number.
func (PadOp) Samples() []Sample {
	by := func(axis int8, lo, hi int, x float64) PadOp { return PadOp{Axis: axis, Lo: lo, Hi: hi, X: F(x)} }
	return []Sample{
		{Name: "first axis", Op: by(0, 1, 2, 0), In: []tensor.Tensor{ramp(1, 2, 3)}},
		{Name: "middle axis", Op: by(1, 2, 0, 0.5), In: []tensor.Tensor{ramp(1, 2, 2, 3)}},
		{Name: "last axis", Op: by(2, 0, 3, -1), In: []tensor.Tensor{ramp(1, 2, 1, 2)}},
		{Name: "more than there is", Op: by(0, 5, 5, 1), In: []tensor.Tensor{ramp(1, 2)}},
		{Name: "nothing", Op: by(0, 0, 0, 1), In: []tensor.Tensor{ramp(1, 3)}},
		{Name: "of nothing", Op: by(0, 1, 1, 2), In: []tensor.Tensor{ramp(1, 0, 2)}},
		{Name: "zero size beside", Op: by(0, 1, 1, 2), In: []tensor.Tensor{ramp(1, 2, 0)}},
		{Name: "NaN", Op: by(0, 1, 1, math.NaN()), In: []tensor.Tensor{specials()}, ValueOnly: true},
		{Name: "infinite", Op: by(0, 1, 1, math.Inf(-1)), In: []tensor.Tensor{specials()}, ValueOnly: true},
		{Name: "-0", Op: by(0, 0, 1, math.Copysign(0, -1)), In: []tensor.Tensor{ramp(1, 1)}, ValueOnly: true},
		{Name: "i64", Op: by(0, 1, 0, 1e30), In: []tensor.Tensor{bigInts()}},
		{Name: "u8", Op: by(0, 1, 1, -1), In: []tensor.Tensor{arr[uint8](d(2), 7, 255)}},
		{Name: "bool", Op: by(0, 1, 1, 1), In: []tensor.Tensor{arr(d(1), false)}},
		{Name: "negative", Op: by(0, -1, 0, 0), In: []tensor.Tensor{ramp(1, 3)}, Refused: "to cut elements off write a Slice"},
		{Name: "overflow", Op: by(0, math.MaxInt, math.MaxInt, 0), In: []tensor.Tensor{ramp(1, 3)}, Refused: "wants 0 to 2^30"},
		{Name: "rank 0", Op: by(0, 1, 1, 0), In: []tensor.Tensor{ramp(1)}, Refused: "there is no axis 0 in rank 0"},
	}
}

// Pad puts lo elements before and hi elements behind x along an axis, counted from the end if negative; each is the given number. A
// negative lo or hi cuts that many elements off.
//
//go:noinline
func (x Value) Pad(axis, lo, hi int, value float64) Value {
	a := axisOf(axis, x.Rank())
	if lo > 0 || hi > 0 || lo == 0 && hi == 0 {
		x = Apply(PadOp{Axis: a, Lo: max(0, lo), Hi: max(0, hi), X: F(value)}, x)
	}
	return x.crop(a, max(0, -lo), max(0, -hi))
}
