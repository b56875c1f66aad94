package gen

import (
	"strings"

	. "github.com/mmcloughlin/avo/operand"
)

// lower returns the code of a formula. It leaves x as it is.
func (g *gen) lower(build func(f *formula, x value) value) func(x Op) Op {
	f := newFormula(build)
	return func(x Op) Op {
		l := &lowering{gen: g, f: f, at: make([]Op, len(f.code))}
		l.at[argument] = x
		for i := 1; i < len(f.code); i++ {
			l.operation(i)
		}
		return l.at[f.result]
	}
}

// lowering is a formula whose values get registers. Constants stay in memory.
type lowering struct {
	*gen
	f  *formula
	at []Op
}

// reg is the register of a value, which must not be overwritten.
func (l *lowering) reg(v value) Op {
	if m, ok := l.at[v].(Mem); ok {
		return l.inReg(m)
	}
	return l.at[v]
}

// own is a register with a value that operation i may overwrite.
func (l *lowering) own(v value, i int) Op {
	if v != argument && l.f.dies(v, i) {
		return l.at[v]
	}
	r := l.vec()
	l.VMOVUPS(l.at[v], r)
	return r
}

// inMemory reports whether a value lies in memory.
func (l *lowering) inMemory(v value) bool { return l.f.code[v].op == "constant" }

// operation emits operation i.
func (l *lowering) operation(i int) {
	o := &l.f.code[i]
	a := o.args
	if o.op == "constant" {
		l.at[i] = l.constant(o.bits)
		return
	}
	commutes := o.op == "add" || o.op == "mul" || o.op == "and" || o.op == "or"
	if commutes && l.inMemory(a[0]) {
		a = []value{a[1], a[0]}
	}
	switch o.op {
	case "fma", "fnma":
		l.at[i] = l.multiplyAdd(o.op == "fnma", a[0], a[1], a[2], i)
		return
	case "less":
		l.at[i] = l.compare(less, l.reg(a[0]), l.at[a[1]])
		return
	case "equal":
		l.at[i] = l.compare(equal, l.reg(a[0]), l.at[a[1]])
		return
	case "choose":
		l.at[i] = l.blend(l.at[a[0]], l.reg(a[2]), l.at[a[1]])
		return
	case "scale":
		l.at[i] = l.scaleBy(l.own(a[0], i), l.own(a[1], i))
		return
	}
	r := l.vec()
	l.at[i] = r
	switch o.op {
	case "add":
		l.VADDPS(l.at[a[1]], l.reg(a[0]), r)
	case "sub":
		l.VSUBPS(l.at[a[1]], l.reg(a[0]), r)
	case "mul":
		l.VMULPS(l.at[a[1]], l.reg(a[0]), r)
	case "div":
		l.VDIVPS(l.at[a[1]], l.reg(a[0]), r)
	case "and":
		l.VANDPS(l.at[a[1]], l.reg(a[0]), r)
	case "or":
		l.VORPS(l.at[a[1]], l.reg(a[0]), r)
	case "max": // MAX and MIN return their first operand here when it is NaN
		l.VMAXPS(l.at[a[0]], l.reg(a[1]), r)
	case "min":
		l.VMINPS(l.at[a[0]], l.reg(a[1]), r)
	case "round", "floor", "ceil", "trunc":
		mode := U8(8 + strings.Index("r f c t", o.op[:1])/2)
		if l.Masks {
			l.VRNDSCALEPS(mode, l.at[a[0]], r)
		} else {
			l.VROUNDPS(mode, l.at[a[0]], r)
		}
	case "subtract bits":
		l.VPSUBD(l.at[a[1]], l.reg(a[0]), r)
	case "shift right":
		l.VPSRAD(U8(23), l.reg(a[0]), r)
	case "shift left":
		l.VPSLLD(U8(23), l.reg(a[0]), r)
	case "to float":
		l.VCVTDQ2PS(l.at[a[0]], r)
	default:
		panic("gen: no operation " + o.op)
	}
}

// multiplyAdd is a*b + c, or c - a*b, in the register of an operand that dies if there is one.
func (l *lowering) multiplyAdd(negated bool, a, b, c value, i int) Op {
	if l.inMemory(a) {
		a, b = b, a
	}
	if l.inMemory(c) && !negated && l.f.dies(a, i) && a != argument {
		l.VFMADD213PS(l.at[c], l.reg(b), l.at[a])
		return l.at[a]
	}
	r := l.own(c, i)
	if negated {
		l.VFNMADD231PS(l.at[b], l.reg(a), r)
	} else {
		l.VFMADD231PS(l.at[b], l.reg(a), r)
	}
	return r
}

// scaleBy is p * 2**n. It overwrites both.
func (g *gen) scaleBy(p, n Op) Op {
	if g.Masks {
		g.VSCALEFPS(n, p, p)
		return p
	}
	// Two steps, since 2**n may be subnormal or infinite when the result is not.
	i, half := g.vec(), g.vec()
	g.VCVTPS2DQ(n, i)
	g.VPSRAD(U8(1), i, half)
	g.VPSUBD(half, i, i)
	for _, e := range []Op{half, i} {
		g.VPADDD(g.constant(127), e, e)
		g.VPSLLD(U8(23), e, e)
		g.VMULPS(e, p, p)
	}
	return p
}
