package gen

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// float is a type of values in a vector, for kernels that are built for both.
type float struct {
	name   string // part of a kernel's name
	goType string
	size   int // bytes
}

var (
	float32s = float{"F32", "float32", 4}
	float64s = float{"F64", "float64", 8}
)

// lanes returns how many values a vector register holds.
func (e float) lanes(a ISA) int { return 4 * a.Lanes / e.size }

// scaled loads an argument that counts values, as bytes.
func (g *gen) scaled(name string, e float) reg.GPVirtual {
	r := g.arg(name)
	if e.size == 8 {
		g.SHLQ(U8(3), r)
	} else {
		g.SHLQ(U8(2), r)
	}
	return r
}

// broadcast loads one value into all lanes.
func (g *gen) broadcast(e float, m Mem, v Op) {
	if e.size == 8 {
		g.VBROADCASTSD(m, v)
	} else {
		g.VBROADCASTSS(m, v)
	}
}

// fma adds a*b to sum.
func (g *gen) fma(e float, b, a, sum Op) {
	if e.size == 8 {
		g.VFMADD231PD(b, a, sum)
	} else {
		g.VFMADD231PS(b, a, sum)
	}
}

// add stores a+b in sum.
func (g *gen) add(e float, b, a, sum Op) {
	if e.size == 8 {
		g.VADDPD(b, a, sum)
	} else {
		g.VADDPS(b, a, sum)
	}
}

// max stores the larger of x and y, or x where either is NaN.
func (g *gen) max(e float, x, y, v Op) {
	if e.size == 8 {
		g.VMAXPD(x, y, v)
	} else {
		g.VMAXPS(x, y, v)
	}
}

// loadOf is load for values of either type.
func (g *gen) loadOf(e float, m Mem, k mask, v Op) {
	switch {
	case e.size == 4 || k == nil:
		g.load(m, k, v)
	case g.Masks:
		g.VMOVUPD_Z(m, k, v)
	default:
		g.VMASKMOVPD(m, k, v)
	}
}

// storeOf is store for values of either type.
func (g *gen) storeOf(e float, v Op, k mask, m Mem) {
	switch {
	case e.size == 4 || k == nil:
		g.store(v, k, m)
	case g.Masks:
		g.VMOVUPD(v, k, m)
	default:
		g.VMASKMOVPD(v, k, m)
	}
}
