package ops

import (
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// UnaryFunc names a function of one number.
type UnaryFunc uint8

// The functions of UnaryOp.
const (
	Identity UnaryFunc = iota
	Neg
	Exp
	Log
	Tanh
	Sigmoid
	ReLU // NaN stays NaN
	Sqrt
	Rsqrt
)

var unaryNames = [...]string{"identity", "neg", "exp", "log", "tanh", "sigmoid", "relu", "sqrt", "rsqrt"}

// UnaryOp is an elementwise function of one value. All but Identity, Neg and ReLU want floats.
type UnaryOp struct {
	total
	F UnaryFunc
}

// Name is the function's.
func (o UnaryOp) Name() string { return nameOf(unaryNames[:], o.F) }

// Infer keeps the spec.
func (o UnaryOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkFunc(unaryNames[:], o.F, in); err != nil {
		return nil, err
	}
	switch {
	case len(in) != 1:
		return nil, &tensor.ShapeError{Msg: "wants one value", In: in}
	case o.F == Identity || in[0].DType.Float() || in[0].DType.Int() && (o.F == Neg || o.F == ReLU):
		return []tensor.Spec{in[0]}, nil
	}
	return nil, &tensor.ShapeError{Msg: "wants floats; write a Cast", In: in}
}

// Ref computes floats in float64.
func (o UnaryOp) Ref(out, in []tensor.Tensor) error {
	x, y := in[0], out[0]
	switch {
	case o.F == Identity:
		y.CopyFrom(x)
	case !x.DType().Float():
		for i := range y.Len() {
			if o.F == Neg {
				setWrapped(y, i, -x.Int(i))
			} else {
				y.SetInt(i, max(0, x.Int(i)))
			}
		}
	default:
		for i := range y.Len() {
			y.Set(i, o.float(x.At(i)))
		}
	}
	return nil
}

func (o UnaryOp) float(x float64) float64 {
	switch o.F {
	case Neg:
		return -x
	case Exp:
		return math.Exp(x)
	case Log:
		return log(x)
	case Tanh:
		return math.Tanh(x)
	case Sigmoid:
		if x < 0 { // exp(-x) would overflow
			e := math.Exp(x)
			return e / (1 + e)
		}
		return 1 / (1 + math.Exp(-x))
	case ReLU:
		return maxNaN(x, 0)
	case Sqrt:
		return math.Sqrt(x)
	}
	return 1 / math.Sqrt(x)
}

// log is math.Log, which on amd64 (Go 1.26) takes a subnormal number for a normal one.
func log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// Grad is said in terms of the output where that saves keeping the input.
func (o UnaryOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	switch o.F {
	case Identity:
		b.Set(0, dy)
	case Neg:
		b.Set(0, dy.Neg())
	case Exp: // y
		b.Set(0, dy.Mul(b.Out(0)))
	case Log: // 1/x
		b.Set(0, dy.Div(b.In(0)))
	case Tanh: // 1 - y^2
		y := b.Out(0)
		b.Set(0, dy.Mul(y.Mul(y).Neg().Shift(1)))
	case Sigmoid: // y (1 - y)
		y := b.Out(0)
		b.Set(0, dy.Mul(y).Mul(y.Neg().Shift(1)))
	case ReLU: // y > 0
		b.Set(0, Apply(ReLUGradOp{}, b.Out(0), dy))
	case Sqrt: // 1 / 2y
		b.Set(0, dy.Div(b.Out(0)).Scale(0.5))
	case Rsqrt: // -y^3 / 2
		y := b.Out(0)
		b.Set(0, dy.Mul(y).Mul(y).Mul(y).Scale(-0.5))
	}
}

// Cost counts a transcendental function as ten operations.
func (o UnaryOp) Cost(in, out []tensor.Spec) Cost {
	switch o.F {
	case Identity:
		return Traffic(in, out)
	case Neg, ReLU, Sqrt, Rsqrt:
		return Elementwise(1, in, out)
	}
	return Elementwise(10, in, out)
}

// Batch keeps the axis.
func (o UnaryOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchElementwise(in, axis)
}

// Samples are the same for every function, moved to where it is defined.
func (UnaryOp) Samples() (rows []Sample) {
	for f := range UnaryFunc(len(unaryNames)) {
		o, operand := UnaryOp{F: f}, ramp
		if f == Log || f == Sqrt || f == Rsqrt {
			operand = positive
		}
		rows = append(rows,
			Sample{Name: "matrix", Op: o, In: []tensor.Tensor{operand(1, 3, 7)}},
			Sample{Name: "rank 0", Op: o, In: []tensor.Tensor{operand(2)}},
			Sample{Name: "zero size", Op: o, In: []tensor.Tensor{operand(3, 2, 0)}},
			Sample{Name: "size 1", Op: o, In: []tensor.Tensor{operand(4, 1, 1)}},
			Sample{Name: "long", Op: o, In: []tensor.Tensor{operand(5, 1031)}},
			Sample{Name: "special", Op: o, In: []tensor.Tensor{specials()}, ValueOnly: true},
			Sample{Name: "two values", Op: o, In: []tensor.Tensor{operand(1, 2), operand(1, 2)}, Refused: "wants one value"},
		)
		ints := Sample{Name: "i32", Op: o, In: []tensor.Tensor{arr[int32](d(3), 3, -3, math.MinInt32)}, Refused: "wants floats"}
		bools := Sample{Name: "bool", Op: o, In: []tensor.Tensor{arr(d(2), true, false)}, Refused: "wants floats"}
		if f == Identity || f == Neg || f == ReLU {
			ints.Refused = ""
		}
		if f == Identity {
			bools.Refused = ""
		}
		rows = append(rows, ints, bools)
	}
	return append(rows, Sample{Name: "no function", Op: UnaryOp{F: 99}, In: []tensor.Tensor{ramp(1, 2)}, Refused: "there is no such function"})
}

// ReLUGradOp is the gradient of ReLU from its output y and dy: dy where y > 0, NaN where y is NaN, 0 elsewhere.
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

// Identity is a copy.
//
//go:noinline
func (x Value) Identity() Value { return Apply(UnaryOp{F: Identity}, x) }

// Neg is -x.
//
//go:noinline
func (x Value) Neg() Value { return Apply(UnaryOp{F: Neg}, x) }

// Exp is e to the x.
//
//go:noinline
func (x Value) Exp() Value { return Apply(UnaryOp{F: Exp}, x) }

// Log is the natural logarithm.
//
//go:noinline
func (x Value) Log() Value { return Apply(UnaryOp{F: Log}, x) }

// Tanh is the hyperbolic tangent.
//
//go:noinline
func (x Value) Tanh() Value { return Apply(UnaryOp{F: Tanh}, x) }

// Sigmoid is 1 / (1 + exp(-x)).
//
//go:noinline
func (x Value) Sigmoid() Value { return Apply(UnaryOp{F: Sigmoid}, x) }

// ReLU is max(x, 0); NaN stays NaN.
//
//go:noinline
func (x Value) ReLU() Value { return Apply(UnaryOp{F: ReLU}, x) }

// Sqrt is the square root.
//
//go:noinline
func (x Value) Sqrt() Value { return Apply(UnaryOp{F: Sqrt}, x) }

// Rsqrt is 1 over the square root.
//
//go:noinline
func (x Value) Rsqrt() Value { return Apply(UnaryOp{F: Rsqrt}, x) }
