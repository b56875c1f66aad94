package exact

import "math"

// Exp is e**x as the kernels compute it.
func Exp(x float32) float32 {
	if x != x {
		return x
	}
	x = max(-104, min(89, x))
	n := float32(math.RoundToEven(float64(float32(x * float32(math.Log2E)))))
	r := FMA(-0.693359375, n, x)
	r = FMA(2.12194440e-4, n, r)
	p := horner(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	p = FMA(p, float32(r*r), r) + 1
	return float32(math.Ldexp(float64(p), int(n)))
}

// horner evaluates a polynomial, the highest power first.
func horner(x float32, coefficients ...float32) float32 {
	p := coefficients[0]
	for _, c := range coefficients[1:] {
		p = FMA(p, x, c)
	}
	return p
}

// Log is the natural logarithm as the kernels compute it.
func Log(x float32) float32 {
	switch {
	case !(x >= 0):
		return float32(math.NaN())
	case x == 0:
		return float32(math.Inf(-1))
	case math.IsInf(float64(x), 1):
		return x
	}
	y, shift := x, float32(0)
	if x < 0x1p-126 {
		y, shift = x*(1<<23), 23
	}
	m, e := exponent(y)
	return logSum(m-1, e-shift)
}

// exponent is the power of two by which x is divided to lie between sqrt(1/2) and sqrt(2), and what x then is.
func exponent(x float32) (mantissa, e float32) {
	i := int32(math.Float32bits(x)-0x3f3504f3) >> 23
	return math.Float32frombits(math.Float32bits(x) - uint32(i)<<23), float32(i)
}

// logSum is log(1+f) + e*ln 2.
func logSum(f, e float32) float32 {
	p := horner(f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	z := f * f
	p = float32(z * float32(f*p))
	p = FMA(-2.12194440e-4, e, p)
	p = FMA(-0.5, z, p)
	p += f
	return FMA(0.693359375, e, p)
}

// Log1p is log(1+x) as the kernels compute it.
func Log1p(x float32) float32 {
	switch {
	case !(x >= -1):
		return float32(math.NaN())
	case x == -1:
		return float32(math.Inf(-1))
	case math.IsInf(float64(x), 1):
		return x
	}
	u := x + 1
	m, e := exponent(u)
	lost := x - (u - 1)
	return logSum((m-1)+scale(lost, -int(e)), e)
}

// Softplus is log(1+e**x) as the kernels compute it.
func Softplus(x float32) float32 {
	z := Exp(math.Float32frombits(math.Float32bits(x) | 1<<31))
	s := z / (z + 2)
	q := s * s
	p := horner(q, 0.2428956227, 0.2143073975, 0.2861659682, 0.3999888835, 0.666666755)
	return max(x, 0) + FMA(q*s, p, s+s)
}

// Expm1 is e**x - 1 as the kernels compute it.
func Expm1(x float32) float32 {
	if abs(x) < 0x1p-30 {
		return x
	}
	q, n := powerLess1(max(-104, min(89, x)), 0)
	s := scale(0.5, n)
	t := FMA(s, q, s-0.5)
	return t + t
}

// Sin and Cos are what the kernels compute, for x of at most 2**16.
func Sin(x float32) float32 { return wave(x, 0) }

// Cos is a sine, a quarter of a turn later.
func Cos(x float32) float32 { return wave(x, 1) }

func wave(x, quarters float32) float32 {
	if x != x || math.IsInf(float64(x), 0) {
		return float32(math.NaN())
	}
	n := float32(math.RoundToEven(float64(float32(x * float32(2/math.Pi)))))
	r := FMA(-n, 1.5707963705062866, x)
	r = FMA(-n, -4.371138828673793e-08, r)
	r = FMA(-n, -1.7151245100058819e-15, r)
	z := r * r
	n += quarters
	turn := float32(math.Floor(float64(n * 0.5)))
	y := FMA(z*r, horner(z, 2.717568191e-06, -0.0001983925703, 0.008333329145, -0.1666666664), r)
	if FMA(-turn, 2, n) > 0.5 {
		y = FMA(z*z, horner(z, -2.719866177e-07, 2.479937314e-05, -0.001388888317, 0.04166666662), FMA(-z, 0.5, 1))
	}
	back := FMA(-float32(math.Floor(float64(turn*0.5))), 2, turn)
	return y * FMA(-back, 2, 1)
}

// Tanh is the hyperbolic tangent as the kernels compute it.
func Tanh(x float32) float32 {
	a := math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	if a < 0.625 {
		z := float32(x * x)
		p := z * horner(z, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
		return FMA(p, x, x)
	}
	return float32(math.Copysign(float64(1+float32(-2/(Exp(a+a)+1))), float64(x)))
}

// Sigmoid is 1/(1+e**-x) as the kernels compute it.
func Sigmoid(x float32) float32 {
	z := Exp(math.Float32frombits(math.Float32bits(x) | 1<<31))
	if x < 0 {
		return z / (1 + z)
	}
	return 1 / (1 + z)
}

// Sum has the partial sums that the kernel leaves, one for each lane: whole pairs of vectors are added to two sums in turn, the rest to the
// first.
func Sum(x []float32, lanes int) []float64 {
	return lanewise(lanes, len(x), func(i int, s float64) float64 { return s + float64(x[i]) })
}

// Dot is the same for products.
func Dot(x, y []float32, lanes int) []float64 {
	return lanewise(lanes, len(x), func(i int, s float64) float64 { return math.FMA(float64(x[i]), float64(y[i]), s) })
}

func lanewise(lanes, n int, add func(i int, s float64) float64) []float64 {
	var s [2][]float64
	s[0], s[1] = make([]float64, lanes), make([]float64, lanes)
	for i := range n {
		k := 0
		if i < n-n%(2*lanes) {
			k = i / lanes % 2
		}
		s[k][i%lanes] = add(i, s[k][i%lanes])
	}
	for j, v := range s[1] {
		s[0][j] += v
	}
	return s[0]
}

// ExpSum stores e**(x-m) and has the partial sums, one for each lane.
func ExpSum(dst, x []float32, m float32, lanes int) []float64 {
	s := make([]float64, lanes)
	for i, v := range x {
		dst[i] = Exp(v - m)
		s[i%lanes] += float64(dst[i])
	}
	return s
}
