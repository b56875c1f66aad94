package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(ScaleOp{}, ShiftOp{})

// ScaleOp multiplies by a constant, whatever the shape: in f32 and f64 the constant is rounded to the type first.
type ScaleOp struct {
	total
	typed
	By Bits
}

// Name is "scale".
func (ScaleOp) Name() string { return "scale" }

// Infer wants floats.
func (ScaleOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return inferFloat(in) }

func inferFloat(in []tensor.Spec) ([]tensor.Spec, error) {
	if len(in) != 1 || !in[0].DType.Float() {
		return nil, &tensor.ShapeError{Msg: "wants one float value; write a Cast", In: in}
	}
	return in[:1:1], nil
}

// roundTo is x rounded to the type, as a constant that meets values of it; 16-bit types compute in float32.
func roundTo(d tensor.DType, x float64) float64 {
	if d == tensor.F64 {
		return x
	}
	return float64(float32(x))
}

// Ref multiplies.
func (o ScaleOp) Ref(out, in []tensor.Tensor) error {
	by := roundTo(in[0].DType(), o.By.Float())
	for i := range out[0].Len() {
		out[0].Set(i, in[0].At(i)*by)
	}
	return nil
}

// Grad scales.
func (o ScaleOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, Apply(o, dy))
}

// Cost is one operation for each element.
func (ScaleOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(1, in, out) }

// Batch keeps the axis.
func (ScaleOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchElementwise(in, axis)
}

// Samples have factors that need rounding, and special ones.
func (ScaleOp) Samples() []Sample {
	return constantSamples(func(x float64) Op { return ScaleOp{By: F(x)} })
}

func constantSamples(op func(x float64) Op) (rows []Sample) {
	for _, x := range []float64{0.1, -3, math.NaN(), math.Inf(1), 0, math.Copysign(0, -1), 1e-45} {
		rows = append(rows, Sample{Name: fmt.Sprintf("by %g, special", x), Op: op(x), In: []tensor.Tensor{specials()}, ValueOnly: true})
	}
	o := op(0.1)
	return append(rows,
		Sample{Name: "matrix", Op: o, In: []tensor.Tensor{ramp(1, 3, 5)}},
		Sample{Name: "rank 0", Op: o, In: []tensor.Tensor{ramp(2)}},
		Sample{Name: "zero size", Op: o, In: []tensor.Tensor{ramp(3, 0)}},
		Sample{Name: "long", Op: o, In: []tensor.Tensor{ramp(4, 1031)}},
		Sample{Name: "integers", Op: o, In: []tensor.Tensor{iarr(d(1), 1)}, Refused: "wants one float value"},
	)
}

// ShiftOp adds a constant, whatever the shape, rounded as ScaleOp's.
type ShiftOp struct {
	total
	typed
	By Bits
}

// Name is "shift".
func (ShiftOp) Name() string { return "shift" }

// Infer wants floats.
func (ShiftOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return inferFloat(in) }

// Ref adds.
func (o ShiftOp) Ref(out, in []tensor.Tensor) error {
	by := roundTo(in[0].DType(), o.By.Float())
	for i := range out[0].Len() {
		out[0].Set(i, in[0].At(i)+by)
	}
	return nil
}

// Grad passes dy on.
func (ShiftOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, dy)
}

// Cost is one operation for each element.
func (ShiftOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(1, in, out) }

// Batch keeps the axis.
func (ShiftOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchElementwise(in, axis)
}

// Samples have terms that need rounding, and special ones.
func (ShiftOp) Samples() []Sample {
	return constantSamples(func(x float64) Op { return ShiftOp{By: F(x)} })
}

// Scale is x times a constant. A factor that changes from step to step is a Tape.Scalar and a Mul instead.
//
//go:noinline
func (x Value) Scale(by float64) Value { return Apply(ScaleOp{By: F(by)}, x) }

// Shift is x plus a constant.
//
//go:noinline
func (x Value) Shift(by float64) Value { return Apply(ShiftOp{By: F(by)}, x) }
