package gen

import (
	"math"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The polynomials are those of Cephes (S. L. Moshier, expf.c, logf.c, tanhf.c), evaluated with FMAs.

// horner evaluates the polynomial with these coefficients, the highest power first, at x.
func (g *gen) horner(x Op, coefficients ...float64) reg.VecVirtual {
	p := g.vec()
	g.VMOVUPS(g.f32(coefficients[0]), p)
	for _, c := range coefficients[1:] {
		g.VFMADD213PS(g.f32(c), x, p) // p = p*x + c
	}
	return p
}

// exp is e**x = 2**n * e**r with n = round(x/ln 2) and |r| <= ln(2)/2. Inf, NaN and subnormal results are exact in kind: the scaling
// rounds once.
func (g *gen) exp() func(x Op) Op {
	lo, hi := g.inReg(g.f32(-104)), g.inReg(g.f32(89)) // beyond these the result is 0 and +Inf
	return func(x Op) Op {
		n, r := g.vec(), g.vec()
		// The operand x comes first: MAX and MIN return it when it is NaN.
		g.VMAXPS(x, lo, x)
		g.VMINPS(x, hi, x)
		g.VMULPS(g.f32(math.Log2E), x, n)
		if g.Masks {
			g.VRNDSCALEPS(U8(8), n, n)
		} else {
			g.VROUNDPS(U8(8), n, n)
		}
		g.VMOVAPS(x, r)
		g.VFNMADD231PS(g.f32(0.693359375), n, r)
		g.VFNMADD231PS(g.f32(-2.12194440e-4), n, r)
		p := g.horner(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
		// e**r = 1 + (r + r*r*p)
		r2 := g.vec()
		g.VMULPS(r, r, r2)
		g.VFMADD213PS(r, r2, p)
		g.VADDPS(g.f32(1), p, p)
		if g.Masks {
			g.VSCALEFPS(n, p, p)
			return p
		}
		// Two steps, since 2**n may be subnormal or infinite when the result is not.
		i, half := g.vec(), g.vec()
		g.VCVTPS2DQ(n, i)
		g.VPSRAD(U8(1), i, half)
		g.VPSUBD(half, i, i)
		for _, e := range []Op{half, i} {
			g.VPADDD(g.constant(127), e, e)
			g.VPSLLD(U8(23), e, e)
			g.VMULPS(e, p, p)
		}
		return p
	}
}

// log is log(m * 2**e) = log(m) + e*ln 2 with sqrt(1/2) <= m < sqrt(2).
func (g *gen) log() func(x Op) Op {
	const root = 0x3f3504f3 // sqrt(1/2)
	return func(x Op) Op {
		y, e, f := g.vec(), g.vec(), g.vec()
		// Subnormals are scaled by 2**23, and the exponent pays for it at the end.
		small := g.compare(less, x, g.inReg(g.f32(0x1p-126)))
		g.VMULPS(g.f32(1<<23), x, y)
		y = g.blend(small, x, y).(reg.VecVirtual)
		g.VPSUBD(g.constant(root), y, e)
		g.VPSRAD(U8(23), e, e)
		g.VPSLLD(U8(23), e, f)
		g.VPSUBD(f, y, f) // m
		g.VSUBPS(g.f32(1), f, f)
		g.VCVTDQ2PS(e, e)
		less23 := g.vec()
		g.VSUBPS(g.f32(23), e, less23)
		e = g.blend(small, e, less23).(reg.VecVirtual)
		// log(1+f) = f - f*f/2 + f**3 * p
		p := g.horner(f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
			-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
		z := g.vec()
		g.VMULPS(f, f, z)
		g.VMULPS(f, p, p)
		g.VMULPS(z, p, p)
		g.VFMADD231PS(g.f32(-2.12194440e-4), e, p) // e * (ln 2, less its leading bits)
		g.VFNMADD231PS(g.f32(0.5), z, p)
		g.VADDPS(f, p, p)
		g.VFMADD231PS(g.f32(0.693359375), e, p)
		// Infinity stays; zero and what is below or no number has results of its own.
		inf := g.inReg(g.f32(math.Inf(1)))
		r := g.blend(g.compare(equal, x, inf), p, inf)
		zero := g.vec()
		g.zero(zero)
		r = g.blend(g.compare(equal, x, zero), r, g.inReg(g.f32(math.Inf(-1))))
		return g.blend(g.compare(notAbove, x, zero), r, g.inReg(g.constant(0x7fc00000)))
	}
}

// tanh is a polynomial below 0.625, and 1 - 2/(e**2x + 1) from there on.
func (g *gen) tanh() func(x Op) Op {
	exp := g.exp()
	return func(x Op) Op {
		a, z := g.vec(), g.vec()
		g.VANDPS(g.constant(1<<31-1), x, a)
		g.VMULPS(x, x, z)
		p := g.horner(z, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
		g.VMULPS(z, p, p)
		g.VFMADD213PS(x, x, p) // p*x + x
		small := g.compare(less, a, g.inReg(g.f32(0.625)))
		g.VADDPS(a, a, a)
		d, q := exp(a), g.vec()
		g.VADDPS(g.f32(1), d, d)
		g.VMOVUPS(g.f32(-2), q)
		g.VDIVPS(d, q, q)
		g.VADDPS(g.f32(1), q, q)
		s := g.vec()
		g.VANDPS(g.constant(1<<31), x, s)
		g.VORPS(s, q, q)
		return g.blend(small, q, p)
	}
}

// sigmoid is z/(1+z) or 1/(1+z) with z = e**-|x|, which never overflows.
func (g *gen) sigmoid() func(x Op) Op {
	exp := g.exp()
	return func(x Op) Op {
		z, zero, d := g.vec(), g.vec(), g.vec()
		g.VORPS(g.constant(1<<31), x, z)
		g.zero(zero)
		negative := g.compare(less, x, zero)
		e := exp(z)
		one := g.inReg(g.f32(1))
		g.VADDPS(one, e, d)
		r := g.blend(negative, one, e)
		g.VDIVPS(d, r, r)
		return r
	}
}
