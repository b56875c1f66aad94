package gen

import "math"

// The functions of one float32. Polynomials of exp, log and tanh are those of Cephes (S. L. Moshier, expf.c, logf.c, tanhf.c); others are fitted for the least
// relative error.

// power is e**x as p * 2**n with p about 1, for x within -104 and 89: x = n ln 2 + r with |r| <= ln(2)/2. low, if it is not argument, is added to r.
func (f *formula) power(x, low value) (p, n value) {
	p, n = f.powerLess1(x, low)
	return f.add(p, f.num(1)), n
}

// powerLess1 is e**r - 1 = r + r*r*P(r) for power.
func (f *formula) powerLess1(x, low value) (p, n value) {
	n = f.round(f.mul(x, f.num(math.Log2E)))
	r := f.fnma(n, f.num(0.693359375), x)
	r = f.fnma(n, f.num(-2.12194440e-4), r)
	if low != argument {
		r = f.add(r, low)
	}
	p = f.horner(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	return f.fma(p, f.mul(r, r), r), n
}

// log is log(m * 2**e) = log(m) + e*ln 2 with m about 1.
func (f *formula) log(x value) value {
	small := f.less(x, f.num(0x1p-126)) // subnormals are scaled by 2**23, and the exponent pays for it at the end
	m, e := f.exponent(f.choose(small, f.mul(x, f.num(1<<23)), x))
	e = f.choose(small, f.sub(e, f.num(23)), e)
	r := f.logSum(f.sub(m, f.num(1)), e)
	// Infinity stays; zero and what is below or no number has results of its own.
	inf := f.num(math.Inf(1))
	r = f.choose(f.less(x, inf), r, x)
	return f.logEdge(x, f.num(0), r)
}

// logSum is log(1+r) + e*ln 2: log(1+r) = r - r*r/2 + r**3 * p.
func (f *formula) logSum(r, e value) value {
	p := f.horner(r, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	z := f.mul(r, r)
	p = f.mul(z, f.mul(r, p))
	p = f.fma(e, f.num(-2.12194440e-4), p) // e * (ln 2, less its leading bits)
	p = f.fnma(z, f.num(0.5), p)
	return f.fma(e, f.num(0.693359375), f.add(p, r))
}

// logEdge is y above the edge, -Inf at it, and NaN below.
func (f *formula) logEdge(x, edge, y value) value {
	y = f.choose(f.less(edge, x), y, f.num(math.Inf(-1)))
	return f.choose(f.less(x, edge), f.bits(0x7fc00000), f.choose(f.equal(x, x), y, x))
}

// log1p is log(1+x): what rounding takes from 1+x is given back behind the division by the power of two.
func log1p(f *formula, x value) value {
	one := f.num(1)
	u := f.add(x, one)
	m, e := f.exponent(u)
	lost := f.sub(x, f.sub(u, one))
	r := f.logSum(f.add(f.sub(m, one), f.scale(lost, f.mul(e, f.num(-1)))), e)
	r = f.choose(f.less(x, f.num(math.Inf(1))), r, x)
	return f.logEdge(x, f.num(-1), r)
}

// softplus is max(x, 0) + log(1+z) with z = e**-|x|; the logarithm is 2 s + s**3 P(s*s) with s = z/(2+z).
func softplus(f *formula, x value) value {
	z := f.exp(f.or(x, f.bits(1<<31)))
	s := f.div(z, f.add(z, f.num(2)))
	q := f.mul(s, s)
	p := f.horner(q, 0.2428956227, 0.2143073975, 0.2861659682, 0.3999888835, 0.666666755)
	p = f.fma(f.mul(q, s), p, f.add(s, s))
	return f.add(f.atLeast(x, f.num(0)), p)
}

// expm1 is 2 (2**(n-1) (e**r - 1) + 2**(n-1) - 1/2), which loses nothing for n = 0 and does not overflow before the result does.
func expm1(f *formula, x value) value {
	c := f.atMost(f.atLeast(x, f.num(-104)), f.num(89))
	q, n := f.powerLess1(c, argument)
	half := f.num(0.5)
	s := f.scale(half, n)
	t := f.fma(s, q, f.sub(s, half))
	return f.choose(f.less(f.abs(x), f.num(0x1p-30)), x, f.add(t, t))
}

// erf is x P(x*x) near 0, and 1 - erfc(|x|) from there on.
func erf(f *formula, x value) value {
	z := f.mul(x, x)
	near := f.fma(x, f.horner(z, 9.759708137e-05, -0.0008398805257, 0.005219048041, -0.02686532853, 0.1128378478, -0.3761263869, 0.128379167), x)
	a, p, n, ratio := f.normal(x, 6, math.Sqrt2)
	w := f.scale(f.mul(p, f.add(ratio, ratio)), n)
	return f.choose(f.less(a, f.num(0.6)), near, f.copySign(f.sub(f.num(1), w), x))
}

// sin is that of x less a multiple n of π/2, or its cosine where n is odd, with the sign that n asks for. π/2 is the sum of three numbers, so that up
// to 2**16 its multiples lose nothing.
func sin(f *formula, x value) value { return f.wave(x, 0) }

// cos is sin, a quarter of a turn later.
func cos(f *formula, x value) value { return f.wave(x, 1) }

func (f *formula) wave(x value, quarters float64) value {
	n := f.round(f.mul(x, f.num(2/math.Pi)))
	r := f.fnma(n, f.num(1.5707963705062866), x)
	r = f.fnma(n, f.num(-4.371138828673793e-08), r)
	r = f.fnma(n, f.num(-1.7151245100058819e-15), r)
	z := f.mul(r, r)
	s := f.fma(f.mul(z, r), f.horner(z, 2.717568191e-06, -0.0001983925703, 0.008333329145, -0.1666666664), r)
	c := f.fma(f.mul(z, z), f.horner(z, -2.719866177e-07, 2.479937314e-05, -0.001388888317, 0.04166666662), f.fnma(z, f.num(0.5), f.num(1)))
	half := f.num(0.5)
	n = f.add(n, f.num(quarters))
	turn := f.floor(f.mul(n, half)) // of half turns
	odd := f.less(half, f.fnma(turn, f.num(2), n))
	back := f.fnma(f.floor(f.mul(turn, half)), f.num(2), turn) // 1 if the sign changes
	return f.mul(f.choose(odd, c, s), f.fnma(back, f.num(2), f.num(1)))
}

// sign is 1 above 0, -1 below, else x: a zero or NaN.
func sign(f *formula, x value) value {
	zero := f.num(0)
	return f.choose(f.less(zero, x), f.num(1), f.choose(f.less(x, zero), f.num(-1), x))
}

// exp is e**x. Inf, NaN and subnormal results are exact in kind: the scaling rounds once.
func (f *formula) exp(x value) value {
	x = f.atMost(f.atLeast(x, f.num(-104)), f.num(89)) // beyond these the result is 0 and +Inf
	return f.scale(f.power(x, argument))
}

// tanh is a polynomial below 0.625, and 1 - 2/(e**2x + 1) from there on.
func tanh(f *formula, x value) value {
	a, z := f.abs(x), f.mul(x, x)
	p := f.horner(z, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
	p = f.fma(f.mul(z, p), x, x)
	q := f.div(f.num(-2), f.add(f.exp(f.add(a, a)), f.num(1)))
	return f.choose(f.less(a, f.num(0.625)), p, f.copySign(f.add(q, f.num(1)), x))
}

// sigmoid is z/(1+z) or 1/(1+z) with z = e**-|x|, which never overflows.
func sigmoid(f *formula, x value) value {
	z := f.exp(f.or(x, f.bits(1<<31)))
	return f.div(f.choose(f.less(x, f.num(0)), z, f.num(1)), f.add(z, f.num(1)))
}

// silu is x * sigmoid(x). Below 0 the power of two is multiplied last: the gate alone may be subnormal where the product is not.
func silu(f *formula, x value) value {
	low := f.atLeast(x, f.num(-120))
	p, n := f.power(f.atLeast(f.or(x, f.bits(1<<31)), f.num(-120)), argument)
	negative := f.less(x, f.num(0))
	z := f.scale(p, n)
	top := f.choose(negative, f.scale(f.mul(p, low), n), x)
	return f.div(top, f.add(z, f.num(1)))
}

// siluGrad is s + x s (1-s), with s = sigmoid(x).
func siluGrad(f *formula, x value) value {
	a := f.atMost(f.abs(x), f.num(120))
	p, n := f.power(f.mul(a, f.num(-1)), argument)
	return f.gateSlope(x, a, p, n)
}

// normal is about the normal distribution Φ at -a k, for a = |x|, at most limit: e**(-(a k)**2/2) as p * 2**n, and ratio, which times that is Φ: t times a
// polynomial of t = 1/(1 + 0.3 a k). k is 1 or the root of 2.
func (f *formula) normal(x value, limit, k float64) (a, p, n, ratio value) {
	a = f.atMost(f.abs(x), f.num(limit))
	q := f.mul(a, a)
	half := f.num(k * k / 2)
	p, n = f.power(f.mul(q, f.num(-k*k/2)), f.mul(f.fnma(a, a, q), half)) // with what rounding took from q
	t := f.div(f.num(1), f.fma(a, f.num(0.3*k), f.num(1)))
	ratio = f.mul(t, f.horner(t, millsRatio...))
	return a, p, n, ratio
}

// gelu is x Φ(x), with Φ(-a) = e**(-a*a/2) ratio(a): below 0 the power of two is multiplied last.
func gelu(f *formula, x value) value {
	_, p, n, ratio := f.normal(x, 15, 1)
	negative := f.less(x, f.num(0))
	w := f.scale(f.mul(p, f.choose(negative, f.mul(ratio, f.atLeast(x, f.num(-15))), ratio)), n)
	return f.choose(negative, w, f.mul(x, f.sub(f.num(1), w)))
}

// geluGrad is Φ(x) + x φ(x): e**(-a*a/2) (ratio(a) - a / sqrt(2π)) below 0, and 1 minus that from there on.
func geluGrad(f *formula, x value) value {
	a, p, n, ratio := f.normal(x, 15, 1)
	w := f.scale(f.mul(p, f.fnma(a, f.num(1/math.Sqrt(2*math.Pi)), ratio)), n)
	return f.choose(f.less(x, f.num(0)), w, f.sub(f.num(1), w))
}

// geluArgument is a = |x|, at most 12, and v = a (c1 + c3 a*a), the argument of GELUTanh's sigmoid, with what rounding took from it, and the derivative of v.
func (f *formula) geluArgument(x value) (a, v, low, slope value) {
	const c1, c3 = 2 * 0.79788456080286535588, 2 * 0.79788456080286535588 * 0.044715
	rest := func(c float64) value { return f.num(c - float64(float32(c))) }
	a = f.atMost(f.abs(x), f.num(12))
	q := f.mul(a, a)
	qLess := f.fnma(a, a, q) // a*a = q - qLess
	m := f.mul(q, f.num(c3))
	mLess := f.fnma(q, f.num(c3), m)
	u := f.add(m, f.num(c1))
	part := f.sub(u, m)
	lost := f.add(f.sub(m, f.sub(u, part)), f.sub(f.num(c1), part)) // of the sum, exactly
	lost = f.sub(lost, mLess)
	lost = f.fnma(qLess, f.num(c3), lost)
	lost = f.add(f.fma(q, rest(c3), lost), rest(c1))
	v = f.mul(a, u)
	low = f.sub(f.mul(a, lost), f.fnma(a, u, v))
	return a, v, low, f.fma(q, f.num(3*c3), f.num(c1))
}

// geluTanh is x sigmoid(v), as silu.
func geluTanh(f *formula, x value) value {
	_, v, low, _ := f.geluArgument(x)
	minus := f.num(-1)
	p, n := f.power(f.mul(v, minus), f.mul(low, minus))
	negative := f.less(x, f.num(0))
	top := f.choose(negative, f.scale(f.mul(p, f.atLeast(x, f.num(-12))), n), x)
	return f.div(top, f.add(f.scale(p, n), f.num(1)))
}

// geluTanhGrad is s + x v' s (1-s), as siluGrad.
func geluTanhGrad(f *formula, x value) value {
	a, v, low, slope := f.geluArgument(x)
	minus := f.num(-1)
	p, n := f.power(f.mul(v, minus), f.mul(low, minus))
	return f.gateSlope(x, f.mul(a, slope), p, n)
}

// gateSlope is s + x s' for s = sigmoid(v), where a is |x| v' and e**-|v| is p * 2**n = z: (1 + a z / (1+z)) / (1+z), or z (1 - a / (1+z)) / (1+z) below 0.
func (f *formula) gateSlope(x, a, p, n value) value {
	z := f.scale(p, n)
	inv := f.div(f.num(1), f.add(z, f.num(1)))
	below := f.scale(f.mul(p, f.fnma(a, inv, f.num(1))), n)
	return f.mul(f.choose(f.less(x, f.num(0)), below, f.fma(f.mul(a, z), inv, f.num(1))), inv)
}

// millsRatio is Φ(-a) e**(a*a/2) / t as a polynomial of t = 1/(1 + 0.3 a), for a from 0 to 15; fitted for the least relative error, 2**-26.
var millsRatio = []float64{
	-0.02062863799, 0.1124646575, -0.2282844463, 0.1918828258, -0.07950880542, 0.0962047407, 0.07837227932, 0.11023934, 0.1195713233, 0.1196867214,
}
