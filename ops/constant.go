package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(FillOp{}, OneHotOp{}, BarrierOp{})

// FillOp is a constant of any shape: every element is X, converted as tensor.Tensor's Set converts. It has no inputs.
type FillOp struct {
	total
	typed
	NoGrad
	Spec tensor.Spec
	X    Bits
}

// Name is "fill".
func (FillOp) Name() string { return "fill" }

// Infer is the attribute.
func (o FillOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(0, in); err != nil {
		return nil, err
	}
	if o.Spec.Check() != nil {
		return nil, &tensor.ShapeError{Msg: "no value has this spec", In: []tensor.Spec{o.Spec}}
	}
	return []tensor.Spec{o.Spec}, nil
}

// Ref fills.
func (o FillOp) Ref(out, in []tensor.Tensor) error {
	for i := range out[0].Len() {
		out[0].Set(i, o.X.Float())
	}
	return nil
}

// Cost is the traffic.
func (FillOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch is not asked: there is no input.
func (FillOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) { return []int{-1}, Rowwise }

// Samples are of every type.
func (FillOp) Samples() (rows []Sample) {
	for _, t := range tensor.DTypes {
		for _, x := range []float64{1.5, math.Copysign(0, -1), math.NaN(), math.Inf(-1), 300} {
			rows = append(rows, Sample{Name: "rank 1", Op: FillOp{Spec: tensor.SpecOf(t, 3), X: F(x)}})
		}
	}
	return append(rows,
		Sample{Name: "rank 0", Op: FillOp{Spec: tensor.SpecOf(tensor.F64), X: F(0.1)}},
		Sample{Name: "zero size", Op: FillOp{Spec: tensor.SpecOf(tensor.F32, 2, 0)}},
		Sample{Name: "long", Op: FillOp{Spec: tensor.SpecOf(tensor.F32, 1031), X: F(2)}},
		Sample{Name: "no type", Op: FillOp{}, Refused: "no value has this spec"},
		Sample{Name: "no shape", Op: FillOp{Spec: tensor.SpecOf(tensor.F32, -1)}, Refused: "no value has this spec"},
		Sample{Name: "an input", Op: FillOp{Spec: tensor.SpecOf(tensor.F32, 1)}, In: []tensor.Tensor{ramp(1)}, Refused: "wants 0 values"},
	)
}

// Full is a constant whose elements all are x.
//
//go:noinline
func Full(r *Recorder, s tensor.Spec, x float64) Value { return ApplyIn(r, FillOp{Spec: s, X: F(x)}) }

// Zeros is Full with 0.
//
//go:noinline
func Zeros(r *Recorder, s tensor.Spec) Value { return ApplyIn(r, FillOp{Spec: s}) }

// OneHotOp gives every index of [...] a row of Classes elements, [..., Classes]: 1 at the index and 0 elsewhere. The row of an index out of range is all zeros.
type OneHotOp struct {
	total
	NoGrad
	Classes int
	DType   tensor.DType
}

// Name is "one-hot".
func (OneHotOp) Name() string { return "one-hot" }

// Infer adds an axis at the end.
func (o OneHotOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if len(in) != 1 || !in[0].DType.Int() {
		return nil, &tensor.ShapeError{Msg: "wants integers", In: in}
	}
	out := tensor.SpecOf(o.DType, append(in[0].Shape.Dims(), o.Classes)...)
	if out.Check() != nil {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("cannot be a value with %d classes of type %v", o.Classes, o.DType), In: in}
	}
	return []tensor.Spec{out}, nil
}

// Ref compares.
func (o OneHotOp) Ref(out, in []tensor.Tensor) error {
	for i := range out[0].Len() {
		hot := int64(0)
		if in[0].Int(i/o.Classes) == int64(i%o.Classes) {
			hot = 1
		}
		out[0].SetInt(i, hot)
	}
	return nil
}

// Cost is the traffic.
func (OneHotOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch keeps the axis.
func (OneHotOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) { return axis, Rowwise }

// Samples have indices inside and outside.
func (OneHotOp) Samples() (rows []Sample) {
	for _, t := range tensor.DTypes {
		rows = append(rows, Sample{Name: "i64", Op: OneHotOp{Classes: 3, DType: t}, In: []tensor.Tensor{iarr(d(2, 2), 2, 0, -1, 3)}})
	}
	o := OneHotOp{Classes: 3, DType: tensor.F64}
	return append(rows,
		Sample{Name: "far outside", Op: o, In: []tensor.Tensor{iarr(d(2), math.MinInt64, math.MaxInt64)}},
		Sample{Name: "i32", Op: o, In: []tensor.Tensor{arr[int32](d(3), 1, 2, 4)}},
		Sample{Name: "u8, rank 0", Op: o, In: []tensor.Tensor{arr[uint8](nil, 1)}},
		Sample{Name: "no index", Op: o, In: []tensor.Tensor{iarr(d(0))}},
		Sample{Name: "no class", Op: OneHotOp{DType: tensor.F32}, In: []tensor.Tensor{iarr(d(2), 0, 1)}},
		Sample{Name: "one class", Op: OneHotOp{Classes: 1, DType: tensor.F32}, In: []tensor.Tensor{iarr(d(2), 0, 1)}},
		Sample{Name: "floats", Op: o, In: []tensor.Tensor{ramp(1, 2)}, Refused: "wants integers"},
		Sample{Name: "negative", Op: OneHotOp{Classes: -1, DType: tensor.F32}, In: []tensor.Tensor{iarr(d(2), 0, 1)}, Refused: "-1 classes"},
		Sample{Name: "no type", Op: OneHotOp{Classes: 1}, In: []tensor.Tensor{iarr(d(2), 0, 1)}, Refused: "type none"},
	)
}

// OneHot is, for every index, a row of classes elements of type d: 1 at the index, 0 elsewhere. The row of an index out of range is all
// zeros.
//
//go:noinline
func OneHot(index Value, classes int, d tensor.DType) Value {
	return Apply(OneHotOp{Classes: classes, DType: d}, index)
}

// BarrierOp is a copy of its first input, of any shape, that is made only when the second is there. Gradients of a checkpointed segment put it between
// what the segment reads and its recomputation, so that this waits for the backward pass. Segment keeps barriers of different segments
// apart.
type BarrierOp struct {
	total
	Segment uint32
}

// Name is "barrier".
func (BarrierOp) Name() string { return "barrier" }

// Infer keeps the first spec.
func (BarrierOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(2, in); err != nil {
		return nil, err
	}
	return []tensor.Spec{in[0]}, nil
}

// Ref copies.
func (BarrierOp) Ref(out, in []tensor.Tensor) error {
	out[0].CopyFrom(in[0])
	return nil
}

// Grad passes dy to the first input: the second gives nothing but its time.
func (BarrierOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, dy)
}

// Cost is the traffic of the copy.
func (BarrierOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in[:1], out) }

// Batch keeps the first input's axis.
func (BarrierOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) { return axis[:1], Rowwise }

// Samples are copies.
func (o BarrierOp) Samples() []Sample {
	return []Sample{
		{Name: "matrix", Op: o, In: []tensor.Tensor{ramp(1, 2, 3), ramp(2, 4)}},
		{Name: "rank 0", Op: o, In: []tensor.Tensor{ramp(1), ramp(2)}},
		{Name: "zero size", Op: o, In: []tensor.Tensor{ramp(1, 0), ramp(2)}},
		{Name: "special", Op: o, In: []tensor.Tensor{specials(), ramp(2)}, ValueOnly: true},
		{Name: "integers", Op: o, In: []tensor.Tensor{iarr(d(2), math.MinInt64, 3), ramp(2)}},
		{Name: "one value", Op: o, In: []tensor.Tensor{ramp(1)}, Refused: "wants 2 values"},
	}
}
