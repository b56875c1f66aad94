package gen

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// WeightTiles returns the shapes of weight gradient tiles: input channels x
// blocks of output channels. AVX2 cuts the 16 channels of a block in 6+5+5,
// since 4 rows would have only as many chains of FMAs as their latency hides.
func (a ISA) WeightTiles() [][2]int {
	if a.Masks {
		return [][2]int{{8, 2}, {8, 1}}
	}
	return [][2]int{{6, 1}, {5, 1}}
}

// FirstWeightTiles returns the shapes of a first layer's tiles: taps x blocks of output channels.
func (a ISA) FirstWeightTiles() [][2]int { return [][2]int{{3, 2}, {1, 2}, {3, 1}, {1, 1}} }

// weightGradient builds the tile of the weight gradient: rows input channels x
// blocks of output channels for one tap, summed over a list of pairs of pixels.
// The list names only pairs that exist, so padding costs nothing.
func (g *gen) weightGradient(rows, blocks int) {
	g.function(fmt.Sprintf("wgrad%dx%dF32", rows, blocks),
		"func(n int, pairs *int32, x, dy *float32, dyPlane int, dw *float32, dwPlane int, acc bool)",
		fmt.Sprintf("stores, or adds if acc, the sum over n pairs of %d values of x times %d channels of dy. Pair i is the bytes pairs[2*i] of x and pairs[2*i+1] of dy. Rows of dw are %d values apart, blocks of channels dyPlane in dy and dwPlane in dw.", rows, blocks*Block, Block))
	x := g.arg("x")
	g.sumPairs(rows, blocks, func(sum [][]reg.VecVirtual, p reg.GPVirtual, dy func(j int) Mem) {
		g.outer(sum, func(i int) Mem { return Mem{Base: x, Index: p, Scale: 1, Disp: 4 * i} }, dy)
	})
}

// firstWeightGradient builds the tile for inputs of few channels in planes: rows taps x blocks of output channels.
func (g *gen) firstWeightGradient(rows, blocks int) {
	g.function(fmt.Sprintf("firstWgrad%dx%dF32", rows, blocks),
		"func(n int, pairs *int32, x *float32, taps *int32, dy *float32, dyPlane int, dw *float32, dwPlane int, acc bool)",
		fmt.Sprintf("stores, or adds if acc, the sum over n pairs of x at %d taps, in bytes, times %d channels of dy. Pair i is the bytes pairs[2*i] of x and pairs[2*i+1] of dy. Rows of dw are %d values apart, blocks of channels dyPlane in dy and dwPlane in dw.", rows, blocks*Block, Block))
	at := g.gps(rows)
	g.pointers(g.arg("taps"), g.param("x"), at)
	g.sumPairs(rows, blocks, func(sum [][]reg.VecVirtual, p reg.GPVirtual, dy func(j int) Mem) {
		g.outer(sum, func(i int) Mem { return Mem{Base: at[i], Index: p, Scale: 1} }, dy)
	})
}

// sumPairs builds the loop over pairs and stores the sums. add adds a pair whose x lies at p and whose vectors of dy are dy(j).
func (g *gen) sumPairs(rows, blocks int, add func(sum [][]reg.VecVirtual, p reg.GPVirtual, dy func(j int) Mem)) {
	nv := blocks * g.perBlock()
	n, pairs, dy := g.arg("n"), g.arg("pairs"), g.arg("dy")
	second := dy // the second block of channels
	if blocks > 1 {
		second = g.bytes("dyPlane")
		g.ADDQ(dy, second)
	}
	sum := g.accumulators(rows, nv)
	step := func(s int) {
		p, q := g.GP64(), g.GP64()
		g.Comment("One load of both offsets: two sign-extending ones would cost a fifth of the speed.")
		g.MOVQ(Mem{Base: pairs, Disp: 8 * s}, q)
		g.MOVL(q.As32(), p.As32())
		g.SHRQ(U8(32), q)
		add(sum, p, func(j int) Mem {
			base := dy
			if j >= g.perBlock() {
				base = second
			}
			return Mem{Base: base, Index: q, Scale: 1, Disp: 4 * (j % g.perBlock()) * g.Lanes}
		})
	}
	rest := g.GP64()
	g.MOVQ(n, rest)
	g.ANDQ(U8(3), rest)
	g.SHRQ(U8(2), n)
	g.JZ(LabelRef("single"))
	g.pcalign(64)
	g.Label("four")
	for s := range 4 {
		step(s)
	}
	g.ADDQ(U8(32), pairs)
	g.DECQ(n)
	g.JNZ(LabelRef("four"))
	g.Label("single")
	g.TESTQ(rest, rest)
	g.JZ(LabelRef("finish"))
	g.Label("one")
	step(0)
	g.ADDQ(U8(8), pairs)
	g.DECQ(rest)
	g.JNZ(LabelRef("one"))
	g.Label("finish")
	dw, dwPlane, acc := g.arg("dw"), g.bytes("dwPlane"), g.GP32()
	g.Load(g.Param("acc"), acc)
	each := func(f func(i, j int, m Mem)) {
		for i := range rows {
			for j := range nv {
				f(i, j, g.vector(dw, dwPlane, j, 4*i*Block))
			}
		}
	}
	g.TESTL(acc, acc)
	g.JZ(LabelRef("store"))
	each(func(i, j int, m Mem) { g.VADDPS(m, sum[i][j], sum[i][j]) })
	g.Label("store")
	each(func(i, j int, m Mem) { g.VMOVUPS(sum[i][j], m) })
	g.ret()
}
