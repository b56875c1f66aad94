package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(WhereOp{}, CastOp{}, StopGradientOp{})

// WhereOp chooses elementwise: a where the condition holds, b elsewhere. All three, of any shapes, broadcast. What is not chosen leaves no trace, NaN
// neither, in the result nor in the gradient.
type WhereOp struct{ total }

// Name is "where".
func (WhereOp) Name() string { return "where" }

// Infer wants bool and two values of equal type.
func (WhereOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if len(in) != 3 || in[0].DType != tensor.Bool {
		return nil, &tensor.ShapeError{Msg: "wants a bool condition and two values", In: in}
	}
	s, err := inferBroadcast(in[1:])
	if err != nil {
		return nil, err
	}
	s, ok := tensor.Broadcast(in[0].Shape, s)
	if !ok {
		return nil, &tensor.ShapeError{Msg: "shapes do not broadcast", In: in}
	}
	return []tensor.Spec{{DType: in[1].DType, Shape: s}}, nil
}

// Ref chooses.
func (WhereOp) Ref(out, in []tensor.Tensor) error {
	cond, a, b, y := in[0], in[1], in[2], out[0]
	holds, fromA, fromB := make([]bool, y.Len()), move(y, a), move(y, b)
	eachPair(y.Shape(), cond.Shape(), cond.Shape(), func(i, j, _ int) { holds[i] = cond.Int(j) != 0 })
	eachPair(y.Shape(), a.Shape(), b.Shape(), func(i, j, k int) {
		if holds[i] {
			fromA.run(i, j, 1)
		} else {
			fromB.run(i, k, 1)
		}
	})
	return nil
}

// Grad chooses between dy and zero.
func (WhereOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	zero := b.d.zeros(tensor.Spec{DType: dy.DType()})
	if b.Needs(1) {
		b.Set(1, Where(b.In(0), dy, zero).SumTo(b.InSpec(1).Shape))
	}
	if b.Needs(2) {
		b.Set(2, Where(b.In(0), zero, dy).SumTo(b.InSpec(2).Shape))
	}
}

// Cost is one operation for each element.
func (WhereOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(1, in, out) }

// Batch keeps the axis.
func (WhereOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchElementwise(in, axis)
}

// Samples broadcast each operand.
func (o WhereOp) Samples() []Sample {
	cond := arr(d(3, 1), true, false, true)
	return []Sample{
		{Name: "same shape", Op: o, In: []tensor.Tensor{cond, ramp(1, 3, 1), ramp(2, 3, 1)}},
		{Name: "rank 0", Op: o, In: []tensor.Tensor{arr(nil, true), ramp(1), ramp(2)}},
		{Name: "all broadcast", Op: o, In: []tensor.Tensor{cond, ramp(1, 4), ramp(2)}},
		{Name: "condition broadcasts", Op: o, In: []tensor.Tensor{cond, ramp(1, 2, 3, 2), ramp(2, 2, 3, 2)}},
		{Name: "zero size", Op: o, In: []tensor.Tensor{cond, ramp(1, 3, 0), ramp(2)}},
		{Name: "not chosen", Op: o, In: []tensor.Tensor{arr(d(len(special), 1, 1), make([]bool, len(special))...), specials(), farr(d(1, 1), 3)}, ValueOnly: true},
		{Name: "integers", Op: o, In: []tensor.Tensor{cond, iarr(nil, math.MinInt64), iarr(d(2), 1<<53+1, 3)}},
		{Name: "bools", Op: o, In: []tensor.Tensor{cond, arr(d(1), true), arr(d(1), false)}},
		{Name: "no condition", Op: o, In: []tensor.Tensor{ramp(1, 3), ramp(1, 3), ramp(1, 3)}, Refused: "bool condition"},
		{Name: "types", Op: o, In: []tensor.Tensor{cond, ramp(1, 3), iarr(d(1), 3)}, Refused: "types differ"},
		{Name: "condition's shape", Op: o, In: []tensor.Tensor{cond, ramp(1, 2, 2), ramp(2)}, Refused: "do not broadcast"},
	}
}

// Where is a where cond holds and b elsewhere; shapes broadcast.
//
//go:noinline
func Where(cond, a, b Value) Value { return Apply(WhereOp{}, cond, a, b) }

// CastOp converts a value of any shape to a type. Floats are rounded to nearest even. To integers the fraction is cut off, NaN becomes 0, and what does not
// fit becomes the nearest value that does, from floats and integers alike. To bool, all but 0 is true. This is what tensor.Tensor's Set
// and SetInt do.
type CastOp struct {
	total
	typed
	To tensor.DType
}

// Name is "cast".
func (CastOp) Name() string { return "cast" }

// Infer keeps the shape.
func (o CastOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(1, in); err != nil {
		return nil, err
	}
	out := tensor.Spec{DType: o.To, Shape: in[0].Shape}
	if out.Check() != nil {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("there is no type %v", o.To), In: in}
	}
	return []tensor.Spec{out}, nil
}

// Ref converts.
func (CastOp) Ref(out, in []tensor.Tensor) error {
	for i := range out[0].Len() {
		if in[0].DType().Float() {
			out[0].Set(i, in[0].At(i))
		} else {
			out[0].SetInt(i, in[0].Int(i))
		}
	}
	return nil
}

// Grad casts back. There is none to or from integers.
func (CastOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, dy.Cast(b.InSpec(0).DType))
}

// Cost is the traffic.
func (CastOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch keeps the axis.
func (CastOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) { return axis, Rowwise }

// Samples go from every type to every type. Rounding is no smooth function, so that differences say nothing of its gradient.
func (CastOp) Samples() (rows []Sample) {
	edges := farr(d(12), 2.5, -2.5, 0.4, 3e9, -3e9, 2147483648, 9.3e18, -9.3e18, 300, -1, 65519, 1+1.0/512)
	for _, to := range tensor.DTypes {
		o := CastOp{To: to}
		rows = append(rows,
			Sample{Name: "special", Op: o, In: []tensor.Tensor{specials()}, ValueOnly: true},
			Sample{Name: "edges", Op: o, In: []tensor.Tensor{edges}, ValueOnly: true},
			Sample{Name: "zero size", Op: o, In: []tensor.Tensor{ramp(1, 0, 2)}},
			Sample{Name: "rank 0", Op: o, In: []tensor.Tensor{ramp(1)}, ValueOnly: true},
			Sample{Name: "i64", Op: o, In: []tensor.Tensor{iarr(d(8), 0, -1, 300, 1<<40, 1<<24+1, 1<<53+1, math.MaxInt64, math.MinInt64)}},
			Sample{Name: "i32", Op: o, In: []tensor.Tensor{arr[int32](d(4), -1, 256, 1<<24+1, math.MinInt32)}},
			Sample{Name: "u8", Op: o, In: []tensor.Tensor{arr[uint8](d(3), 0, 1, 255)}},
			Sample{Name: "bool", Op: o, In: []tensor.Tensor{arr(d(2), true, false)}},
		)
	}
	return append(rows,
		Sample{Name: "smooth", Op: CastOp{To: tensor.F64}, In: []tensor.Tensor{ramp(1, 2, 3)}},
		Sample{Name: "no type", Op: CastOp{}, In: []tensor.Tensor{ramp(1, 2)}, Refused: "there is no type none"},
		Sample{Name: "invalid type", Op: CastOp{To: 99}, In: []tensor.Tensor{ramp(1, 2)}, Refused: "there is no type tensor.DType(99)"},
	)
}

// Cast converts to a type, x itself if it has the type.
//
//go:noinline
func (x Value) Cast(to tensor.DType) Value {
	if x.DType() == to {
		return x
	}
	return Apply(CastOp{To: to}, x)
}

// StopGradientOp is a copy, of any shape, through which no gradient passes.
type StopGradientOp struct{ total }

// Name is "stop-gradient".
func (StopGradientOp) Name() string { return "stop-gradient" }

// Infer keeps the spec.
func (StopGradientOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return UnaryOp{F: Identity}.Infer(in)
}

// Ref copies.
func (StopGradientOp) Ref(out, in []tensor.Tensor) error { return UnaryOp{F: Identity}.Ref(out, in) }

// Grad sets nothing.
func (StopGradientOp) Grad(b *Backward) {}

// Cost is the traffic.
func (StopGradientOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch keeps the axis.
func (StopGradientOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) { return axis, Rowwise }

// Samples are values only: the gradient is not that of the function.
func (o StopGradientOp) Samples() []Sample {
	return []Sample{
		{Name: "matrix", Op: o, In: []tensor.Tensor{ramp(1, 2, 3)}, ValueOnly: true},
		{Name: "rank 0", Op: o, In: []tensor.Tensor{ramp(1)}, ValueOnly: true},
		{Name: "zero size", Op: o, In: []tensor.Tensor{ramp(1, 0)}, ValueOnly: true},
		{Name: "special", Op: o, In: []tensor.Tensor{specials()}, ValueOnly: true},
		{Name: "integers", Op: o, In: []tensor.Tensor{iarr(d(2), math.MinInt64, 3)}},
		{Name: "bool", Op: o, In: []tensor.Tensor{arr(d(2), true, false)}},
		{Name: "two values", Op: o, In: []tensor.Tensor{ramp(1, 2), ramp(1, 2)}, Refused: "wants one value"},
	}
}

// StopGradient is x, taken as a constant by gradients.
//
//go:noinline
func (x Value) StopGradient() Value { return Apply(StopGradientOp{}, x) }
