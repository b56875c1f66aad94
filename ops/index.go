package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// Operations that read and write where integers say: this file, along.go, put.go and topk.go.

var _ = register(GatherOp{}, ScatterAddOp{})

// GatherOp takes whole slices along an axis: (x, idx i32 or i64 of any shape). The axis is replaced by idx's. An index outside the axis
// is an *IndexError.
type GatherOp struct {
	Axis int8
}

// Name is "gather".
func (GatherOp) Name() string { return "gather" }

// Infer wants an axis and indices.
func (o GatherOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkIndexed(o.Axis, in); err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: replaceAxes(in[0].Shape, o.Axis, 1, in[1].Shape.Dims()...)}}, nil
}

// checkIndexed wants a value with the axis, and indices.
func checkIndexed(axis int8, in []tensor.Spec) error {
	if err := checkAxis(axis, 2, in); err != nil {
		return err
	}
	if !isIndex(in[1].DType) {
		return &tensor.ShapeError{Msg: fmt.Sprintf("indices are i64 or i32, not %v", in[1].DType), In: in}
	}
	return nil
}

// replaceAxes is s with n axes from the given one on replaced by dims.
func replaceAxes(s tensor.Shape, axis int8, n int, dims ...int) tensor.Shape {
	own := s.Dims()
	all := append(append([]int(nil), own[:axis]...), dims...)
	return tensor.Of(append(all, own[int(axis)+n:]...)...)
}

// Ref copies slice by slice.
func (o GatherOp) Ref(out, in []tensor.Tensor) error {
	outer, n, inner := around(in[0].Shape(), o.Axis)
	k := in[1].Len()
	m := move(out[0], in[0])
	for j := range k {
		x := in[1].Int(j)
		if err := CheckIndex(x, n); err != nil {
			return err
		}
		for r := range outer {
			m.run((r*k+j)*inner, (r*n+int(x))*inner, inner)
		}
	}
	return nil
}

// Grad adds each slice of dy where it was read.
func (o GatherOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, Apply(ScatterAddOp{Axis: o.Axis, Size: b.InSpec(0).Shape.Dim(int(o.Axis))}, dy, b.In(1)))
}

// Cost is a copy of what is taken.
func (GatherOp) Cost(in, out []tensor.Spec) Cost { return takeCost(in, out) }

// takeCost is the cost of reading the indices, in[1], and as many elements of in[0] as are written.
func takeCost(in, out []tensor.Spec) Cost {
	return Cost{Bytes: Traffic(in[1:], out).Bytes + Traffic(nil, out).Bytes}
}

// Batch cuts x beside the axis, or the indices.
func (o GatherOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	a, i := axis[0], axis[1]
	switch {
	case a >= 0 && i >= 0 || a == int(o.Axis):
		return nil, Mixes
	case i >= 0:
		return []int{i + int(o.Axis)}, Rowwise
	case a > int(o.Axis):
		a += in[1].Shape.Rank() - 1
	}
	return []int{a}, Rowwise
}

// Samples read rows, columns, the same slice twice, and what is not there.
func (GatherOp) Samples() []Sample {
	along := func(axis int8) GatherOp { return GatherOp{Axis: axis} }
	return []Sample{
		{Name: "rows", Op: along(0), In: []tensor.Tensor{ramp(1, 5, 3), iarr(d(4), 4, 0, 2, 2)}},
		{Name: "middle axis", Op: along(1), In: []tensor.Tensor{ramp(1, 2, 4, 3), iarr(d(3), 3, 1, 3)}},
		{Name: "last axis", Op: along(2), In: []tensor.Tensor{ramp(1, 2, 2, 4), iarr(d(2), 3, 0)}},
		{Name: "a matrix of indices", Op: along(0), In: []tensor.Tensor{ramp(1, 5, 3), iarr(d(2, 2), 4, 0, 2, 1)}},
		{Name: "a matrix of indices inside", Op: along(1), In: []tensor.Tensor{ramp(1, 2, 3, 2), iarr(d(2, 3), 0, 1, 2, 2, 1, 0)}},
		{Name: "one index of rank 0", Op: along(0), In: []tensor.Tensor{ramp(1, 3, 2), iarr(nil, 1)}},
		{Name: "i32 indices", Op: along(0), In: []tensor.Tensor{ramp(1, 3, 2), arr[int32](d(2), 2, 1)}},
		{Name: "no index", Op: along(0), In: []tensor.Tensor{ramp(1, 3, 2), iarr(d(0))}},
		{Name: "no index into nothing", Op: along(0), In: []tensor.Tensor{ramp(1, 0, 2), iarr(d(0))}},
		{Name: "size 1", Op: along(0), In: []tensor.Tensor{ramp(1, 1), iarr(d(3), 0, 0, 0)}},
		{Name: "wide rows", Op: along(0), In: []tensor.Tensor{ramp(1, 3, 37), iarr(d(2), 2, 0)}},
		{Name: "special", Op: along(0), In: []tensor.Tensor{specials(), iarr(d(4), 0, 1, 2, 4)}, ValueOnly: true},
		{Name: "integers", Op: along(0), In: []tensor.Tensor{bigInts(), iarr(d(2), 2, 0)}},
		{Name: "bool", Op: along(0), In: []tensor.Tensor{arr(d(2), true, false), iarr(d(3), 1, 0, 1)}},
		{Name: "past the end", Op: along(0), In: []tensor.Tensor{ramp(1, 3, 2), iarr(d(2), 0, 3)}, Fails: "index 3 out of range [0,3)"},
		{Name: "negative", Op: along(1), In: []tensor.Tensor{ramp(1, 3, 2), iarr(d(1), -1)}, Fails: "index -1 out of range [0,2)"},
		{Name: "of nothing", Op: along(0), In: []tensor.Tensor{ramp(1, 0, 2), iarr(d(1), 0)}, Fails: "index 0 out of range [0,0)"},
		{Name: "float indices", Op: along(0), In: []tensor.Tensor{ramp(1, 3), ramp(1, 1)}, Refused: "indices are i64 or i32"},
		{Name: "no such axis", Op: along(1), In: []tensor.Tensor{ramp(1, 3), iarr(d(1), 0)}, Refused: "there is no axis 1 in rank 1"},
		{Name: "rank 0", Op: along(0), In: []tensor.Tensor{ramp(1), iarr(d(1), 0)}, Refused: "there is no axis 0 in rank 0"},
		{Name: "one value", Op: along(0), In: []tensor.Tensor{ramp(1, 3)}, Refused: "wants 2 values, not 1"},
	}
}

// ScatterAddOp is the adjoint of GatherOp: it adds the slices of its first input into zeros with Size elements along the axis, where
// the indices say: (x, idx). The sums are in the order of idx. An index outside the axis is an *IndexError.
type ScatterAddOp struct {
	Axis int8
	Size int
}

// Name is "scatter-add".
func (ScatterAddOp) Name() string { return "scatter-add" }

// Infer wants the shape of the indices among the axes of x, from the given one on.
func (o ScatterAddOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(2, in); err != nil {
		return nil, err
	}
	x, idx := in[0].Shape, in[1].Shape
	fits := o.Axis >= 0 && int(o.Axis)+idx.Rank() <= x.Rank() && isIndex(in[1].DType)
	for i := range idx.Rank() {
		fits = fits && x.Dim(int(o.Axis)+i) == idx.Dim(i)
	}
	switch {
	case !fits:
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("wants indices, i64 or i32, in the shape of x's axes from %d on", o.Axis), In: in}
	case o.Size < 0:
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("size %d is negative", o.Size), In: in}
	case in[0].DType == tensor.Bool:
		return nil, &tensor.ShapeError{Msg: "bool has no sums; write a Cast", In: in}
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: replaceAxes(x, o.Axis, idx.Rank(), o.Size)}}, nil
}

// Ref adds in float64, or wraps around in integers.
func (o ScatterAddOp) Ref(out, in []tensor.Tensor) error {
	outer, n, inner := around(out[0].Shape(), o.Axis)
	k := in[1].Len()
	sum := newAdder(out[0])
	for j := range k {
		x := in[1].Int(j)
		if err := CheckIndex(x, n); err != nil {
			return err
		}
		for r := range outer {
			for c := range inner {
				sum.add((r*n+int(x))*inner+c, in[0], (r*k+j)*inner+c)
			}
		}
	}
	sum.store()
	return nil
}

// adder sums elements of one type into a tensor of it: floats in float64, rounded once, and integers modulo 2^64, cut to the type.
type adder struct {
	y tensor.Tensor
	f []float64
	i []int64
}

func newAdder(y tensor.Tensor) adder {
	if y.DType().Float() {
		return adder{y: y, f: make([]float64, y.Len())}
	}
	return adder{y: y, i: make([]int64, y.Len())}
}

// add adds element j of x to element i.
func (a adder) add(i int, x tensor.Tensor, j int) {
	if a.f != nil {
		a.f[i] += x.At(j)
	} else {
		a.i[i] += x.Int(j)
	}
}

// store writes the sums.
func (a adder) store() {
	for i, x := range a.f {
		a.y.Set(i, x)
	}
	for i, x := range a.i {
		setWrapped(a.y, i, x)
	}
}

// Grad reads dy where it was added.
func (o ScatterAddOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, Apply(GatherOp{Axis: o.Axis}, dy, b.In(1)))
}

// Cost is one addition for each element of x.
func (ScatterAddOp) Cost(in, out []tensor.Spec) Cost {
	c := Traffic(in, out)
	c.FLOPs = float64(in[0].Shape.Size())
	return c
}

// Batch cuts x beside the indexed axes, or along with the indices: then the results are added.
func (o ScatterAddOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	a, i, rank := axis[0], axis[1], in[1].Shape.Rank()
	switch {
	case i >= 0 && a == i+int(o.Axis):
		return []int{-1}, Sum
	case i >= 0 || a >= int(o.Axis) && a < int(o.Axis)+rank:
		return nil, Mixes
	case a >= int(o.Axis)+rank:
		a -= rank - 1
	}
	return []int{a}, Rowwise
}

// Samples mirror GatherOp's.
func (ScatterAddOp) Samples() []Sample {
	into := func(axis int8, size int) ScatterAddOp { return ScatterAddOp{Axis: axis, Size: size} }
	return []Sample{
		{Name: "rows", Op: into(0, 5), In: []tensor.Tensor{ramp(1, 4, 3), iarr(d(4), 4, 0, 2, 2)}},
		{Name: "all in one place", Op: into(0, 3), In: []tensor.Tensor{ramp(1, 5, 2), iarr(d(5), 1, 1, 1, 1, 1)}},
		{Name: "middle axis", Op: into(1, 4), In: []tensor.Tensor{ramp(1, 2, 3, 2), iarr(d(3), 3, 1, 3)}},
		{Name: "last axis", Op: into(2, 4), In: []tensor.Tensor{ramp(1, 2, 2, 2), iarr(d(2), 3, 0)}},
		{Name: "a matrix of indices", Op: into(0, 5), In: []tensor.Tensor{ramp(1, 2, 2, 3), iarr(d(2, 2), 4, 0, 2, 2)}},
		{Name: "a matrix of indices inside", Op: into(1, 3), In: []tensor.Tensor{ramp(1, 2, 2, 2, 2), arr[int32](d(2, 2), 0, 2, 2, 1)}},
		{Name: "one index of rank 0", Op: into(0, 3), In: []tensor.Tensor{ramp(1, 2), iarr(nil, 1)}},
		{Name: "no index", Op: into(0, 3), In: []tensor.Tensor{ramp(1, 0, 2), iarr(d(0))}},
		{Name: "no index into nothing", Op: into(0, 0), In: []tensor.Tensor{ramp(1, 0, 2), iarr(d(0))}},
		{Name: "rank 0 into a vector", Op: into(0, 3), In: []tensor.Tensor{ramp(1), iarr(nil, 2)}},
		{Name: "special", Op: into(0, 2), In: []tensor.Tensor{farr(d(4), math.Inf(1), math.Inf(-1), math.NaN(), 1), iarr(d(4), 0, 0, 1, 1)}, ValueOnly: true},
		{Name: "i64 wraps", Op: into(0, 1), In: []tensor.Tensor{iarr(d(2), math.MaxInt64, 1), iarr(d(2), 0, 0)}},
		{Name: "u8 wraps", Op: into(0, 2), In: []tensor.Tensor{arr[uint8](d(3), 200, 100, 7), iarr(d(3), 0, 0, 1)}},
		{Name: "past the end", Op: into(0, 3), In: []tensor.Tensor{ramp(1, 2, 2), iarr(d(2), 0, 3)}, Fails: "index 3 out of range [0,3)"},
		{Name: "negative", Op: into(0, 3), In: []tensor.Tensor{ramp(1, 1), iarr(d(1), -1)}, Fails: "index -1 out of range [0,3)"},
		{Name: "unequal", Op: into(0, 3), In: []tensor.Tensor{ramp(1, 2, 2), iarr(d(3), 0, 1, 2)}, Refused: "in the shape of x's axes from 0 on"},
		{Name: "more indices than axes", Op: into(1, 3), In: []tensor.Tensor{ramp(1, 2, 2), iarr(d(2, 1), 0, 1)}, Refused: "in the shape of x's axes from 1 on"},
		{Name: "negative axis", Op: into(-3, 3), In: []tensor.Tensor{ramp(1, 2), iarr(d(2), 0, 1)}, Refused: "in the shape of x's axes from -3 on"},
		{Name: "negative size", Op: into(0, -1), In: []tensor.Tensor{ramp(1, 2), iarr(d(2), 0, 1)}, Refused: "size -1 is negative"},
		{Name: "float indices", Op: into(0, 3), In: []tensor.Tensor{ramp(1, 2), ramp(1, 2)}, Refused: "wants indices, i64 or i32"},
		{Name: "bool", Op: into(0, 3), In: []tensor.Tensor{arr(d(1), true), iarr(d(1), 0)}, Refused: "bool has no sums"},
	}
}

// Gather takes whole slices of x along an axis, counted from the end if negative, where idx (i64 or i32, any shape) says: of a [v d]
// table and [n] indices, along axis 0, the rows as [n d]. An index outside the axis fails the step with an *IndexError.
//
//go:noinline
func (x Value) Gather(axis int, idx Value) Value {
	return Apply(GatherOp{Axis: axisOf(axis, x.Rank())}, x, idx)
}

// Embedding is the rows of a [v d] table that idx names: Gather along axis 0.
//
//go:noinline
func Embedding(table, idx Value) Value { return Apply(GatherOp{}, table, idx) }

// ScatterAdd is zeros of the given size along an axis, with the slices of x added where idx says: what Gather read it puts back, and
// what lands in one place is summed. The axis is one of the result, counted from its end if negative.
//
//go:noinline
func ScatterAdd(x Value, axis int, idx Value, size int) Value {
	return Apply(ScatterAddOp{Axis: axisOf(axis, x.Rank()-idx.Rank()+1), Size: size}, x, idx)
}
