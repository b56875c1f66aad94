package gen

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// norm builds the passes of batch-norm over n pixels of one block of channels.
// Sums are float64, lane by lane, so that they are right at any number of pixels.
// Kernels whose name ends in ReLU take the gradient of a fused ReLU: dy where y is
// positive, NaN where it is NaN, else 0.
func (g *gen) norm() {
	g.function("sumsF32", "func(n int, x *float32, sums *float64)", "stores the sum over n pixels of each of 16 channels.")
	n, x := g.arg("n"), g.arg("x")
	sum := g.accumulators(2, g.perBlock())
	g.pixels(n, []reg.GPVirtual{x}, func(j, disp int) { g.addDoubles(sum, j, Mem{Base: x, Disp: disp}) })
	g.storeDoubles(g.arg("sums"), 0, sum)
	g.ret()

	g.function("squaresF32", "func(n int, x, mean *float32, sums *float64)", "stores the sum over n pixels of the square of x-mean.")
	n, x = g.arg("n"), g.arg("x")
	mean := g.channels("mean")
	sum = g.accumulators(2, g.perBlock())
	g.pixels(n, []reg.GPVirtual{x}, func(j, disp int) {
		v := g.vec()
		g.VMOVUPS(Mem{Base: x, Disp: disp}, v)
		g.VSUBPS(mean[j], v, v)
		lo, hi := g.widen(v)
		g.VFMADD231PD(lo, lo, sum[0][j])
		g.VFMADD231PD(hi, hi, sum[1][j])
	})
	g.storeDoubles(g.arg("sums"), 0, sum)
	g.ret()

	g.function("normalizeF32", "func(n int, x, y, mean, scale, bias *float32, floor float32)", "stores (x-mean)*scale+bias of n pixels, at least floor.")
	n, x, y := g.arg("n"), g.arg("x"), g.arg("y")
	mean, scale, bias := g.channels("mean"), g.channels("scale"), g.channels("bias")
	floor := g.vec()
	g.VBROADCASTSS(g.param("floor"), floor)
	g.pixels(n, []reg.GPVirtual{x, y}, func(j, disp int) {
		v := g.vec()
		g.VMOVUPS(Mem{Base: x, Disp: disp}, v)
		g.VSUBPS(mean[j], v, v)
		g.VFMADD213PS(bias[j], scale[j], v)
		g.VMAXPS(v, floor, v)
		g.VMOVUPS(v, Mem{Base: y, Disp: disp})
	})
	g.ret()

	for _, relu := range []bool{false, true} {
		g.normGradient(relu)
	}

	g.function("reluGradF32", "func(n int, dy, y, dx *float32)", "stores dy where y is positive, NaN where it is NaN, else 0, of n pixels.")
	n, dy, y, dx := g.arg("n"), g.arg("dy"), g.arg("y"), g.arg("dx")
	zero := g.vec()
	g.zero(zero)
	g.pixels(n, []reg.GPVirtual{dy, y, dx}, func(j, disp int) {
		g.VMOVUPS(g.gradient(Mem{Base: dy, Disp: disp}, Mem{Base: y, Disp: disp}, zero), Mem{Base: dx, Disp: disp})
	})
	g.ret()
}

// normGradient builds the two passes of batch-norm's gradient.
func (g *gen) normGradient(relu bool) {
	suffix, y, args := "F32", reg.GPVirtual(nil), ""
	if relu {
		suffix, args = "ReLUF32", "y, "
	}
	var zero Op
	start := func() (n, dy reg.GPVirtual, moving []reg.GPVirtual) {
		n, dy = g.arg("n"), g.arg("dy")
		moving = []reg.GPVirtual{dy}
		if relu {
			y, zero = g.arg("y"), g.vec()
			g.zero(zero)
			moving = append(moving, y)
		}
		return n, dy, moving
	}
	d := func(dy reg.GPVirtual, disp int) Op {
		if relu {
			return g.gradient(Mem{Base: dy, Disp: disp}, Mem{Base: y, Disp: disp}, zero)
		}
		return g.inReg(Mem{Base: dy, Disp: disp})
	}

	g.function("normSums"+suffix, "func(n int, dy, "+args+"x, mean *float32, sums *float64)", "stores in sums[0:16] the sum over n pixels of the gradient dy, in sums[16:32] that of dy*(x-mean).")
	n, dy, moving := start()
	x, mean := g.arg("x"), g.arg("mean")
	sum, dot := g.accumulators(2, g.perBlock()), g.accumulators(2, g.perBlock())
	g.pixels(n, append(moving, x), func(j, disp int) {
		v := g.vec()
		g.VMOVUPS(Mem{Base: x, Disp: disp}, v)
		g.VSUBPS(Mem{Base: mean, Disp: 4 * j * g.Lanes}, v, v)
		a, b := g.widen(v)
		lo, hi := g.widen(d(dy, disp))
		g.VADDPD(lo, sum[0][j], sum[0][j])
		g.VADDPD(hi, sum[1][j], sum[1][j])
		g.VFMADD231PD(lo, a, dot[0][j])
		g.VFMADD231PD(hi, b, dot[1][j])
	})
	sums := g.arg("sums")
	g.storeDoubles(sums, 0, sum)
	g.storeDoubles(sums, 8*Block, dot)
	g.ret()

	g.function("normGrad"+suffix, "func(n int, dy, "+args+"x, dx, mean, p, q, r *float32)", "stores p*dy + q*(x-mean) + r of n pixels.")
	n, dy, moving = start()
	x, dx := g.arg("x"), g.arg("dx")
	m, p, q, r := g.channels("mean"), g.channels("p"), g.channels("q"), g.channels("r")
	g.pixels(n, append(moving, x, dx), func(j, disp int) {
		v := g.vec()
		g.VMOVUPS(Mem{Base: x, Disp: disp}, v)
		g.VSUBPS(m[j], v, v)
		g.VFMADD213PS(r[j], q[j], v)
		g.VFMADD231PS(p[j], d(dy, disp), v)
		g.VMOVUPS(v, Mem{Base: dx, Disp: disp})
	})
	g.ret()
}

// pixels loops over n pixels: body does vector j of one, disp bytes from the pointers, which then move on.
func (g *gen) pixels(n reg.GPVirtual, moving []reg.GPVirtual, body func(j, disp int)) {
	g.pcalign(32)
	g.Label("loop")
	for j := range g.perBlock() {
		body(j, 4*j*g.Lanes)
	}
	for _, p := range moving {
		g.ADDQ(U8(4*Block), p)
	}
	g.DECQ(n)
	g.JNZ(LabelRef("loop"))
}

// channels loads an argument's 16 values.
func (g *gen) channels(arg string) []Op {
	p, v := g.arg(arg), g.vecs()
	for j := range v {
		g.VMOVUPS(Mem{Base: p, Disp: 4 * j * g.Lanes}, v[j])
	}
	return v
}

// gradient loads dy where y is positive, NaN where y is NaN, else 0.
func (g *gen) gradient(dy, y Mem, zero Op) Op {
	v := g.inReg(y)
	d := g.only(g.compare(greater, v, zero), g.inReg(dy))
	g.assign(g.compare(unordered, v, v), v, d)
	return d
}

// addDoubles adds vector j of float32 values to the accumulators of its lower and upper half.
func (g *gen) addDoubles(sum [][]reg.VecVirtual, j int, m Mem) {
	lo, hi := g.doubles(m, nil)
	g.VADDPD(lo, sum[0][j], sum[0][j])
	g.VADDPD(hi, sum[1][j], sum[1][j])
}

// storeDoubles stores accumulators in the order of the channels.
func (g *gen) storeDoubles(p reg.GPVirtual, disp int, sum [][]reg.VecVirtual) {
	for j := range sum[0] {
		for h := range 2 {
			g.VMOVUPS(sum[h][j], Mem{Base: p, Disp: disp + 4*g.Lanes*(2*j+h)})
		}
	}
}
