package exact

import "math"

// power is e**(x+low) as p * 2**n, for an x that is no larger than some hundred.
func power(x, low float32) (p float32, n int) {
	if x != x {
		return x, 0
	}
	whole := float32(math.RoundToEven(float64(float32(x * float32(math.Log2E)))))
	r := FMA(-0.693359375, whole, x)
	r = FMA(2.12194440e-4, whole, r) + low
	p = horner(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	return FMA(p, float32(r*r), r) + 1, int(whole)
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
	z := scale(p, n)
	inv := 1 / (z + 1)
	if x < 0 {
		return scale(p*FMA(-a, inv, 1), n) * inv
	}
	return FMA(a*z, inv, 1) * inv
}

// normal is a = |x|, at most 15, e**(-a*a/2) as p * 2**n, and what makes of that the normal distribution at -a.
func normal(x float32) (a, p float32, n int, ratio float32) {
	a = min(15, abs(x))
	q := a * a
	p, n = power(q*-0.5, FMA(-a, a, q)*0.5)
	t := 1 / FMA(a, 0.3, 1)
	ratio = t * horner(t, -0.02062863799, 0.1124646575, -0.2282844463, 0.1918828258, -0.07950880542, 0.0962047407, 0.07837227932, 0.11023934, 0.1195713233, 0.1196867214)
	return a, p, n, ratio
}

// GELU is x times the normal distribution at x, as the kernels compute it.
func GELU(x float32) float32 {
	_, p, n, ratio := normal(x)
	if x < 0 {
		return scale(p*float32(ratio*max(-15, x)), n)
	}
	return x * (1 - scale(p*ratio, n))
}

// GELUGrad is the derivative of GELU as the kernels compute it.
func GELUGrad(x float32) float32 {
	a, p, n, ratio := normal(x)
	w := scale(p*FMA(-a, float32(1/math.Sqrt(2*math.Pi)), ratio), n)
	if x < 0 {
		return w
	}
	return 1 - w
}
