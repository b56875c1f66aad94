package gen

import "slices"

// lower returns code that applies a formula to V0. It uses V3 to V27.
func (n *vecNeon) lower(build func(f *formula, x value) value) func() {
	f := newFormula(build)
	return func() {
		l := &neonLowering{vecNeon: n, f: f, at: make([]int, len(f.code))}
		for v := 27; v >= 3; v-- {
			l.free = append(l.free, v)
		}
		for i := 1; i < len(f.code); i++ {
			l.operation(i)
		}
		if r := l.at[f.result]; r != 0 {
			n.mov(0, r)
		}
	}
}

// neonLowering is a formula whose values get registers.
type neonLowering struct {
	*vecNeon
	f    *formula
	at   []int
	free []int
}

// take is a register that holds nothing.
func (l *neonLowering) take() int {
	last := len(l.free) - 1
	r := l.free[last]
	l.free = l.free[:last]
	return r
}

func (l *neonLowering) give(r int) {
	if !slices.Contains(l.free, r) {
		l.free = append(l.free, r)
	}
}

// reg is the register of a value; that of a constant is taken for one operation.
func (l *neonLowering) reg(v value) int {
	if l.f.code[v].op != "constant" {
		return l.at[v]
	}
	r := l.take()
	l.bits(r, l.f.code[v].bits)
	return r
}

// done gives back the register of an operand of operation i, unless somebody reads it later.
func (l *neonLowering) done(v value, r, i int) {
	if v != argument && (l.f.code[v].op == "constant" || l.f.dies(v, i)) {
		l.give(r)
	}
}

// own is a register with a value that operation i may overwrite.
func (l *neonLowering) own(v value, i int) int {
	r := l.reg(v)
	if l.f.code[v].op == "constant" || v != argument && l.f.dies(v, i) {
		return r
	}
	d := l.take()
	l.mov(d, r)
	return d
}

var neonCodes = map[string]string{"add": "FADD", "sub": "FSUB", "mul": "FMUL", "div": "FDIV", "equal": "FCMEQ", "max": "FMAX", "min": "FMIN", "and": "AND", "or": "ORR",
	"round": "FRINTN", "floor": "FRINTM", "ceil": "FRINTP", "trunc": "FRINTZ", "subtract bits": "SUB", "shift right": "SSHR23", "shift left": "SHL23", "to float": "SCVTF"}

// operation prints operation i.
func (l *neonLowering) operation(i int) {
	o := &l.f.code[i]
	a := o.args
	switch o.op {
	case "constant": // loaded where it is used
	case "fma", "fnma":
		d := l.own(a[2], i)
		x, y := l.reg(a[0]), l.reg(a[1])
		l.do(map[string]string{"fma": "FMLA", "fnma": "FMLS"}[o.op], d, x, y)
		l.done(a[0], x, i)
		l.done(a[1], y, i)
		l.keep(i, d)
	case "choose":
		d := l.own(a[0], i)
		yes, no := l.reg(a[1]), l.reg(a[2])
		l.do("BSL", d, yes, no)
		l.done(a[1], yes, i)
		l.done(a[2], no, i)
		l.keep(i, d)
	case "less":
		x, y := l.reg(a[0]), l.reg(a[1])
		l.done(a[0], x, i)
		l.done(a[1], y, i)
		l.keep(i, l.take())
		l.do("FCMGT", l.at[i], y, x)
	case "round", "floor", "ceil", "trunc", "shift right", "shift left", "to float":
		x := l.reg(a[0])
		l.done(a[0], x, i)
		l.keep(i, l.take())
		l.do1(neonCodes[o.op], l.at[i], x)
	case "scale":
		l.scale(i, a[0], a[1])
	default:
		x, y := l.reg(a[0]), l.reg(a[1])
		l.done(a[0], x, i)
		l.done(a[1], y, i)
		l.keep(i, l.take())
		l.do(neonCodes[o.op], l.at[i], x, y)
	}
}

// keep records the register of operation i's result.
func (l *neonLowering) keep(i, r int) {
	l.at[i] = r
	l.free = slices.DeleteFunc(l.free, func(f int) bool { return f == r })
}

// scale prints p * 2**n, in two steps as gen.scaleBy has.
func (l *neonLowering) scale(i int, p, n value) {
	d, e := l.own(p, i), l.own(n, i)
	half, bias := l.take(), l.take()
	l.do1("FCVTNS", e, e)
	l.do1("SSHR1", half, e)
	l.do("SUB", e, e, half)
	l.bits(bias, 127)
	for _, r := range []int{half, e} {
		l.do("ADD", r, r, bias)
		l.do1("SHL23", r, r)
		l.do("FMUL", d, d, r)
	}
	for _, r := range []int{half, bias, e} {
		l.give(r)
	}
	l.keep(i, d)
}
