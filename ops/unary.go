package ops

import (
	"cmp"
	"math"

	"github.com/cortado-ml/cortado/internal/scalar"
	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(UnaryOp{})

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
	Abs
	Sign // 1, -1, or x itself where it is a zero or NaN
	Expm1
	Log1p
	Sin
	Cos
	Erf
	Floor
	Ceil
	Trunc
	Round // half to even
	Softplus
	SiLU
	SiLUGrad // the derivative of SiLU, and so on
	GELU
	GELUGrad
	GELUTanh
	GELUTanhGrad
)

var unaryNames = [...]string{
	"identity", "neg", "exp", "log", "tanh", "sigmoid", "relu", "sqrt", "rsqrt", "abs", "sign", "expm1", "log1p", "sin", "cos", "erf",
	"floor", "ceil", "trunc", "round", "softplus", "silu", "silu gradient", "gelu", "gelu gradient", "gelu tanh", "gelu tanh gradient",
}

// unaryFuncs are what the functions do to floats.
var unaryFuncs = [...]func(x float64) float64{
	Neg: func(x float64) float64 { return -x }, ReLU: func(x float64) float64 { return maxNaN(x, 0) },
	Exp: math.Exp, Log: scalar.Log, Tanh: math.Tanh, Sigmoid: scalar.Sigmoid, Sqrt: math.Sqrt, Rsqrt: scalar.Rsqrt,
	Abs: math.Abs, Sign: scalar.Sign, Expm1: math.Expm1, Log1p: math.Log1p, Sin: math.Sin, Cos: math.Cos, Erf: math.Erf,
	Floor: math.Floor, Ceil: math.Ceil, Trunc: math.Trunc, Round: math.RoundToEven, Softplus: scalar.Softplus,
	SiLU: scalar.SiLU, SiLUGrad: scalar.SiLUGrad, GELU: scalar.GELU, GELUGrad: scalar.GELUGrad,
	GELUTanh: scalar.GELUTanh, GELUTanhGrad: scalar.GELUTanhGrad,
}

// unaryInts are what some do to integers.
var unaryInts = [len(unaryNames)]func(x int64) int64{
	Neg: func(x int64) int64 { return -x }, ReLU: func(x int64) int64 { return max(0, x) },
	Abs: func(x int64) int64 { return max(x, -x) }, Sign: func(x int64) int64 { return int64(cmp.Compare(x, 0)) },
}

// UnaryOp is an elementwise function of one value of any shape. All but Identity, Neg, Abs, Sign and ReLU want floats.
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
	case o.F == Identity || in[0].DType.Float() || in[0].DType.Int() && unaryInts[o.F] != nil:
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
			setWrapped(y, i, unaryInts[o.F](x.Int(i)))
		}
	default:
		for i := range y.Len() {
			y.Set(i, unaryFuncs[o.F](x.At(i)))
		}
	}
	return nil
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
	case Sign, Floor, Ceil, Trunc, Round: // 0: flat but for steps
	default:
		b.Set(0, dy.Mul(o.F.slope(b.In(0), b.Out(0))))
	}
}

// slope is the derivative at x of a function whose result there is y.
func (f UnaryFunc) slope(x, y Value) Value {
	switch f {
	case Abs:
		return Apply(UnaryOp{F: Sign}, x)
	case Expm1: // exp(x)
		return y.Shift(1)
	case Log1p: // 1 / (1 + x)
		return x.Shift(1).Reciprocal()
	case Sin:
		return x.Cos()
	case Cos:
		return x.Sin().Neg()
	case Erf: // 2/sqrt(pi) exp(-x^2)
		return x.Mul(x).Neg().Exp().Scale(2 / math.SqrtPi)
	case Softplus:
		return x.Sigmoid()
	case SiLU, GELU, GELUTanh:
		return Apply(UnaryOp{F: f + 1}, x)
	case SiLUGrad: // s (1-s) (2 + x (1-2s))
		s := x.Sigmoid()
		return s.Mul(s.Neg().Shift(1)).Mul(x.Mul(s.Scale(-2).Shift(1)).Shift(2))
	case GELUGrad: // exp(-x^2/2) / sqrt(2 pi) (2 - x^2)
		q := x.Mul(x)
		return q.Scale(-0.5).Exp().Scale(1 / math.Sqrt(2*math.Pi)).Mul(q.Neg().Shift(2))
	}
	// GELUTanhGrad: with s = sigmoid(v) and s' = v' s (1-s), (x s)'' is 2 s' + x s'', and s'' is v'' s (1-s) + v' s' (1-2s)
	q := x.Mul(x)
	v := x.Mul(q.Scale(scalar.Cubic).Shift(1)).Scale(2 * scalar.Linear)
	v1 := q.Scale(3 * scalar.Cubic).Shift(1).Scale(2 * scalar.Linear)
	v2 := x.Scale(12 * scalar.Linear * scalar.Cubic)
	s := v.Sigmoid()
	gate := s.Mul(s.Neg().Shift(1))
	s1 := v1.Mul(gate)
	s2 := v2.Mul(gate).Add(v1.Mul(s1).Mul(s.Scale(-2).Shift(1)))
	return s1.Scale(2).Add(x.Mul(s2))
}

// Cost counts a transcendental function as ten operations.
func (o UnaryOp) Cost(in, out []tensor.Spec) Cost {
	switch o.F {
	case Identity:
		return Traffic(in, out)
	case Neg, ReLU, Sqrt, Rsqrt, Abs, Sign, Floor, Ceil, Trunc, Round:
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
		if f == Log || f == Log1p || f == Sqrt || f == Rsqrt {
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
		if f == Identity || unaryInts[f] != nil {
			ints.Refused = ""
		}
		if f == Identity {
			bools.Refused = ""
		}
		rows = append(rows, ints, bools)
	}
	return append(rows, Sample{Name: "no function", Op: UnaryOp{F: 99}, In: []tensor.Tensor{ramp(1, 2)}, Refused: "there is no such function"})
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

// Abs is the absolute value; of the smallest integer it is that integer, as in Go. The gradient at 0 is 0.
//
//go:noinline
func (x Value) Abs() Value { return Apply(UnaryOp{F: Abs}, x) }

// Sign is 1 where x is positive, -1 where it is negative, 0 at 0; NaN stays NaN.
//
//go:noinline
func (x Value) Sign() Value { return Apply(UnaryOp{F: Sign}, x) }

// Expm1 is exp(x) - 1, exact where x is small.
//
//go:noinline
func (x Value) Expm1() Value { return Apply(UnaryOp{F: Expm1}, x) }

// Log1p is log(1 + x), exact where x is small.
//
//go:noinline
func (x Value) Log1p() Value { return Apply(UnaryOp{F: Log1p}, x) }

// Sin is the sine.
//
//go:noinline
func (x Value) Sin() Value { return Apply(UnaryOp{F: Sin}, x) }

// Cos is the cosine.
//
//go:noinline
func (x Value) Cos() Value { return Apply(UnaryOp{F: Cos}, x) }

// Erf is the error function.
//
//go:noinline
func (x Value) Erf() Value { return Apply(UnaryOp{F: Erf}, x) }

// Floor is x rounded down. As of all roundings, its gradient is 0.
//
//go:noinline
func (x Value) Floor() Value { return Apply(UnaryOp{F: Floor}, x) }

// Ceil is x rounded up.
//
//go:noinline
func (x Value) Ceil() Value { return Apply(UnaryOp{F: Ceil}, x) }

// Trunc is x without its fraction.
//
//go:noinline
func (x Value) Trunc() Value { return Apply(UnaryOp{F: Trunc}, x) }

// Round is the nearest whole number; of two equally near ones the even.
//
//go:noinline
func (x Value) Round() Value { return Apply(UnaryOp{F: Round}, x) }
