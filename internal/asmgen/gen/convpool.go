package gen

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Winners of a max-pool are bytes: the tap that won, or NoTap where no value
// was above the floor, and the bit NaNWon where a NaN did.
const (
	NoTap  = 0x7f
	NaNWon = 0x80
)

// More predicates of CMPPS.
const (
	ordered       predicate = 0x07
	notBelowEqual predicate = 0x16 // above or unordered
)

const poolDoc = " Pixel i of the output lies at byte pixels[2*i+1], and tap t of it at byte pixels[2*i]+table[2*t] of the input; table[2*t+1] is the tap's number. A pixel has 16 channels."

// window starts a pooling kernel and loops over the pixels; body may call taps to loop over the taps.
func (g *gen) window(body func(in, out reg.GPVirtual, taps func(func(at Mem, tap Mem)))) {
	n, pixels := g.arg("n"), g.arg("pixels")
	table, taps := g.arg("table"), g.arg("taps")
	g.Label("pixel")
	in, out := g.GP64(), g.GP64()
	g.MOVLQSX(Mem{Base: pixels}, in)
	g.MOVLQSX(Mem{Base: pixels, Disp: 4}, out)
	g.ADDQ(g.param("x"), in)
	body(in, out, func(tap func(at, tap Mem)) {
		left, entry, off := g.GP64(), g.GP64(), g.GP64()
		g.MOVQ(taps, left)
		g.MOVQ(table, entry)
		g.pcalign(32)
		g.Label("tap")
		g.MOVLQSX(Mem{Base: entry}, off)
		tap(Mem{Base: in, Index: off, Scale: 1}, Mem{Base: entry, Disp: 4})
		g.ADDQ(U8(8), entry)
		g.DECQ(left)
		g.JNZ(LabelRef("tap"))
	})
	g.ADDQ(U8(8), pixels)
	g.DECQ(n)
	g.JNZ(LabelRef("pixel"))
	g.ret()
}

// vecs allocates a vector register for each vector of a block.
func (g *gen) vecs() []Op {
	v := make([]Op, g.perBlock())
	for j := range v {
		v[j] = g.vec()
	}
	return v
}

// accumulate stores v at m, after adding what m holds if acc is not 0. label is new in the kernel.
func (g *gen) accumulate(acc Op, m Mem, v []Op, label string) {
	g.TESTQ(acc, acc)
	g.JZ(LabelRef(label))
	for j := range v {
		g.VADDPS(m.Offset(4*j*g.Lanes), v[j], v[j])
	}
	g.Label(label)
	for j := range v {
		g.VMOVUPS(v[j], m.Offset(4*j*g.Lanes))
	}
}

// pool builds max-pool and average-pool of any window and their gradients, for one block of channels.
func (g *gen) pool() {
	g.function("maxPoolF32", "func(n int, pixels *int32, taps int, table *int32, x, y *float32, win *uint8, floor float32, none int32)",
		"stores the largest of floor and the taps of n pixels, and the first tap that has it (none if floor has). The first NaN wins."+poolDoc)
	g.window(func(in, out reg.GPVirtual, taps func(func(at, tap Mem))) {
		best, index := g.vecs(), g.vecs()
		for j := range best {
			g.VBROADCASTSS(g.param("floor"), best[j])
			g.VBROADCASTSS(g.param("none"), index[j])
		}
		taps(func(at, tap Mem) {
			number := g.vec()
			g.VPBROADCASTD(tap, number)
			for j := range best {
				v := g.vec()
				g.VMOVUPS(at.Offset(4*j*g.Lanes), v)
				take := g.both(g.compare(notBelowEqual, v, best[j]), g.compare(ordered, best[j], best[j]))
				g.assign(take, v, best[j])
				g.assign(take, number, index[j])
			}
		})
		y, win := g.arg("y"), g.arg("win")
		g.ADDQ(out, y)
		g.SHRQ(U8(2), out)
		g.ADDQ(out, win)
		for j := range best {
			g.VMOVUPS(best[j], Mem{Base: y, Disp: 4 * j * g.Lanes})
			nan := g.only(g.compare(unordered, best[j], best[j]), g.inReg(g.constant(NaNWon)))
			g.or(nan, index[j])
		}
		g.storeBytes(index, Mem{Base: win})
	})

	g.function("maxPoolGradF32", "func(n int, pixels *int32, taps int, table *int32, x, y *float32, win *uint8, nan uint32, acc int)",
		"stores in each tap of x, or adds if acc, the gradient y where that tap won, else 0. Where a NaN won, the bits nan are set in the gradient."+poolDoc)
	g.window(func(in, out reg.GPVirtual, taps func(func(at, tap Mem))) {
		y, win, acc := g.arg("y"), g.arg("win"), g.arg("acc")
		g.ADDQ(out, y)
		g.SHRQ(U8(2), out)
		g.ADDQ(out, win)
		d, index := g.vecs(), g.vecs()
		for j := range d {
			g.VMOVUPS(Mem{Base: y, Disp: 4 * j * g.Lanes}, d[j])
			g.VPMOVSXBD(Mem{Base: win, Disp: j * g.Lanes}, index[j])
			nan, bits := g.vec(), g.vec()
			g.VBROADCASTSS(g.param("nan"), bits)
			g.VPSRAD(U8(31), index[j], nan)
			g.and(bits, nan)
			g.or(nan, d[j])
			g.and(g.inReg(g.constant(NoTap)), index[j])
		}
		taps(func(at, tap Mem) {
			number := g.vec()
			g.VPBROADCASTD(tap, number)
			v := g.vecs()
			for j := range v {
				var won mask
				if g.Masks {
					won = g.K()
				} else {
					won = g.vec()
				}
				g.VPCMPEQD(number, index[j], won)
				v[j] = g.only(won, d[j])
			}
			g.accumulate(acc, at, v, "store")
		})
	})

	g.function("avgPoolF32", "func(n int, pixels *int32, taps int, table *int32, x, y *float32, count float32)",
		"stores the sum of the taps of n pixels, divided by count."+poolDoc)
	g.window(func(in, out reg.GPVirtual, taps func(func(at, tap Mem))) {
		sum := g.vecs()
		for j := range sum {
			g.zero(sum[j])
		}
		taps(func(at, _ Mem) {
			for j := range sum {
				g.VADDPS(at.Offset(4*j*g.Lanes), sum[j], sum[j])
			}
		})
		count := g.vec()
		g.VBROADCASTSS(g.param("count"), count)
		g.ADDQ(g.param("y"), out)
		for j := range sum {
			g.VDIVPS(count, sum[j], sum[j])
			g.VMOVUPS(sum[j], Mem{Base: out, Disp: 4 * j * g.Lanes})
		}
	})

	g.function("avgPoolGradF32", "func(n int, pixels *int32, taps int, table *int32, x, y *float32, count float32, acc int)",
		"stores in each tap of x, or adds if acc, the gradient y divided by count."+poolDoc)
	g.window(func(in, out reg.GPVirtual, taps func(func(at, tap Mem))) {
		acc := g.arg("acc")
		count := g.vec()
		g.VBROADCASTSS(g.param("count"), count)
		g.ADDQ(g.param("y"), out)
		d := g.vecs()
		for j := range d {
			g.VMOVUPS(Mem{Base: out, Disp: 4 * j * g.Lanes}, d[j])
			g.VDIVPS(count, d[j], d[j])
		}
		taps(func(at, _ Mem) {
			v := g.vecs()
			for j := range v {
				g.VMOVAPS(d[j], v[j])
			}
			g.accumulate(acc, at, v, "store")
		})
	})
}

// both returns the lanes that are in both masks.
func (g *gen) both(a, b mask) mask {
	if g.Masks {
		k := g.K()
		g.KANDW(a, b, k)
		return k
	}
	g.VANDPS(a, b, b)
	return b
}

// assign sets the lanes of d that the mask selects to those of v.
func (g *gen) assign(k mask, v, d Op) {
	if g.Masks {
		g.VBLENDMPS(v, d, k, d)
	} else {
		g.VBLENDVPS(k, v, d, d)
	}
}

func (g *gen) or(v, d Op) {
	if g.Masks {
		g.VPORD(v, d, d)
	} else {
		g.VORPS(v, d, d)
	}
}

func (g *gen) and(v, d Op) {
	if g.Masks {
		g.VPANDD(v, d, d)
	} else {
		g.VANDPS(v, d, d)
	}
}

// storeBytes stores a block of integers below 256 as bytes. It overwrites v.
func (g *gen) storeBytes(v []Op, m Mem) {
	if g.Masks {
		g.VPMOVDB(v[0], m)
		return
	}
	g.VPACKUSDW(v[1], v[0], v[0]) // words 0-3 8-11 | 4-7 12-15
	g.VPACKUSWB(v[0], v[0], v[0]) // bytes, each half twice
	lo, hi := v[0].(reg.Vec).AsX(), g.XMM()
	g.VEXTRACTI128(U8(1), v[0], hi)
	g.VUNPCKLPS(hi, lo, lo) // 0-3 4-7 8-11 12-15
	g.VMOVUPS(lo, m)
}
