package ops

import (
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(PutAlongOp{})

// PutAlongOp writes single elements along an axis: (x, idx i32 or i64, src) gives x with src where idx says, and idx and src have x's
// dimensions but along the axis. In two dimensions and along axis 1, y[i][idx[i][j]] = src[i][j]. Of several elements for one place the
// last one stays. An index outside the axis is an *IndexError.
type PutAlongOp struct {
	Axis int8
}

// Name is "put along".
func (PutAlongOp) Name() string { return "put along" }

// Infer wants shapes that differ along the axis at most, and an index for each element.
func (o PutAlongOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(3, in); err != nil {
		return nil, err
	}
	if err := checkAlong(o.Axis, in[:2]); err != nil {
		return nil, err
	}
	if in[2] != (tensor.Spec{DType: in[0].DType, Shape: in[1].Shape}) {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("wants an index for each element of type %v", in[0].DType), In: in}
	}
	return in[:1:1], nil
}

// Ref copies, then writes in order.
func (o PutAlongOp) Ref(out, in []tensor.Tensor) error {
	out[0].CopyFrom(in[0])
	m := move(out[0], in[2])
	return eachAlong(in[1], o.Axis, in[0].Shape().Dim(int(o.Axis)), func(i, j int) { m.run(j, i, 1) })
}

// Grad is 0 for what was overwritten, in x and in src.
func (o PutAlongOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	idx := b.In(1)
	none := b.d.zeros(tensor.Spec{DType: dy.DType(), Shape: idx.Shape()})
	if b.Needs(0) {
		b.Set(0, Apply(o, dy, idx, none))
	}
	if b.Needs(2) { // the elements number themselves: the number that stays has won
		s := idx.Shape()
		number := Iota(b.d.r, tensor.SpecOf(tensor.I64, s.Size()), 0).reshapeTo(s)
		winner := Apply(o, Zeros(b.d.r, tensor.Spec{DType: tensor.I64, Shape: b.InSpec(0).Shape}), idx, number)
		take := TakeAlongOp(o)
		b.Set(2, Where(Apply(take, winner, idx).Equal(number), Apply(take, dy, idx), none))
	}
}

// Cost is a copy of both.
func (PutAlongOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch cuts all along another axis; where nothing is put, x alone along that.
func (o PutAlongOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	if in[1].Shape.Size() == 0 && axis[0] == int(o.Axis) && axis[1] < 0 && axis[2] < 0 {
		return axis[:1], Rowwise
	}
	return batchBeside(o.Axis, axis, 1)
}

// Samples put along every axis, some twice into one place.
func (PutAlongOp) Samples() []Sample {
	along := func(axis int8) PutAlongOp { return PutAlongOp{Axis: axis} }
	return []Sample{
		{Name: "last axis", Op: along(1), In: []tensor.Tensor{ramp(1, 3, 4), iarr(d(3, 2), 3, 0, 1, 1, 2, 3), ramp(2, 3, 2)}},
		{Name: "first axis", Op: along(0), In: []tensor.Tensor{ramp(1, 3, 2), iarr(d(4, 2), 2, 0, 1, 1, 2, 2, 0, 1), ramp(2, 4, 2)}},
		{Name: "middle axis", Op: along(1), In: []tensor.Tensor{ramp(1, 2, 3, 2), arr[int32](d(2, 1, 2), 2, 0, 1, 1), ramp(2, 2, 1, 2)}},
		{Name: "nothing", Op: along(1), In: []tensor.Tensor{ramp(1, 2, 3), iarr(d(2, 0)), ramp(2, 2, 0)}},
		{Name: "no row", Op: along(1), In: []tensor.Tensor{ramp(1, 0, 3), iarr(d(0, 2)), ramp(1, 0, 2)}},
		{Name: "special", Op: along(0), In: []tensor.Tensor{specials(), iarr(d(3), 0, 2, 4), farr(d(3), 1, 2, 3)}, ValueOnly: true},
		{Name: "integers", Op: along(0), In: []tensor.Tensor{bigInts(), iarr(d(2), 2, 0), iarr(d(2), 5, 6)}},
		{Name: "bool", Op: along(0), In: []tensor.Tensor{arr(d(2), true, true), iarr(d(1), 1), arr(d(1), false)}},
		{Name: "past the end", Op: along(0), In: []tensor.Tensor{ramp(1, 2), iarr(d(1), 2), ramp(2, 1)}, Fails: "index 2 out of range [0,2)"},
		{Name: "negative", Op: along(0), In: []tensor.Tensor{ramp(1, 2), iarr(d(1), -1), ramp(2, 1)}, Fails: "index -1 out of range [0,2)"},
		{Name: "another type", Op: along(0), In: []tensor.Tensor{ramp(1, 2), iarr(d(1), 0), iarr(d(1), 0)}, Refused: "wants an index for each element"},
		{Name: "more elements", Op: along(0), In: []tensor.Tensor{ramp(1, 2), iarr(d(1), 0), ramp(1, 2)}, Refused: "wants an index for each element"},
		{Name: "another axis differs", Op: along(1), In: []tensor.Tensor{ramp(1, 2, 3), iarr(d(1, 2), 0, 1), ramp(1, 1, 2)}, Refused: "but along axis 1"},
		{Name: "rank 0", Op: along(0), In: []tensor.Tensor{ramp(1), iarr(nil, 0), ramp(1)}, Refused: "there is no axis 0 in rank 0"},
	}
}

// PutAlong is x with single elements of src along an axis, counted from the end if negative: idx (i64 or i32) and src have x's dimensions
// but along the axis, and y[i][idx[i][j]] = src[i][j] along the last axis of a matrix. Of several elements for one place the last stays,
// and gets the gradient. An index outside the axis fails the step with an *IndexError.
//
//go:noinline
func (x Value) PutAlong(axis int, idx, src Value) Value {
	return Apply(PutAlongOp{Axis: axisOf(axis, x.Rank())}, x, idx, src)
}

// DynamicUpdate is x with src in the box whose first corner starts says, which is i64 or i32 with one number for each axis: the inverse of
// DynamicSlice. A box that leaves x fails the step with an *IndexError.
//
//go:noinline
func DynamicUpdate(x, starts, src Value) Value {
	into := DynamicSliceGradOp{To: x.Shape()}
	inside := Apply(into, src.constant(1).expandTo(src.Shape()), starts).truth()
	return Where(inside, Apply(into, src, starts), x)
}
