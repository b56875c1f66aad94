package gen

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Philox works on counters of four words. A vector holds one word of several counters, each in the lower half of 64 bits, since the
// multiplication takes it there and leaves its product in both halves; what the upper halves hold otherwise does not matter.

// philox builds the random words of consecutive counters. Two sets of counters at a time hide the latency of the multiplications.
func (g *gen) philox() {
	const sets = 2
	blocks := g.Lanes / 2 // of a set
	g.function("philox", "func(dst *uint32, key, step, block uint64, n int)",
		fmt.Sprintf("stores n times %d words of Philox4x32-10: those of the counters (block, step), (block+1, step) and so on, as in package internal/philox.", 4*sets*blocks))
	dst, n := g.arg("dst"), g.arg("n")
	// Counters are in such an order that pairs of words, put together below, are in order.
	order := make([]uint64, blocks)
	for i := range order {
		order[i] = uint64(i/2 + i%2*blocks/2)
	}
	counter := make([]reg.VecVirtual, sets)
	for s := range counter {
		counter[s] = g.argument64("block")
		g.VPADDQ(g.quads("order", order...), counter[s], counter[s])
		for range s {
			g.VPADDQ(g.quads("set", repeat(uint64(blocks), blocks)...), counter[s], counter[s])
		}
	}
	g.pcalign(32)
	g.Label("loop")
	key := g.words("key")
	var c [sets][4]Op
	for s := range sets {
		low, high, step := g.vec(), g.vec(), g.words("step")
		g.VMOVAPS(counter[s], low)
		g.VPSRLQ(U8(32), low, high)
		c[s] = [4]Op{low, high, step[0], step[1]}
		g.VPADDQ(g.quads("sets", repeat(uint64(sets*blocks), blocks)...), counter[s], counter[s])
	}
	for round := range 10 {
		if round > 0 {
			g.VPADDD(g.constant(0x9e3779b9), key[0], key[0])
			g.VPADDD(g.constant(0xbb67ae85), key[1], key[1])
		}
		for s := range sets {
			p0, p1 := g.vec(), g.vec()
			g.VPMULUDQ(g.constant(0xd2511f53), c[s][0], p0)
			g.VPMULUDQ(g.constant(0xcd9e8d57), c[s][2], p1)
			g.VXORPS(key[0], c[s][1], c[s][1])
			g.VXORPS(key[1], c[s][3], c[s][3])
			h0, h1 := c[s][2], c[s][0] // their values are no longer needed
			g.VPSRLQ(U8(32), p1, h1)
			g.VPSRLQ(U8(32), p0, h0)
			g.VXORPS(c[s][1], h1, h1)
			g.VXORPS(c[s][3], h0, h0)
			c[s] = [4]Op{h1, p1, h0, p0}
		}
	}
	for s := range sets {
		for _, i := range []int{0, 2} { // words i and i+1 of a counter
			g.VANDPS(g.quads("low", repeat(uint64(1<<32-1), blocks)...), c[s][i], c[s][i])
			g.VPSLLQ(U8(32), c[s][i+1], c[s][i+1])
			g.VORPS(c[s][i], c[s][i+1], c[s][i+1])
		}
		first, second := g.vec(), g.vec()
		g.VUNPCKLPD(c[s][3], c[s][1], first)
		g.VUNPCKHPD(c[s][3], c[s][1], second)
		for i, v := range []Op{first, second} {
			g.VMOVUPS(v, Mem{Base: dst, Disp: 4 * g.Lanes * (2*s + i)})
		}
	}
	g.ADDQ(I32(8*g.Lanes*sets), dst)
	g.DECQ(n)
	g.JNZ(LabelRef("loop"))
	g.ret()
}

func repeat(x uint64, n int) []uint64 {
	v := make([]uint64, n)
	for i := range v {
		v[i] = x
	}
	return v
}

// quads is a vector of 64-bit values in memory, by name.
func (g *gen) quads(name string, values ...uint64) Mem {
	if m, ok := g.vectors[name]; ok {
		return m
	}
	m := g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for _, v := range values {
		g.AppendDatum(U64(v))
	}
	if g.vectors == nil {
		g.vectors = map[string]Mem{}
	}
	g.vectors[name] = m
	return m
}

// argument has an argument of 32 bits in every lane.
func (g *gen) argument(name string) reg.VecVirtual {
	v := g.vec()
	g.VBROADCASTSS(g.param(name), v)
	return v
}

// argument64 has one of 64 bits in every pair of lanes.
func (g *gen) argument64(name string) reg.VecVirtual {
	v := g.vec()
	g.VPBROADCASTQ(g.param(name), v)
	return v
}

// words has the two words of an argument of 64 bits in the lower half of every pair of lanes.
func (g *gen) words(name string) [2]Op {
	low, high := g.argument64(name), g.vec()
	g.VPSRLQ(U8(32), low, high)
	return [2]Op{low, high}
}

// unit builds dst[i] = (words[i] >> 8) * 2**-24.
func (g *gen) unit() {
	g.unary("unit", "turns random words, which it reads as the bits of a, into multiples of 2**-24 in [0, 1).", func() func(x Op) Op {
		scale := g.inReg(g.f32(0x1p-24))
		return func(x Op) Op {
			g.VPSRLD(U8(8), x, x)
			g.VCVTDQ2PS(x, x)
			g.VMULPS(scale, x, x)
			return x
		}
	})
}

// dropout builds dst[i] = a[i] / kept where a word is large enough, else 0.
func (g *gen) dropout() {
	g.function("dropoutF32", "func(dst, a *float32, words *uint32, below int, kept float32, n int)",
		"takes a / kept where the word, shifted right by 8, is greater than below as a signed number, else 0. dst may be a.")
	dst, a, words, n := g.arg("dst"), g.arg("a"), g.arg("words"), g.arg("n")
	below, kept, zero := g.vec(), g.argument("kept"), g.vec()
	g.VPBROADCASTD(g.param("below"), below)
	g.zero(zero)
	g.sweep(n, 1, func(i int, k mask) {
		x, w := g.vec(), g.vec()
		g.load(Mem{Base: words}, k, w)
		g.load(Mem{Base: a}, k, x)
		g.VPSRLD(U8(8), w, w)
		g.VDIVPS(kept, x, x)
		var keep mask
		if g.Masks {
			keep = g.K()
		} else {
			keep = g.vec()
		}
		g.VPCMPGTD(below, w, keep)
		g.store(g.blend(keep, zero, x), k, Mem{Base: dst})
	}, func(vectors int) { g.move(vectors, dst, a, words) })
	g.ret()
}
