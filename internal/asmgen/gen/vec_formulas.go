package gen

import "math"

// The functions of one float32. Polynomials of exp, log and tanh are those of Cephes (S. L. Moshier, expf.c, tanhf.c); others are fitted here, for the least
// relative error.

// power is e**x as p * 2**n with p about 1, for x within -104 and 89: x = n ln 2 + r with |r| <= ln(2)/2. low, if it is not argument, is added to r.
func (f *formula) power(x, low value) (p, n value) {
	n = f.round(f.mul(x, f.num(math.Log2E)))
	r := f.fnma(n, f.num(0.693359375), x)
	r = f.fnma(n, f.num(-2.12194440e-4), r)
	if low != argument {
		r = f.add(r, low)
	}
	p = f.horner(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	return f.add(f.fma(p, f.mul(r, r), r), f.num(1)), n // e**r = 1 + (r + r*r*p)
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

// siluGrad is s + x s (1-s), with s = sigmoid(x) and z = e**-|x|: (1 + |x| z / (1+z)) / (1+z), or z (1 - |x| / (1+z)) / (1+z) below 0.
func siluGrad(f *formula, x value) value {
	a := f.atMost(f.abs(x), f.num(120))
	p, n := f.power(f.mul(a, f.num(-1)), argument)
	z := f.scale(p, n)
	inv := f.div(f.num(1), f.add(z, f.num(1)))
	negative := f.less(x, f.num(0))
	below := f.scale(f.mul(p, f.fnma(a, inv, f.num(1))), n)
	return f.mul(f.choose(negative, below, f.fma(f.mul(a, z), inv, f.num(1))), inv)
}

// normal is what GELU needs: a = |x|, at most 15, e**(-a*a/2) as p * 2**n, and ratio, which times that is the normal distribution at -a: t times a
// polynomial of t = 1/(1 + 0.3 a).
func (f *formula) normal(x value) (a, p, n, ratio value) {
	a = f.atMost(f.abs(x), f.num(15))
	q := f.mul(a, a)
	half := f.num(0.5)
	p, n = f.power(f.mul(q, f.num(-0.5)), f.mul(f.fnma(a, a, q), half)) // with what rounding took from q
	t := f.div(f.num(1), f.fma(a, f.num(0.3), f.num(1)))
	ratio = f.mul(t, f.horner(t, millsRatio...))
	return a, p, n, ratio
}

// gelu is x Φ(x), with Φ(-a) = e**(-a*a/2) ratio(a): below 0 the power of two is multiplied last.
func gelu(f *formula, x value) value {
	_, p, n, ratio := f.normal(x)
	negative := f.less(x, f.num(0))
	w := f.scale(f.mul(p, f.choose(negative, f.mul(ratio, f.atLeast(x, f.num(-15))), ratio)), n)
	return f.choose(negative, w, f.mul(x, f.sub(f.num(1), w)))
}

// geluGrad is Φ(x) + x φ(x): e**(-a*a/2) (ratio(a) - a / sqrt(2π)) below 0, and 1 minus that from there on.
func geluGrad(f *formula, x value) value {
	a, p, n, ratio := f.normal(x)
	w := f.scale(f.mul(p, f.fnma(a, f.num(1/math.Sqrt(2*math.Pi)), ratio)), n)
	return f.choose(f.less(x, f.num(0)), w, f.sub(f.num(1), w))
}

// millsRatio is Φ(-a) e**(a*a/2) / t as a polynomial of t = 1/(1 + 0.3 a), for a from 0 to 15; fitted for the least relative error, 2**-26.
var millsRatio = []float64{
	-0.02062863799, 0.1124646575, -0.2282844463, 0.1918828258, -0.07950880542, 0.0962047407, 0.07837227932, 0.11023934, 0.1195713233, 0.1196867214,
}
