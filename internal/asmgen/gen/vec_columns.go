package gen

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Kernels over the columns of a matrix keep what belongs to a strip of columns in registers, and walk down the rows. Their arguments stay
// in memory until a strip needs them.

// columnStrip is how many vectors wide a strip is.
const columnStrip = 2

// column is where a kernel is: j is the offset of its strip in bytes of float32, k the mask of a last, narrow one.
type column struct {
	*gen
	label   string
	j       reg.GPVirtual
	vectors int
	k       mask
}

// columns builds a kernel with arguments stride, rows and n: body emits the code for a strip.
func (g *gen) columns(name, sig, doc string, body func(c column)) {
	g.function(name+"F32", "func("+sig+", stride, rows, n int)", doc+" Rows are stride values apart. Arrays with a value for each column have room for whole vectors.")
	n, j := g.arg("n"), g.GP64()
	g.MOVQ(I32(0), j)
	strip := func(label string, vectors int, k mask) {
		body(column{g, label, j, vectors, k})
		g.ADDQ(I32(4*g.Lanes*vectors), j)
	}
	g.SUBQ(I32(columnStrip*g.Lanes), n)
	g.JL(LabelRef("single"))
	g.Label("strip")
	strip("strip", columnStrip, nil)
	g.SUBQ(I32(columnStrip*g.Lanes), n)
	g.JGE(LabelRef("strip"))
	g.Label("single")
	g.ADDQ(I32((columnStrip-1)*g.Lanes), n)
	g.JL(LabelRef("tail"))
	strip("single", 1, nil)
	g.SUBQ(I32(g.Lanes), n)
	g.Label("tail")
	g.ADDQ(I32(g.Lanes), n)
	g.JZ(LabelRef("done"))
	strip("tail", 1, g.tail(n, 1)[0])
	g.Label("done")
	g.ret()
}

// base loads a pointer argument.
func (c column) base(name string) reg.GPVirtual {
	p := c.GP64()
	c.MOVQ(c.param(name), p)
	return p
}

// values loads an array of float32 values, one for each column.
func (c column) values(name string) []Op {
	p := c.base(name)
	var vs []Op
	for v := range c.vectors {
		vs = append(vs, c.inReg(Mem{Base: p, Index: c.j, Scale: 1, Disp: 4 * c.Lanes * v}))
	}
	return vs
}

// doubleAt is half h of vector v of an array of float64 values, one for each column.
func (c column) doubleAt(p reg.GPVirtual, v, h int) Mem {
	return Mem{Base: p, Index: c.j, Scale: 2, Disp: 4 * c.Lanes * (2*v + h)}
}

// rows walks down: body is given the addresses of vector v in the matrices of these names.
func (c column) rows(body func(v int, at []Mem), names ...string) {
	ps := make([]reg.GPVirtual, len(names))
	for i, name := range names {
		ps[i] = c.base(name)
		c.ADDQ(c.j, ps[i])
	}
	rows, stride := c.arg("rows"), c.bytes("stride")
	c.TESTQ(rows, rows)
	c.JZ(LabelRef(c.label + "End"))
	c.pcalign(32)
	c.Label(c.label + "Rows")
	for v := range c.vectors {
		at := make([]Mem, len(ps))
		for i, p := range ps {
			at[i] = Mem{Base: p, Disp: 4 * c.Lanes * v}
		}
		body(v, at)
	}
	for _, p := range ps {
		c.ADDQ(stride, p)
	}
	c.DECQ(rows)
	c.JNZ(LabelRef(c.label + "Rows"))
	c.Label(c.label + "End")
}

// sums is a strip of a kernel that adds up in float64: term adds vector v, in halves, to the sums.
func (c column) sums(term func(v int, at []Mem, sum [2]Op), names ...string) {
	sum := c.accumulators(c.vectors, 2)
	c.rows(func(v int, at []Mem) { term(v, at, [2]Op{sum[v][0], sum[v][1]}) }, names...)
	acc := c.base("acc")
	for v := range c.vectors {
		for h := range 2 {
			c.VMOVUPS(sum[v][h], c.doubleAt(acc, v, h))
		}
	}
}

// means loads the array mean.
func (c column) means() [][2]Op {
	p := c.base("mean")
	var ms [][2]Op
	for v := range c.vectors {
		ms = append(ms, [2]Op{c.inReg(c.doubleAt(p, v, 0)), c.inReg(c.doubleAt(p, v, 1))})
	}
	return ms
}

// both loads a vector as its two halves.
func (c column) both(m Mem) [2]Op {
	lo, hi := c.doubles(m, c.k)
	return [2]Op{lo, hi}
}

// columnKernels builds the passes of batch normalisation.
func (g *gen) columnKernels() {
	g.columns("columnSum", "acc *float64, a *float32", "stores the sum of each column.", func(c column) {
		c.sums(func(v int, at []Mem, sum [2]Op) {
			for h, x := range c.both(at[0]) {
				c.VADDPD(x, sum[h], sum[h])
			}
		}, "a")
	})
	g.columns("columnSquares", "acc *float64, a *float32, mean *float64", "stores the sum of (a - mean)**2 of each column.", func(c column) {
		mean := c.means()
		c.sums(func(v int, at []Mem, sum [2]Op) {
			for h, x := range c.both(at[0]) {
				c.VSUBPD(mean[v][h], x, x)
				c.VFMADD231PD(x, x, sum[h])
			}
		}, "a")
	})
	g.columns("columnProducts", "acc *float64, a, b *float32, mean *float64", "stores the sum of a * (b - mean) of each column.", func(c column) {
		mean := c.means()
		c.sums(func(v int, at []Mem, sum [2]Op) {
			x := c.both(at[0])
			for h, y := range c.both(at[1]) {
				c.VSUBPD(mean[v][h], y, y)
				c.VFMADD231PD(x[h], y, sum[h])
			}
		}, "a", "b")
	})
	g.columns("normalise", "dst, a, hi, lo, scale, bias *float32", "stores (a - hi - lo) * scale + bias; the last two are one FMA. dst may be a.", func(c column) {
		hi, lo, scale, bias := c.values("hi"), c.values("lo"), c.values("scale"), c.values("bias")
		c.rows(func(v int, at []Mem) {
			x := c.vec()
			c.load(at[0], c.k, x)
			c.VSUBPS(hi[v], x, x)
			c.VSUBPS(lo[v], x, x)
			c.VFMADD213PS(bias[v], scale[v], x)
			c.store(x, c.k, at[1])
		}, "a", "dst")
	})
	g.columns("normaliseGrad", "dst, a, b, hi, lo, scale, shift, slope *float32",
		"stores (a - shift - (b - hi - lo) * slope) * scale; the product with slope and its subtraction are one FMA. dst may be a or b.", func(c column) {
			hi, lo, scale, shift, slope := c.values("hi"), c.values("lo"), c.values("scale"), c.values("shift"), c.values("slope")
			c.rows(func(v int, at []Mem) {
				x, y := c.vec(), c.vec()
				c.load(at[0], c.k, x)
				c.load(at[1], c.k, y)
				c.VSUBPS(hi[v], y, y)
				c.VSUBPS(lo[v], y, y)
				c.VSUBPS(shift[v], x, x)
				c.VFNMADD231PS(slope[v], y, x)
				c.VMULPS(scale[v], x, x)
				c.store(x, c.k, at[2])
			}, "a", "b", "dst")
		})
}
