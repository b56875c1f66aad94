package gen

import (
	"math"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The polynomial is that of Cephes (S. L. Moshier, logf.c), evaluated with FMAs.

// horner evaluates the polynomial with these coefficients, the highest power first, at x.
func (g *gen) horner(x Op, coefficients ...float64) reg.VecVirtual {
	p := g.vec()
	g.VMOVUPS(g.f32(coefficients[0]), p)
	for _, c := range coefficients[1:] {
		g.VFMADD213PS(g.f32(c), x, p) // p = p*x + c
	}
	return p
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
