package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(TakeAlongOp{}, AddAlongOp{})

// TakeAlongOp takes single elements along an axis: (x, idx i32 or i64), where idx has x's dimensions but along the axis. In two
// dimensions and along axis 1, y[i][j] = x[i][idx[i][j]]. An index outside the axis is an *IndexError.
type TakeAlongOp struct {
	Axis int8
}

// Name is "take along".
func (TakeAlongOp) Name() string { return "take along" }

// Infer wants shapes that differ along the axis at most.
func (o TakeAlongOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkAlong(o.Axis, in); err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: in[1].Shape}}, nil
}

// checkAlong wants a value with the axis, and indices that have its other dimensions.
func checkAlong(axis int8, in []tensor.Spec) error {
	if err := checkIndexed(axis, in); err != nil {
		return err
	}
	if differsBeside(axis, in[0].Shape, in[1].Shape) >= 0 {
		return &tensor.ShapeError{Msg: fmt.Sprintf("wants indices of x's shape, but along axis %d; write an Expand or a Slice", axis), In: in}
	}
	return nil
}

// eachAlong calls f for every element i of an array of idx's shape with the element j of an array that has n elements along the axis.
func eachAlong(idx tensor.Tensor, axis int8, n int, f func(i, j int)) error {
	outer, k, inner := around(idx.Shape(), axis)
	for r := range outer {
		for p := range k * inner {
			i := r*k*inner + p
			x := idx.Int(i)
			if err := CheckIndex(x, n); err != nil {
				return err
			}
			f(i, (r*n+int(x))*inner+p%inner)
		}
	}
	return nil
}

// Ref copies element by element.
func (o TakeAlongOp) Ref(out, in []tensor.Tensor) error {
	m := move(out[0], in[0])
	return eachAlong(in[1], o.Axis, in[0].Shape().Dim(int(o.Axis)), func(i, j int) { m.run(i, j, 1) })
}

// Grad adds each element of dy where it was read.
func (o TakeAlongOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, Apply(AddAlongOp{Axis: o.Axis, Size: b.InSpec(0).Shape.Dim(int(o.Axis))}, dy, b.In(1)))
}

// Cost is a copy of what is taken.
func (TakeAlongOp) Cost(in, out []tensor.Spec) Cost { return takeCost(in, out) }

// Batch cuts both along another axis, or the indices alone along theirs.
func (o TakeAlongOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	if axis[0] < 0 && axis[1] == int(o.Axis) {
		return []int{axis[1]}, Rowwise
	}
	return batchBeside(o.Axis, axis, 1)
}

// Samples take along every axis.
func (TakeAlongOp) Samples() []Sample {
	along := func(axis int8) TakeAlongOp { return TakeAlongOp{Axis: axis} }
	return []Sample{
		{Name: "last axis", Op: along(1), In: []tensor.Tensor{ramp(1, 3, 4), iarr(d(3, 2), 3, 0, 1, 1, 2, 3)}},
		{Name: "first axis", Op: along(0), In: []tensor.Tensor{ramp(1, 3, 2), iarr(d(4, 2), 2, 0, 1, 1, 2, 2, 0, 1)}},
		{Name: "middle axis", Op: along(1), In: []tensor.Tensor{ramp(1, 2, 3, 2), iarr(d(2, 1, 2), 2, 0, 1, 1)}},
		{Name: "vector", Op: along(0), In: []tensor.Tensor{ramp(1, 4), arr[int32](d(2), 3, 0)}},
		{Name: "no index", Op: along(1), In: []tensor.Tensor{ramp(1, 2, 3), iarr(d(2, 0))}},
		{Name: "no row", Op: along(1), In: []tensor.Tensor{ramp(1, 0, 3), iarr(d(0, 2))}},
		{Name: "special", Op: along(0), In: []tensor.Tensor{specials(), iarr(d(3), 0, 2, 4)}, ValueOnly: true},
		{Name: "integers", Op: along(0), In: []tensor.Tensor{bigInts(), iarr(d(2), 2, 0)}},
		{Name: "past the end", Op: along(1), In: []tensor.Tensor{ramp(1, 2, 3), iarr(d(2, 1), 0, 3)}, Fails: "index 3 out of range [0,3)"},
		{Name: "negative", Op: along(0), In: []tensor.Tensor{ramp(1, 2), iarr(d(1), -1)}, Fails: "index -1 out of range [0,2)"},
		{Name: "another axis differs", Op: along(1), In: []tensor.Tensor{ramp(1, 2, 3), iarr(d(1, 2), 0, 1)}, Refused: "wants indices of x's shape, but along axis 1"},
		{Name: "float indices", Op: along(0), In: []tensor.Tensor{ramp(1, 2), ramp(1, 2)}, Refused: "indices are i64 or i32"},
		{Name: "rank 0", Op: along(0), In: []tensor.Tensor{ramp(1), iarr(nil, 0)}, Refused: "there is no axis 0 in rank 0"},
	}
}

// AddAlongOp is the adjoint of TakeAlongOp: it adds the elements of its first input into zeros with Size elements along the axis, where
// the indices of the same shape say: (x, idx). The sums are in the order of idx. An index outside the axis is an *IndexError.
type AddAlongOp struct {
	Axis int8
	Size int
}

// Name is "add along".
func (AddAlongOp) Name() string { return "add along" }

// Infer wants equal shapes.
func (o AddAlongOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkIndexed(o.Axis, in); err != nil {
		return nil, err
	}
	switch {
	case in[0].Shape != in[1].Shape:
		return nil, &tensor.ShapeError{Msg: "wants an index for each element", In: in}
	case o.Size < 0:
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("size %d is negative", o.Size), In: in}
	case in[0].DType == tensor.Bool:
		return nil, &tensor.ShapeError{Msg: "bool has no sums; write a Cast", In: in}
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: in[0].Shape.With(int(o.Axis), o.Size)}}, nil
}

// Ref adds in float64, or wraps around in integers.
func (o AddAlongOp) Ref(out, in []tensor.Tensor) error {
	sum := newAdder(out[0])
	if err := eachAlong(in[1], o.Axis, o.Size, func(i, j int) { sum.add(j, in[0], i) }); err != nil {
		return err
	}
	sum.store()
	return nil
}

// Grad reads dy where it was added.
func (o AddAlongOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, Apply(TakeAlongOp{Axis: o.Axis}, dy, b.In(1)))
}

// Cost is one addition for each element of x.
func (AddAlongOp) Cost(in, out []tensor.Spec) Cost { return ScatterAddOp{}.Cost(in, out) }

// Batch cuts both along another axis, or along the indexed one: then the results are added.
func (o AddAlongOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	if axis[0] == int(o.Axis) && axis[1] == axis[0] {
		return []int{-1}, Sum
	}
	return batchBeside(o.Axis, axis, 1)
}

// Samples mirror TakeAlongOp's.
func (AddAlongOp) Samples() []Sample {
	into := func(axis int8, size int) AddAlongOp { return AddAlongOp{Axis: axis, Size: size} }
	return []Sample{
		{Name: "last axis", Op: into(1, 4), In: []tensor.Tensor{ramp(1, 3, 2), iarr(d(3, 2), 3, 0, 1, 1, 2, 3)}},
		{Name: "first axis", Op: into(0, 3), In: []tensor.Tensor{ramp(1, 4, 2), iarr(d(4, 2), 2, 0, 1, 1, 2, 2, 0, 1)}},
		{Name: "middle axis", Op: into(1, 3), In: []tensor.Tensor{ramp(1, 2, 1, 2), arr[int32](d(2, 1, 2), 2, 0, 1, 1)}},
		{Name: "nothing into zeros", Op: into(0, 3), In: []tensor.Tensor{ramp(1, 0), iarr(d(0))}},
		{Name: "nothing into nothing", Op: into(0, 0), In: []tensor.Tensor{ramp(1, 0), iarr(d(0))}},
		{Name: "special", Op: into(0, 2), In: []tensor.Tensor{farr(d(4), math.Inf(1), math.Inf(-1), math.NaN(), 1), iarr(d(4), 0, 0, 1, 1)}, ValueOnly: true},
		{Name: "i32 wraps", Op: into(0, 1), In: []tensor.Tensor{arr[int32](d(2), math.MinInt32, -1), iarr(d(2), 0, 0)}},
		{Name: "past the end", Op: into(0, 2), In: []tensor.Tensor{ramp(1, 2), iarr(d(2), 0, 2)}, Fails: "index 2 out of range [0,2)"},
		{Name: "shapes differ", Op: into(0, 2), In: []tensor.Tensor{ramp(1, 2), iarr(d(1), 0)}, Refused: "wants an index for each element"},
		{Name: "negative size", Op: into(0, -1), In: []tensor.Tensor{ramp(1, 1), iarr(d(1), 0)}, Refused: "size -1 is negative"},
		{Name: "bool", Op: into(0, 2), In: []tensor.Tensor{arr(d(1), true), iarr(d(1), 0)}, Refused: "bool has no sums"},
		{Name: "rank 0", Op: into(0, 1), In: []tensor.Tensor{ramp(1), iarr(nil, 0)}, Refused: "there is no axis 0 in rank 0"},
	}
}

// TakeAlong takes single elements of x along an axis, counted from the end if negative: idx (i64 or i32) has x's dimensions but along
// the axis, and y[i][j] = x[i][idx[i][j]] along the last axis of a matrix. An index outside the axis fails the step with an *IndexError.
//
//go:noinline
func (x Value) TakeAlong(axis int, idx Value) Value {
	return Apply(TakeAlongOp{Axis: axisOf(axis, x.Rank())}, x, idx)
}
