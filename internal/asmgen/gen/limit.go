package gen

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// limitKernels builds the loops that measure what the machine gives.
func (g *gen) limitKernels() {
	g.fmaLimit("fma", 0)
	g.fmaLimit("fmaLoad", 8)
	for _, stream := range []bool{false, true} {
		g.memoryLimit("triad", 2, stream)
		g.memoryLimit("map", 1, stream)
	}
}

// fmaLimit builds 12 independent chains of FMAs, beside as many loads as the
// matmul kernel of AVX2 needs. A busy neighbour on the same core slows down only the
// loop with loads.
func (g *gen) fmaLimit(name string, loads int) {
	what := "from registers"
	if loads > 0 {
		what = fmt.Sprintf("and %d loads", loads)
	}
	g.function(name, "func(n int, x *float32)", fmt.Sprintf("does n times 12 independent %d-lane FMAs %s. x points to a vector.", g.Lanes, what))
	n, p := g.arg("n"), g.arg("x")
	x, unused := g.vec(), g.vec()
	g.VMOVUPS(Mem{Base: p}, x)
	sum := g.accumulators(12, 1)
	g.pcalign(64)
	g.Label("loop")
	for i, v := range sum {
		if i < loads {
			g.VMOVUPS(Mem{Base: p}, unused)
		}
		g.VFMADD231PS(x, x, v[0])
	}
	g.DECQ(n)
	g.JNZ(LabelRef("loop"))
	g.ret()
}

// memoryLimit builds a[i] = b[i]*b[i], or a[i] = b[i]*b[i]+c[i] with two inputs,
// with plain stores or with those that bypass the caches.
func (g *gen) memoryLimit(name string, inputs int, stream bool) {
	how := "with plain stores"
	if stream {
		name, how = name+"Stream", "with non-temporal stores"
	}
	const unroll = 2
	g.function(name, "func(n int, a, b, c *float32)", fmt.Sprintf("reads %d arrays and writes a, all aligned to vectors, for n times %d values, %s.", inputs, unroll*g.Lanes, how))
	n, a, b, c := g.arg("n"), g.arg("a"), g.arg("b"), g.arg("c")
	off := g.GP64()
	g.MOVQ(I32(0), off)
	g.pcalign(64)
	g.Label("loop")
	for i := range unroll {
		at := func(p reg.Register) Mem { return Mem{Base: p, Index: off, Scale: 1, Disp: 4 * i * g.Lanes} }
		x := g.vec()
		g.VMOVUPS(at(b), x)
		if inputs == 2 {
			g.VFMADD213PS(at(c), x, x)
		} else {
			g.VMULPS(x, x, x)
		}
		if stream {
			g.VMOVNTPS(x, at(a))
		} else {
			g.VMOVUPS(x, at(a))
		}
	}
	g.ADDQ(I32(4*unroll*g.Lanes), off)
	g.DECQ(n)
	g.JNZ(LabelRef("loop"))
	if stream {
		g.SFENCE()
	}
	g.ret()
}
