package gen

import (
	"math"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Sums are accumulated in float64, lane by lane: kernels store one sum for each lane of a float32 vector, in the lanes' order, and
// Go adds those up. So the result is as good as a float64 loop's, whatever the length.

// half is the lower half of a vector register: as many float32 values as one register holds float64 values.
func (g *gen) half(v Op) Op {
	if g.Lanes == 16 {
		return v.(reg.Vec).AsY()
	}
	return v.(reg.Vec).AsX()
}

// widen returns the lower and upper half of a float32 vector as float64 vectors. It may overwrite v.
func (g *gen) widen(v Op) (lo, hi Op) {
	lo, hi = g.vec(), g.vec()
	g.VCVTPS2PD(g.half(v), lo)
	up := g.vec()
	if g.Lanes == 16 {
		g.VEXTRACTF64X4(U8(1), v, g.half(up))
	} else {
		g.VEXTRACTF128(U8(1), v, g.half(up))
	}
	g.VCVTPS2PD(g.half(up), hi)
	return lo, hi
}

// doubles loads a float32 vector as two float64 vectors.
func (g *gen) doubles(m Mem, k mask) (lo, hi Op) {
	if k == nil {
		lo, hi = g.vec(), g.vec()
		g.VCVTPS2PD(m, lo)
		g.VCVTPS2PD(m.Offset(2*g.Lanes), hi)
		return lo, hi
	}
	v := g.vec()
	g.load(m, k, v)
	return g.widen(v)
}

// finish adds up pairs of accumulators until one pair is left, and stores it.
func (g *gen) finish(sum [][]reg.VecVirtual, acc reg.GPVirtual) {
	for n := len(sum); n > 1; n /= 2 {
		for i := range n / 2 {
			for h := range 2 {
				g.VADDPD(sum[i+n/2][h], sum[i][h], sum[i][h])
			}
		}
	}
	for h := range 2 {
		g.VMOVUPS(sum[0][h], Mem{Base: acc, Disp: 4 * g.Lanes * h})
	}
}

const accumulates = " acc is one float64 for each float32 lane of a vector; their sum is the result."

// sum builds the sum of n values.
func (g *gen) sum() {
	g.function("sumF32", "func(acc *float64, a *float32, n int)", "adds up n values."+accumulates)
	acc, a, n := g.arg("acc"), g.arg("a"), g.arg("n")
	sum := g.accumulators(2, 2)
	g.sweep(n, 2, func(i int, k mask) {
		lo, hi := g.doubles(Mem{Base: a, Disp: 4 * g.Lanes * i}, k)
		g.VADDPD(lo, sum[i][0], sum[i][0])
		g.VADDPD(hi, sum[i][1], sum[i][1])
	}, func(vectors int) { g.move(vectors, a) })
	g.finish(sum, acc)
	g.ret()
}

// dot builds the sum of n products.
func (g *gen) dot() {
	g.function("dotF32", "func(acc *float64, a, b *float32, n int)", "adds up n products, which are exact."+accumulates)
	acc, a, b, n := g.arg("acc"), g.arg("a"), g.arg("b"), g.arg("n")
	sum := g.accumulators(2, 2)
	g.sweep(n, 2, func(i int, k mask) {
		alo, ahi := g.doubles(Mem{Base: a, Disp: 4 * g.Lanes * i}, k)
		blo, bhi := g.doubles(Mem{Base: b, Disp: 4 * g.Lanes * i}, k)
		g.VFMADD231PD(alo, blo, sum[i][0])
		g.VFMADD231PD(ahi, bhi, sum[i][1])
	}, func(vectors int) { g.move(vectors, a, b) })
	g.finish(sum, acc)
	g.ret()
}

// expSum builds dst[i] = e**(a[i]-m) and the sum of those.
func (g *gen) expSum() {
	g.function("expSumF32", "func(dst *float32, acc *float64, a *float32, m float32, n int)",
		"stores e**(a-m) and adds it up. dst may be a."+accumulates)
	dst, acc, a, n := g.arg("dst"), g.arg("acc"), g.arg("a"), g.arg("n")
	m := g.argument("m")
	exp := g.lower((*formula).exp)
	sum := g.accumulators(1, 2)
	g.sweep(n, 1, func(i int, k mask) {
		x := g.vec()
		g.load(Mem{Base: a}, k, x)
		g.VSUBPS(m, x, x)
		e := exp(x)
		g.store(e, k, Mem{Base: dst})
		if k != nil { // what lies past the end must add nothing
			e = g.only(k, e)
		}
		lo, hi := g.widen(e)
		g.VADDPD(lo, sum[0][0], sum[0][0])
		g.VADDPD(hi, sum[0][1], sum[0][1])
	}, func(vectors int) { g.move(vectors, dst, a) })
	g.finish(sum, acc)
	g.ret()
}

// only clears the lanes that the mask does not select.
func (g *gen) only(k mask, v Op) Op {
	r := g.vec()
	if g.Masks {
		g.VMOVAPS_Z(v, k, r)
	} else {
		g.VANDPS(k, v, r)
	}
	return r
}

// extreme builds the minimum of n values, or the maximum as the negated minimum of the negated values.
func (g *gen) extreme(name string, negate bool) {
	g.function("reduce"+map[bool]string{false: "Min", true: "Max"}[negate]+"F32", "func(acc, a *float32, n int)",
		"takes the "+name+"imum of n values; NaN if one is NaN, the infinity that loses to all if there is none, and -0 is below 0. acc is one float32 for each lane; their "+name+"imum is the result.")
	acc, a, n := g.arg("acc"), g.arg("a"), g.arg("n")
	const unroll = 4
	best := make([]Op, unroll)
	for i := range best {
		best[i] = g.inReg(g.f32(math.Inf(1)))
	}
	sign := g.inReg(g.constant(1 << 31))
	g.sweep(n, unroll, func(i int, k mask) {
		x := g.vec()
		g.load(Mem{Base: a, Disp: 4 * g.Lanes * i}, k, x)
		if negate {
			g.VXORPS(sign, x, x)
		}
		if k != nil {
			x = g.blend(k, g.inReg(g.f32(math.Inf(1))), x).(reg.VecVirtual)
		}
		g.minimum(x, best[i])
	}, func(vectors int) { g.move(vectors, a) })
	for n := unroll; n > 1; n /= 2 {
		for i := range n / 2 {
			g.minimum(best[i+n/2], best[i])
		}
	}
	if negate {
		g.VXORPS(sign, best[0], best[0])
	}
	g.VMOVUPS(best[0], Mem{Base: acc})
	g.ret()
}
