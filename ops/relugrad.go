package ops

import (
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(ReLUGradOp{})

// ReLUGradOp is the gradient of ReLU from its output y and dy, of one shape: dy where y > 0, NaN where y is NaN, 0 elsewhere.
type ReLUGradOp struct{ total }

// Name is "relu gradient".
func (ReLUGradOp) Name() string { return "relu gradient" }

// Infer wants two equal float specs.
func (ReLUGradOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if len(in) != 2 || in[0] != in[1] || !in[0].DType.Float() {
		return nil, &tensor.ShapeError{Msg: "wants two float values of one spec", In: in}
	}
	return in[:1:1], nil
}

// Ref compares.
func (ReLUGradOp) Ref(out, in []tensor.Tensor) error {
	for i := range out[0].Len() {
		y, dx := in[0].At(i), 0.0
		if y > 0 {
			dx = in[1].At(i)
		} else if y != y {
			dx = y
		}
		out[0].Set(i, dx)
	}
	return nil
}

// Grad is linear in dy, and zero almost everywhere in y.
func (o ReLUGradOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(1, Apply(o, b.In(0), dy))
}

// Cost is one comparison for each element.
func (ReLUGradOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(1, in, out) }

// Batch keeps the axis.
func (ReLUGradOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchElementwise(in, axis)
}

// Samples have outputs of ReLU as first operand: zero or more.
func (o ReLUGradOp) Samples() []Sample {
	return []Sample{
		{Name: "matrix", Op: o, In: []tensor.Tensor{positive(1, 3, 5), ramp(2, 3, 5)}},
		{Name: "rank 0", Op: o, In: []tensor.Tensor{positive(1), ramp(2)}},
		{Name: "zero size", Op: o, In: []tensor.Tensor{positive(1, 0, 2), ramp(2, 0, 2)}},
		{Name: "zeros", Op: o, In: []tensor.Tensor{farr(d(4), 0, math.Copysign(0, -1), 2, 0), ramp(2, 4)}, ValueOnly: true},
		{Name: "special y", Op: o, In: []tensor.Tensor{specials(), ramp(2, len(special))}, ValueOnly: true},
		{Name: "special dy", Op: o, In: []tensor.Tensor{positive(2, len(special)), specials()}, ValueOnly: true},
		{Name: "shapes", Op: o, In: []tensor.Tensor{ramp(1, 2), ramp(1, 1)}, Refused: "of one spec"},
		{Name: "integers", Op: o, In: []tensor.Tensor{iarr(d(1), 1), iarr(d(1), 1)}, Refused: "float"},
	}
}
