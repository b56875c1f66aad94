package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(SliceOp{}, SliceGradOp{})

// SliceOp takes Size elements along an axis: Start, Start+Step, Start+2*Step and so on. Step may be negative, not 0.
type SliceOp struct {
	total
	Axis              int8
	Start, Size, Step int
}

// Name is "slice".
func (SliceOp) Name() string { return "slice" }

// Infer wants elements that are there.
func (o SliceOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkAxis(o.Axis, 1, in); err != nil {
		return nil, err
	}
	if err := checkSteps(o.Start, o.Size, o.Step, in[0].Shape.Dim(int(o.Axis)), in); err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: in[0].Shape.With(int(o.Axis), o.Size)}}, nil
}

// checkSteps wants size positions, from start on in steps, that all lie in an axis of n. Nothing here overflows.
func checkSteps(start, size, step, n int, in []tensor.Spec) error {
	room := n - 1 - start // how far the last position may lie from the first
	if step < 0 {
		room = start
	}
	stride := uint(max(step, -step)) // right for the smallest int too
	switch {
	case step == 0:
		return &tensor.ShapeError{Msg: "the step is 0", In: in}
	case size == 0 && n >= 0:
	case size < 0 || start < 0 || start >= n || size > 1 && stride > uint(room/(size-1)):
		return &tensor.ShapeError{Msg: fmt.Sprintf("%d elements from %d on in steps of %d do not lie in an axis of %d", size, start, step, n), In: in}
	}
	return nil
}

// Ref copies position by position.
func (o SliceOp) Ref(out, in []tensor.Tensor) error {
	outer, n, inner := around(in[0].Shape(), o.Axis)
	m := move(out[0], in[0])
	for r := range outer {
		for i := range o.Size {
			m.run((r*o.Size+i)*inner, (r*n+o.Start+i*o.Step)*inner, inner)
		}
	}
	return nil
}

// Grad puts dy back where it came from, among zeros.
func (o SliceOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	n := b.InSpec(0).Shape.Dim(int(o.Axis))
	b.Set(0, Apply(SliceGradOp{Axis: o.Axis, Start: o.Start, Step: o.Step, Dim: n}, dy))
}

// Cost is a copy of the part.
func (SliceOp) Cost(in, out []tensor.Spec) Cost { return Traffic(out, out) }

// Batch keeps another axis.
func (o SliceOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchBeside(o.Axis, axis, 1)
}

// Samples step forwards and backwards.
func (SliceOp) Samples() []Sample {
	of := func(axis int8, start, size, step int) SliceOp {
		return SliceOp{Axis: axis, Start: start, Size: size, Step: step}
	}
	return []Sample{
		{Name: "first axis", Op: of(0, 1, 2, 1), In: []tensor.Tensor{ramp(1, 4, 3)}},
		{Name: "middle axis", Op: of(1, 1, 2, 1), In: []tensor.Tensor{ramp(1, 2, 4, 3)}},
		{Name: "last axis", Op: of(2, 2, 3, 1), In: []tensor.Tensor{ramp(1, 2, 2, 5)}},
		{Name: "all", Op: of(0, 0, 3, 1), In: []tensor.Tensor{ramp(1, 3)}},
		{Name: "steps", Op: of(1, 1, 2, 3), In: []tensor.Tensor{ramp(1, 2, 5)}},
		{Name: "backwards", Op: of(0, 3, 4, -1), In: []tensor.Tensor{ramp(1, 4, 2)}},
		{Name: "backwards in steps", Op: of(1, 5, 3, -2), In: []tensor.Tensor{ramp(1, 2, 6)}},
		{Name: "one element, a huge step", Op: of(0, 1, 1, math.MinInt), In: []tensor.Tensor{ramp(1, 3)}},
		{Name: "nothing", Op: of(0, 0, 0, 1), In: []tensor.Tensor{ramp(1, 3)}},
		{Name: "nothing of nothing", Op: of(0, 0, 0, -1), In: []tensor.Tensor{ramp(1, 0, 2)}},
		{Name: "zero size beside", Op: of(0, 1, 1, 1), In: []tensor.Tensor{ramp(1, 2, 0)}},
		{Name: "special", Op: of(0, len(special)-1, len(special), -1), In: []tensor.Tensor{specials()}, ValueOnly: true},
		{Name: "i64", Op: of(0, 2, 3, -1), In: []tensor.Tensor{bigInts()}},
		{Name: "bool", Op: of(0, 0, 2, 2), In: []tensor.Tensor{arr(d(3), true, false, true)}},
		{Name: "past the end", Op: of(0, 2, 2, 1), In: []tensor.Tensor{ramp(1, 3)}, Refused: "2 elements from 2 on in steps of 1 do not lie in an axis of 3"},
		{Name: "before the start", Op: of(0, 1, 3, -1), In: []tensor.Tensor{ramp(1, 3)}, Refused: "do not lie in an axis of 3"},
		{Name: "overflow", Op: of(0, 0, 2, math.MinInt), In: []tensor.Tensor{ramp(1, 3)}, Refused: "do not lie in an axis of 3"},
		{Name: "negative start", Op: of(0, -1, 1, 1), In: []tensor.Tensor{ramp(1, 3)}, Refused: "do not lie in an axis of 3"},
		{Name: "negative size", Op: of(0, 0, -1, 1), In: []tensor.Tensor{ramp(1, 3)}, Refused: "do not lie in an axis of 3"},
		{Name: "step 0", Op: of(0, 0, 0, 0), In: []tensor.Tensor{ramp(1, 3)}, Refused: "the step is 0"},
		{Name: "rank 0", Op: of(0, 0, 1, 1), In: []tensor.Tensor{ramp(1)}, Refused: "there is no axis 0 in rank 0"},
	}
}

// SliceGradOp is the adjoint of SliceOp: it lays its input's positions along the axis at Start, Start+Step, ... of an axis of Dim zeros.
type SliceGradOp struct {
	total
	Axis             int8
	Start, Step, Dim int
}

// Name is "slice gradient".
func (SliceGradOp) Name() string { return "slice gradient" }

// Infer wants room for all positions.
func (o SliceGradOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkAxis(o.Axis, 1, in); err != nil {
		return nil, err
	}
	if err := checkSteps(o.Start, in[0].Shape.Dim(int(o.Axis)), o.Step, o.Dim, in); err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: in[0].Shape.With(int(o.Axis), o.Dim)}}, nil
}

// Ref copies position by position into zeros.
func (o SliceGradOp) Ref(out, in []tensor.Tensor) error {
	outer, size, inner := around(in[0].Shape(), o.Axis)
	clear(out[0].Bytes())
	m := move(out[0], in[0])
	for r := range outer {
		for i := range size {
			m.run((r*o.Dim+o.Start+i*o.Step)*inner, (r*size+i)*inner, inner)
		}
	}
	return nil
}

// Grad is the slice.
func (o SliceGradOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	size := b.InSpec(0).Shape.Dim(int(o.Axis))
	b.Set(0, Apply(SliceOp{Axis: o.Axis, Start: o.Start, Size: size, Step: o.Step}, dy))
}

// Cost is a copy.
func (SliceGradOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch keeps another axis.
func (o SliceGradOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchBeside(o.Axis, axis, 1)
}

// Samples mirror SliceOp's.
func (SliceGradOp) Samples() []Sample {
	into := func(axis int8, start, step, dim int) SliceGradOp {
		return SliceGradOp{Axis: axis, Start: start, Step: step, Dim: dim}
	}
	return []Sample{
		{Name: "first axis", Op: into(0, 1, 1, 4), In: []tensor.Tensor{ramp(1, 2, 3)}},
		{Name: "middle axis", Op: into(1, 1, 1, 4), In: []tensor.Tensor{ramp(1, 2, 2, 3)}},
		{Name: "last axis in steps", Op: into(1, 1, 3, 6), In: []tensor.Tensor{ramp(1, 2, 2)}},
		{Name: "backwards", Op: into(0, 3, -1, 4), In: []tensor.Tensor{ramp(1, 4, 2)}},
		{Name: "nothing into zeros", Op: into(0, 0, 1, 3), In: []tensor.Tensor{ramp(1, 0, 2)}},
		{Name: "nothing into nothing", Op: into(0, 0, 1, 0), In: []tensor.Tensor{ramp(1, 0)}},
		{Name: "special", Op: into(0, 0, 2, 2*len(special)), In: []tensor.Tensor{specials()}, ValueOnly: true},
		{Name: "i64", Op: into(0, 1, 1, 5), In: []tensor.Tensor{bigInts()}},
		{Name: "no room", Op: into(0, 1, 1, 2), In: []tensor.Tensor{ramp(1, 2)}, Refused: "2 elements from 1 on in steps of 1 do not lie in an axis of 2"},
		{Name: "negative axis size", Op: into(0, 0, 1, -1), In: []tensor.Tensor{ramp(1, 0)}, Refused: "do not lie in an axis of -1"},
		{Name: "step 0", Op: into(0, 0, 0, 3), In: []tensor.Tensor{ramp(1, 1)}, Refused: "the step is 0"},
		{Name: "rank 0", Op: into(0, 0, 1, 1), In: []tensor.Tensor{ramp(1)}, Refused: "there is no axis 0 in rank 0"},
	}
}

// Slice is the elements of x from start to stop, exclusive, along an axis, with numpy's rules: negative numbers count from the end, and
// what lies outside is cut off, so that math.MaxInt means the end.
//
//go:noinline
func (x Value) Slice(axis, start, stop int) Value { return slice(x, axis, start, stop, 1) }

// SliceStep is Slice in steps. With a negative step it runs from start down to stop, exclusive; math.MinInt means past the first element.
// A step of 0 is refused.
//
//go:noinline
func SliceStep(x Value, axis, start, stop, step int) Value { return slice(x, axis, start, stop, step) }

func slice(x Value, axis, start, stop, step int) Value {
	a := axisOf(axis, x.Rank())
	n := x.Dim(int(a))
	o := SliceOp{Axis: a, Start: cutOff(start, n, step), Step: step}
	switch stop = cutOff(stop, n, step); {
	case step > 0 && stop > o.Start:
		o.Size = (stop-o.Start-1)/step + 1
	case step < 0 && stop < o.Start:
		o.Size = int(uint(o.Start-stop-1)/uint(-step)) + 1
	}
	return Apply(o, x)
}

// cutOff brings a bound of a slice into an axis of n, or to the position past its end, in the direction of the step.
func cutOff(i, n, step int) int {
	if i < 0 {
		i += n
	}
	if step < 0 {
		return max(-1, min(i, n-1))
	}
	return max(0, min(i, n))
}
