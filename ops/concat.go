package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(ConcatOp{}, SplitOp{})

// ConcatOp joins values one behind the other along an axis.
type ConcatOp struct {
	total
	strict
	Axis int8
}

// Name is "concat".
func (ConcatOp) Name() string { return "concat" }

// Infer wants equal types, and shapes that differ along the axis at most.
func (o ConcatOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if len(in) == 0 {
		return nil, &tensor.ShapeError{Msg: "wants at least one value"}
	}
	if err := checkAxis(o.Axis, len(in), in); err != nil {
		return nil, err
	}
	out, n := in[0], 0
	for i, s := range in {
		if s.DType != out.DType {
			return nil, &tensor.ShapeError{Msg: fmt.Sprintf("input %d is %v and input 0 is %v; write a Cast", i, s.DType, out.DType), In: in}
		}
		if a := differsBeside(o.Axis, s.Shape, out.Shape); a >= 0 {
			return nil, &tensor.ShapeError{Msg: fmt.Sprintf("input %d is %v and input 0 is %v: only axis %d may differ", i, s.Shape, out.Shape, o.Axis), In: in}
		}
		n += s.Shape.Dim(int(o.Axis))
	}
	out.Shape = out.Shape.With(int(o.Axis), n)
	return []tensor.Spec{out}, nil
}

// Ref copies row by row.
func (o ConcatOp) Ref(out, in []tensor.Tensor) error {
	outer, n, inner := around(out[0].Shape(), o.Axis)
	at := 0
	for _, x := range in {
		row := x.Shape().Dim(int(o.Axis)) * inner
		m := move(out[0], x)
		for r := range outer {
			m.run(r*n*inner+at, r*row, row)
		}
		at += row
	}
	return nil
}

// Grad gives each input its part.
func (o ConcatOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	at := 0
	for i := range b.Ins() {
		n := b.InSpec(i).Shape.Dim(int(o.Axis))
		if b.Needs(i) {
			b.Set(i, dy.Slice(int(o.Axis), at, at+n))
		}
		at += n
	}
}

// Cost is a copy.
func (ConcatOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch keeps another axis.
func (o ConcatOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchBeside(o.Axis, axis, 1)
}

// Samples join along every axis.
func (ConcatOp) Samples() []Sample {
	along := func(axis int8) ConcatOp { return ConcatOp{Axis: axis} }
	return []Sample{
		{Name: "first axis", Op: along(0), In: []tensor.Tensor{ramp(1, 2, 3), ramp(2, 1, 3)}},
		{Name: "middle axis", Op: along(1), In: []tensor.Tensor{ramp(1, 2, 3, 2), ramp(2, 2, 1, 2), ramp(3, 2, 2, 2)}},
		{Name: "last axis", Op: along(2), In: []tensor.Tensor{ramp(1, 2, 2, 3), ramp(2, 2, 2, 5)}},
		{Name: "one value", Op: along(0), In: []tensor.Tensor{ramp(1, 3)}},
		{Name: "an empty one", Op: along(0), In: []tensor.Tensor{ramp(1, 2, 2), ramp(2, 0, 2), ramp(3, 1, 2)}},
		{Name: "all empty", Op: along(1), In: []tensor.Tensor{ramp(1, 0, 2), ramp(2, 0, 3)}},
		{Name: "size 1", Op: along(0), In: []tensor.Tensor{ramp(1, 1), ramp(2, 1), ramp(3, 1), ramp(4, 1)}},
		{Name: "special", Op: along(0), In: []tensor.Tensor{specials(), farr(d(1), math.NaN())}, ValueOnly: true},
		{Name: "i64", Op: along(0), In: []tensor.Tensor{bigInts(), iarr(d(1), 7)}},
		{Name: "rank 0", Op: along(0), In: []tensor.Tensor{ramp(1), ramp(2)}, Refused: "there is no axis 0 in rank 0"},
		{Name: "another axis differs", Op: along(0), In: []tensor.Tensor{ramp(1, 2, 3), ramp(2, 2, 4)}, Refused: "input 1 is [2 4] and input 0 is [2 3]: only axis 0 may differ"},
		{Name: "ranks differ", Op: along(0), In: []tensor.Tensor{ramp(1, 2), ramp(2, 2, 1)}, Refused: "only axis 0 may differ"},
		{Name: "types differ", Op: along(0), In: []tensor.Tensor{ramp(1, 3), bigInts()}, Refused: "input 1 is i64"},
		{Name: "no value", Op: along(0), Refused: "wants at least one value"},
		{Name: "negative axis", Op: along(-2), In: []tensor.Tensor{ramp(1, 2)}, Refused: "there is no axis -2 in rank 1"},
	}
}

// SplitOp cuts its input along an axis into N equal parts, its outputs.
type SplitOp struct {
	total
	strict
	Axis int8
	N    int
}

// Name is "split".
func (SplitOp) Name() string { return "split" }

// Infer wants an axis that N divides.
func (o SplitOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkAxis(o.Axis, 1, in); err != nil {
		return nil, err
	}
	n := in[0].Shape.Dim(int(o.Axis))
	if o.N < 1 || o.N > maxOutputs || n%o.N != 0 {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("axis %d, of %d, does not split into %d equal parts", o.Axis, n, o.N), In: in}
	}
	out := make([]tensor.Spec, o.N)
	for i := range out {
		out[i] = tensor.Spec{DType: in[0].DType, Shape: in[0].Shape.With(int(o.Axis), n/o.N)}
	}
	return out, nil
}

// maxOutputs is how many outputs a Value can tell apart.
const maxOutputs = 1 << 16

// Ref copies row by row.
func (o SplitOp) Ref(out, in []tensor.Tensor) error {
	outer, n, inner := around(in[0].Shape(), o.Axis)
	row := n / o.N * inner
	for k, y := range out {
		if y.IsNone() {
			continue
		}
		m := move(y, in[0])
		for r := range outer {
			m.run(r*row, r*n*inner+k*row, row)
		}
	}
	return nil
}

// Grad joins the parts; one that has no gradient is zeros.
func (o SplitOp) Grad(b *Backward) {
	dys := make([]Value, o.N)
	for i := range dys {
		dys[i] = b.DyOrZero(i)
	}
	b.Set(0, Apply(ConcatOp{Axis: o.Axis}, dys...))
}

// Cost is a copy.
func (SplitOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch keeps another axis.
func (o SplitOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchBeside(o.Axis, axis, o.N)
}

// Samples cut along every axis.
func (SplitOp) Samples() []Sample {
	into := func(axis int8, n int) SplitOp { return SplitOp{Axis: axis, N: n} }
	return []Sample{
		{Name: "first axis", Op: into(0, 2), In: []tensor.Tensor{ramp(1, 4, 3)}},
		{Name: "middle axis", Op: into(1, 3), In: []tensor.Tensor{ramp(1, 2, 6, 2)}},
		{Name: "last axis", Op: into(2, 2), In: []tensor.Tensor{ramp(1, 2, 2, 6)}},
		{Name: "single elements", Op: into(0, 5), In: []tensor.Tensor{ramp(1, 5)}},
		{Name: "one part", Op: into(0, 1), In: []tensor.Tensor{ramp(1, 3)}},
		{Name: "zero size", Op: into(0, 3), In: []tensor.Tensor{ramp(1, 0, 2)}},
		{Name: "zero size beside", Op: into(0, 2), In: []tensor.Tensor{ramp(1, 2, 0)}},
		{Name: "special", Op: into(0, 2), In: []tensor.Tensor{specials()}, ValueOnly: true},
		{Name: "i64", Op: into(0, 3), In: []tensor.Tensor{bigInts()}},
		{Name: "unequal parts", Op: into(1, 2), In: []tensor.Tensor{ramp(1, 2, 5)}, Refused: "axis 1, of 5, does not split into 2 equal parts"},
		{Name: "no parts", Op: into(0, 0), In: []tensor.Tensor{ramp(1, 2)}, Refused: "does not split into 0 equal parts"},
		{Name: "too many parts", Op: into(0, maxOutputs+1), In: []tensor.Tensor{ramp(1, 0)}, Refused: "does not split"},
		{Name: "rank 0", Op: into(0, 1), In: []tensor.Tensor{ramp(1)}, Refused: "there is no axis 0 in rank 0"},
	}
}

// Concat joins values along an axis, counted from the end if negative. Of no values at all it makes the zero Value.
//
//go:noinline
func Concat(axis int, xs ...Value) Value {
	rank := 0
	if len(xs) > 0 {
		rank = xs[0].Rank()
	}
	return Apply(ConcatOp{Axis: axisOf(axis, rank)}, xs...)
}

// Split cuts x along an axis, counted from the end if negative, into n equal parts. It returns the first; the others are its Output(1)
// to Output(n-1), so that a recording allocates no slice.
//
//go:noinline
func (x Value) Split(axis, n int) Value {
	return Apply(SplitOp{Axis: axisOf(axis, x.Rank()), N: n}, x)
}
