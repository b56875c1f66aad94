package gen

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
)

// limitKernels builds the loops that measure what the machine gives: 12
// independent chains of FMAs from registers, alone and beside as many loads as
// the matmul kernel needs. A busy neighbour on the same core slows down only
// the second.
func (g *gen) limitKernels() {
	for _, loads := range []int{0, 8} {
		name, what := "fma", "from registers"
		if loads > 0 {
			name, what = "fmaLoad", fmt.Sprintf("and %d loads", loads)
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
}
