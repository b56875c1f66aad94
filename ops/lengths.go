package ops

import (
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(LengthsOp{})

// LengthsOp is its input, the lengths of sequences, i32 or i64 of any shape, once all of them are known to lie within Steps: one below 0 or
// above Steps is an *IndexError.
type LengthsOp struct {
	NoGrad
	Steps int
}

// Name is "lengths".
func (LengthsOp) Name() string { return "lengths" }

// Infer keeps the spec.
func (o LengthsOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(1, in); err != nil {
		return nil, err
	}
	if !isIndex(in[0].DType) {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("lengths are i64 or i32, not %v", in[0].DType), In: in}
	}
	return in[:1:1], nil
}

// Ref looks at each length, and copies.
func (o LengthsOp) Ref(out, in []tensor.Tensor) error {
	for i := range in[0].Len() {
		if err := CheckIndex(in[0].Int(i), o.Steps+1); err != nil {
			return fmt.Errorf("sequence %d has the length %d, and there are %d steps: %w", i, in[0].Int(i), o.Steps, err)
		}
	}
	if !out[0].IsNone() {
		out[0].CopyFrom(in[0])
	}
	return nil
}

// Cost is the traffic.
func (LengthsOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch keeps the axis.
func (LengthsOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) { return axis, Rowwise }

// Samples are at both ends, and beyond.
func (LengthsOp) Samples() []Sample {
	o := LengthsOp{Steps: 5}
	return []Sample{
		{Name: "within", Op: o, In: []tensor.Tensor{iarr(d(4), 0, 5, 3, 1)}},
		{Name: "i32, rank 2", Op: o, In: []tensor.Tensor{arr[int32](d(2, 1), 4, 5)}},
		{Name: "no sequence", Op: o, In: []tensor.Tensor{iarr(d(0))}},
		{Name: "no step", Op: LengthsOp{}, In: []tensor.Tensor{iarr(d(2), 0, 0)}},
		{Name: "too long", Op: o, In: []tensor.Tensor{iarr(d(2), 5, 9)}, Fails: "sequence 1 has the length 9, and there are 5 steps: index 9 out of range [0,6)"},
		{Name: "negative", Op: o, In: []tensor.Tensor{iarr(d(1), -1)}, Fails: "index -1 out of range [0,6)"},
		{Name: "floats", Op: o, In: []tensor.Tensor{ramp(1, 2)}, Refused: "lengths are i64 or i32"},
		{Name: "two values", Op: o, In: []tensor.Tensor{iarr(d(1), 0), iarr(d(1), 0)}, Refused: "wants 1 values, not 2"},
	}
}

// Lengths is lengths, i64 or i32 of any shape, of sequences of which there are so many steps: one that is negative or longer fails the step
// with an *IndexError. LSTM and GRU ask it of theirs; equal checks are made once.
//
//go:noinline
func Lengths(lengths Value, steps int) Value { return Apply(LengthsOp{Steps: steps}, lengths) }
