package exact

import "math"

// power is e**(x+low) as p * 2**n, for an x that is no larger than some hundred.
func power(x, low float32) (p float32, n int) {
	p, n = powerLess1(x, low)
	return p + 1, n
}

// powerLess1 is p - 1 of power, with more digits.
func powerLess1(x, low float32) (p float32, n int) {
	if x != x {
		return x, 0
	}
	whole := float32(math.RoundToEven(float64(float32(x * float32(math.Log2E)))))
	r := FMA(-0.693359375, whole, x)
	r = FMA(2.12194440e-4, whole, r) + low
	p = horner(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	return FMA(p, float32(r*r), r), int(whole)
}

// scale is x * 2**n, rounded once.
func scale(x float32, n int) float32 { return float32(math.Ldexp(float64(x), n)) }

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// SiLU is x/(1+e**-x) as the kernels compute it.
func SiLU(x float32) float32 {
	p, n := power(-min(120, abs(x)), 0)
	top := x
	if x < 0 {
		top = scale(p*max(-120, x), n)
	}
	return top / (scale(p, n) + 1)
}

// SiLUGrad is the derivative of SiLU as the kernels compute it.
func SiLUGrad(x float32) float32 {
	a := min(120, abs(x))
	p, n := power(-a, 0)
	return gateSlope(x, a, p, n)
}

// gateSlope is s + x s' for the gate s = 1/(1+e**-v), where a is |x| v' and e**-|v| is p * 2**n.
func gateSlope(x, a, p float32, n int) float32 {
	z := scale(p, n)
	inv := 1 / (z + 1)
	if x < 0 {
		return scale(p*FMA(-a, inv, 1), n) * inv
	}
	return FMA(a*z, inv, 1) * inv
}

// normal is a = |x|, at most limit, e**(-(a k)**2/2) as p * 2**n, and what makes of that the normal distribution at -a k.
func normal(x, limit float32, k float64) (a, p float32, n int, ratio float32) {
	a = min(limit, abs(x))
	q, half := float32(a*a), float32(k*k/2)
	p, n = power(q*-half, FMA(-a, a, q)*half)
	t := 1 / FMA(a, float32(0.3*k), 1)
	ratio = t * horner(t, -0.02062863799, 0.1124646575, -0.2282844463, 0.1918828258, -0.07950880542, 0.0962047407, 0.07837227932, 0.11023934, 0.1195713233, 0.1196867214)
	return a, p, n, ratio
}

// GELU is x times the normal distribution at x, as the kernels compute it.
func GELU(x float32) float32 {
	_, p, n, ratio := normal(x, 15, 1)
	if x < 0 {
		return scale(p*float32(ratio*max(-15, x)), n)
	}
	return x * (1 - scale(p*ratio, n))
}

// GELUGrad is the derivative of GELU as the kernels compute it.
func GELUGrad(x float32) float32 {
	a, p, n, ratio := normal(x, 15, 1)
	w := scale(p*FMA(-a, float32(1/math.Sqrt(2*math.Pi)), ratio), n)
	if x < 0 {
		return w
	}
	return 1 - w
}

// Erf is the error function as the kernels compute it.
func Erf(x float32) float32 {
	if abs(x) < 0.6 {
		z := x * x
		return FMA(x, horner(z, 9.759708137e-05, -0.0008398805257, 0.005219048041, -0.02686532853, 0.1128378478, -0.3761263869, 0.128379167), x)
	}
	_, p, n, ratio := normal(x, 6, math.Sqrt2)
	return float32(math.Copysign(float64(1-scale(p*(ratio+ratio), n)), float64(x)))
}

// geluArgument is a = |x|, at most 12, v = 2 sqrt(2/π) (a + 0.044715 a**3), what rounding took from v, and the derivative of v.
func geluArgument(x float32) (a, v, low, slope float32) {
	const d1, d3 = 2 * 0.79788456080286535588, 2 * 0.79788456080286535588 * 0.044715
	c1, c3 := float32(d1), float32(d3)
	a = min(12, abs(x))
	q := a * a
	m := float32(q * c3) // compilers would fuse it with the sum
	u := m + c1
	part := u - m
	lost := (m - (u - part)) + (c1 - part) - FMA(-q, c3, m)
	lost = FMA(-FMA(-a, a, q), c3, lost)
	lost = FMA(q, float32(d3-float64(c3)), lost) + float32(d1-float64(c1))
	v = a * u
	return a, v, float32(a*lost) - FMA(-a, u, v), FMA(q, float32(3*d3), c1)
}

// GELUTanh is the approximation of GELU by a hyperbolic tangent, as the kernels compute it.
func GELUTanh(x float32) float32 {
	_, v, low, _ := geluArgument(x)
	p, n := power(-v, -low)
	top := x
	if x < 0 {
		top = scale(p*max(-12, x), n)
	}
	return top / (scale(p, n) + 1)
}

// GELUTanhGrad is the derivative of GELUTanh as the kernels compute it.
func GELUTanhGrad(x float32) float32 {
	a, v, low, slope := geluArgument(x)
	p, n := power(-v, -low)
	return gateSlope(x, a*slope, p, n)
}
