package gen

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// DepthRows returns the numbers of pixels of a depthwise convolution's tiles.
func (a ISA) DepthRows() []int {
	var rows []int
	for _, t := range a.ConvTiles() {
		if t[1] == 1 {
			rows = append(rows, t[0])
		}
	}
	return rows
}

// DepthWeightRows are the numbers of taps of a depthwise convolution's weight gradient tiles.
var DepthWeightRows = []int{3, 1}

// depth builds the tile of a depthwise convolution: rows pixels of one block of
// channels, each of which has weights of its own. It has the arguments of first.
func (g *gen) depth(rows int) {
	g.function(fmt.Sprintf("depth%dF32", rows),
		"func(taps int, table *int32, x *float32, xTable *int32, w *float32, wPlane int, y *float32, yTable *int32, yPlane int, bias *float32, mode int)",
		fmt.Sprintf("stores the sum over taps of %d pixels times w, channel by channel. The weights of tap t lie at byte table[2*t] of w; pixel i at byte xTable[i]+table[2*t+1] of x. Pixel i of y lies at byte yTable[i]. The planes are not used.", rows))
	table, taps, xTable := g.arg("table"), g.arg("taps"), g.arg("xTable")
	p := g.gps(rows)
	g.pointers(xTable, g.param("x"), p)
	sum := g.accumulators(rows, g.perBlock())
	off, w := g.GP64(), g.GP64()
	g.pcalign(64)
	g.Label("tap")
	g.MOVLQSX(Mem{Base: table}, w)
	g.MOVLQSX(Mem{Base: table, Disp: 4}, off)
	g.ADDQ(g.param("w"), w)
	for j := range g.perBlock() {
		v := g.inReg(Mem{Base: w, Disp: 4 * j * g.Lanes})
		for i := range p {
			g.VFMADD231PS(Mem{Base: p[i], Index: off, Scale: 1, Disp: 4 * j * g.Lanes}, v, sum[i][j])
		}
	}
	g.ADDQ(U8(8), table)
	g.DECQ(taps)
	g.JNZ(LabelRef("tap"))
	g.epilogue(sum)
}

// depthWeightGradient builds the tile of a depthwise convolution's weight gradient: rows taps of one block of channels.
func (g *gen) depthWeightGradient(rows int) {
	g.function(fmt.Sprintf("depthWgrad%dF32", rows),
		"func(n int, pairs *int32, x *float32, taps *int32, dy *float32, dyPlane int, dw *float32, dwPlane int, acc bool)",
		fmt.Sprintf("stores, or adds if acc, the sum over n pairs of x at %d taps, in bytes, times dy, channel by channel. Pair i is the bytes pairs[2*i] of x and pairs[2*i+1] of dy. Rows of dw are %d values apart. The planes are not used.", rows, Block))
	at := g.gps(rows)
	g.pointers(g.arg("taps"), g.param("x"), at)
	g.sumPairs(rows, 1, func(sum [][]reg.VecVirtual, p reg.GPVirtual, dy func(j int) Mem) {
		for j := range g.perBlock() {
			v := g.inReg(dy(j))
			for i := range at {
				g.VFMADD231PS(Mem{Base: at[i], Index: p, Scale: 1, Disp: 4 * j * g.Lanes}, v, sum[i][j])
			}
		}
	})
}
