package ops

import (
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
)

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

// TakeAlong takes single elements of x along an axis, counted from the end if negative: idx (i64 or i32) has x's dimensions but along
// the axis, and y[i][j] = x[i][idx[i][j]] along the last axis of a matrix. An index outside the axis fails the step with an *IndexError.
//
//go:noinline
func (x Value) TakeAlong(axis int, idx Value) Value {
	return Apply(TakeAlongOp{Axis: axisOf(axis, x.Rank())}, x, idx)
}
