package scalar

import "math"

// Sigmoid is 1 / (1 + exp(-x)). It never overflows, and keeps its digits where it is small.
func Sigmoid(x float64) float64 {
	z := math.Exp(-math.Abs(x))
	if x < 0 {
		return z / (1 + z)
	}
	return 1 / (1 + z)
}

// Log is math.Log, which on amd64 (Go 1.26) takes a subnormal number for a normal one.
func Log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// Rsqrt is 1 over the square root.
func Rsqrt(x float64) float64 { return 1 / math.Sqrt(x) }

// Sign is 1 above 0, -1 below 0, and x itself where it is a zero or NaN.
func Sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// Softplus is log(1 + exp(x)), which is x plus a remainder that vanishes.
func Softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// SiLU is x sigmoid(x), 0 at -inf.
func SiLU(x float64) float64 { return gated(x, Sigmoid(x)) }

// SiLUGrad is the derivative of SiLU.
func SiLUGrad(x float64) float64 { return slope(Sigmoid(x), x, Sigmoid(x)*Sigmoid(-x)) }

// GELU is x Φ(x) with the normal distribution Φ, 0 at -inf (Hendrycks and Gimpel, 2016). It is said with erfc, since 1 + erf would cancel
// where x is small.
func GELU(x float64) float64 { return gated(x, 0.5*math.Erfc(-x/math.Sqrt2)) }

// GELUGrad is the derivative of GELU.
func GELUGrad(x float64) float64 {
	return slope(0.5*math.Erfc(-x/math.Sqrt2), x, math.Exp(-0.5*x*x)/math.Sqrt(2*math.Pi))
}

// Cubic is the coefficient of the cube in GELUTanh, Linear what scales its argument: sqrt(2/π).
const (
	Cubic  = 0.044715
	Linear = math.Sqrt2 * 2 / (math.SqrtPi * 2)
)

// GELUTanh is the approximation 0.5 x (1 + tanh(u)) with u = sqrt(2/π) (x + 0.044715 x³), 0 at -inf. It is said as x sigmoid(2u), since
// 1 + tanh would cancel.
func GELUTanh(x float64) float64 { return gated(x, Sigmoid(2*Linear*(x+Cubic*x*x*x))) }

// GELUTanhGrad is the derivative of GELUTanh.
func GELUTanhGrad(x float64) float64 {
	u := 2 * Linear * (x + Cubic*x*x*x)
	return slope(Sigmoid(u), x*2*Linear*(1+3*Cubic*x*x), Sigmoid(u)*Sigmoid(-u))
}

// gated is x times a gate that closes faster than any x grows.
func gated(x, gate float64) float64 {
	if gate == 0 {
		return 0
	}
	return x * gate
}

// slope is gate + x rate, where a rate of 0 beats any x.
func slope(gate, x, rate float64) float64 {
	if rate == 0 {
		return gate
	}
	return gate + x*rate
}

// Rem is the remainder of x / y with the sign of y, as in Python: x - y floor(x/y). By 0 it is NaN.
func Rem(x, y float64) float64 {
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

// FloorDiv is floor(x/y), as if the quotient were not rounded. By 0 it is x/y.
func FloorDiv(x, y float64) float64 {
	q := x / y
	if y == 0 || q == 0 || math.IsInf(q, 0) || math.IsNaN(q) {
		if q == 0 && x != 0 && (x < 0) != (y < 0) { // an infinite y, or a quotient too small to be there
			return -1
		}
		return q
	}
	// x minus the remainder is a multiple of y, so that the quotient is whole but for rounding.
	return math.Round((x - Rem(x, y)) / y)
}

// IntRem is Rem of integers; by 0 it is 0.
func IntRem(x, y int64) int64 {
	if y == 0 {
		return 0
	}
	r := x % y
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

// IntFloorDiv is the quotient of integers, rounded down; by 0 it is 0.
func IntFloorDiv(x, y int64) int64 {
	if y == 0 {
		return 0
	}
	q := x / y
	if r := x % y; r != 0 && (r < 0) != (y < 0) {
		q--
	}
	return q
}
