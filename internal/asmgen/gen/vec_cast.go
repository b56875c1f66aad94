package gen

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
)

// casts builds the conversions of float32 from and to types of one and two bytes, for whole vectors.
func (g *gen) casts() {
	g.cast("bf16ToF32", "float32", "uint16", "converts bfloat16, exactly", func(a, dst Mem) {
		x := g.vec()
		g.VPMOVZXWD(a, x)
		g.VPSLLD(U8(16), x, x)
		g.VMOVUPS(x, dst)
	})
	g.cast("f16ToF32", "float32", "uint16", "converts float16, exactly", func(a, dst Mem) {
		x := g.vec()
		g.VCVTPH2PS(a, x)
		g.VMOVUPS(x, dst)
	})
	g.cast("u8ToF32", "float32", "uint8", "converts bytes, exactly", func(a, dst Mem) {
		x := g.vec()
		g.VPMOVZXBD(a, x)
		g.VCVTDQ2PS(x, x)
		g.VMOVUPS(x, dst)
	})
	g.cast("f32ToBF16", "uint16", "float32", "rounds to bfloat16, to nearest even; NaN stays NaN", func(a, dst Mem) {
		x, r, odd := g.vec(), g.vec(), g.vec()
		g.VMOVUPS(a, x)
		// A carry out of the lower half rounds up: 0x7fff, and one more where the upper half is odd.
		g.VPSRLD(U8(16), x, odd)
		g.VANDPS(g.constant(1), odd, odd)
		g.VPADDD(g.constant(0x7fff), x, r)
		g.VPADDD(odd, r, r)
		nan := g.vec()
		g.VORPS(g.constant(0x400000), x, nan) // quiet
		v := g.blend(g.compare(unordered, x, x), r, nan)
		g.VPSRLD(U8(16), v, v)
		if g.Masks {
			g.VPMOVDW(v, dst)
			return
		}
		high := g.XMM()
		g.VEXTRACTF128(U8(1), v, high)
		g.VPACKUSDW(high, g.half(v), high)
		g.VMOVUPS(high, dst)
	})
	g.cast("f32ToF16", "uint16", "float32", "rounds to float16, to nearest even; NaN stays NaN", func(a, dst Mem) {
		x := g.vec()
		g.VMOVUPS(a, x)
		g.VCVTPS2PH(U8(0), x, dst)
	})
}

// cast builds a conversion: one converts a vector of float32 values.
func (g *gen) cast(name, to, from, doc string, one func(a, dst Mem)) {
	size := map[string]int{"float32": 4, "uint16": 2, "uint8": 1}
	g.function(name, fmt.Sprintf("func(dst *%s, a *%s, n int)", to, from), doc+". n is a multiple of the lanes.")
	dst, a, n := g.arg("dst"), g.arg("a"), g.arg("n")
	g.Label("loop")
	one(Mem{Base: a}, Mem{Base: dst})
	g.ADDQ(I32(size[from]*g.Lanes), a)
	g.ADDQ(I32(size[to]*g.Lanes), dst)
	g.SUBQ(I32(g.Lanes), n)
	g.JNZ(LabelRef("loop"))
	g.ret()
}
