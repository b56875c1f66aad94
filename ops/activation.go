package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// Elementwise functions that are said in terms of others, or of functions of UnaryOp.

// constant is a number of x's type, to meet x; of an x that cannot be used it is x, so that the operation on both says why.
func (x Value) constant(c float64) Value {
	if x.r == nil || x.r.check(x) != "" {
		return x
	}
	return Full(x.r, tensor.Spec{DType: x.DType()}, c)
}

// Square is x times x.
//
//go:noinline
func (x Value) Square() Value { return x.Mul(x) }

// Reciprocal is 1/x.
//
//go:noinline
func (x Value) Reciprocal() Value { return x.constant(1).Div(x) }

// RoundTo is x rounded to a number of decimals, half to even; a negative number rounds to tens, hundreds and so on. Where x is so large that the type
// cannot hold it in units of its last decimal, it has no decimals to round, and stays.
//
//go:noinline
func (x Value) RoundTo(decimals int) Value {
	const most = 400 // more than any type has
	if decimals < 0 {
		unit := x.constant(math.Pow10(-max(decimals, -most)))
		y := x.Div(unit).Round()
		return Where(y.Equal(y.constant(0)), y, y.Mul(unit)) // 0 where the unit itself is infinite
	}
	unit := x.constant(math.Pow10(min(decimals, most)))
	y := x.Mul(unit).Round().Div(unit)
	return Where(y.IsFinite(), y, x.StopGradient())
}

// LeakyReLU is x where it is positive, and x times slope, a finite number, elsewhere.
//
//go:noinline
func (x Value) LeakyReLU(slope float64) Value {
	if slope-slope != 0 {
		return x.refuse(WhereOp{}, fmt.Sprintf("LeakyReLU's slope is %v: wants a finite number", slope))
	}
	return Where(x.Greater(x.constant(0)), x, x.Scale(slope))
}

// ELU is x where it is positive, and alpha (exp(x) - 1) elsewhere (Clevert et al., 2015).
//
//go:noinline
func (x Value) ELU(alpha float64) Value {
	zero := x.constant(0)
	positive := x.Greater(zero)
	// The exponential sees no positive x: an overflow there would meet a gradient of 0.
	return Where(positive, x, Where(positive, zero, x).Expm1().Scale(alpha))
}

// SiLU is x sigmoid(x), also called swish; 0 at -inf, where PyTorch says NaN.
//
//go:noinline
func (x Value) SiLU() Value { return Apply(UnaryOp{F: SiLU}, x) }

// GELU is x times the normal distribution function of x (Hendrycks and Gimpel, 2016); 0 at -inf, where PyTorch says NaN.
//
//go:noinline
func (x Value) GELU() Value { return Apply(UnaryOp{F: GELU}, x) }

// GELUTanh is the approximation of GELU by a hyperbolic tangent, 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); 0 at -inf.
//
//go:noinline
func (x Value) GELUTanh() Value { return Apply(UnaryOp{F: GELUTanh}, x) }

// Softplus is log(1 + exp(x)), which does not overflow.
//
//go:noinline
func (x Value) Softplus() Value { return Apply(UnaryOp{F: Softplus}, x) }

// LogSigmoid is log(sigmoid(x)), which does not underflow.
//
//go:noinline
func (x Value) LogSigmoid() Value { return x.Neg().Softplus().Neg() }

// IsNaN is a bool: where x is not a number.
//
//go:noinline
func (x Value) IsNaN() Value { return x.NotEqual(x) }

// IsFinite is a bool: where x is neither NaN nor infinite.
//
//go:noinline
func (x Value) IsFinite() Value {
	if !x.DType().Float() {
		return x.Equal(x)
	}
	return x.Abs().Less(x.constant(math.Inf(1)))
}

// truth is x as bool: all but 0 is true, NaN too.
func (x Value) truth() Value { return x.Cast(tensor.Bool) }

// And is a bool: where neither x nor y, which may be of any types, is 0; shapes broadcast.
//
//go:noinline
func (x Value) And(y Value) Value {
	a := x.truth()
	return Where(a, y.truth(), a)
}

// Or is a bool: where x and y, which may be of any types, are not both 0; shapes broadcast.
//
//go:noinline
func (x Value) Or(y Value) Value {
	a := x.truth()
	return Where(a, a, y.truth())
}

// Xor is a bool: where one of x and y, which may be of any types, is 0 and the other not; shapes broadcast.
//
//go:noinline
func (x Value) Xor(y Value) Value { return x.truth().NotEqual(y.truth()) }

// Not is a bool: where x, which may be of any type, is 0.
//
//go:noinline
func (x Value) Not() Value { return x.Equal(x.constant(0)) }

// Any is a bool: whether any element along the axes is not 0; without axes along all. Of nothing it is false.
//
//go:noinline
func (x Value) Any(axes ...int) Value { return x.truth().Cast(tensor.I64).Sum(axes...).truth() }

// All is a bool: whether no element along the axes is 0; without axes along all. Of nothing it is true.
//
//go:noinline
func (x Value) All(axes ...int) Value { return x.Not().Any(axes...).Not() }
