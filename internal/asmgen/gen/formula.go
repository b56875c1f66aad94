package gen

import (
	"math"
	"slices"
)

// formula is a function of one float32, said once for all instruction sets: operations in order, each on results of earlier ones. It is
// lowered to vectors by gen.lower and vecNeon.lower, with the same bits.
type formula struct {
	code   []operation
	result value
	last   []int // by value: the operation that is the last to read it
}

// value is the number of the operation that makes it. Number 0 is the argument.
type value int

const argument value = 0

// operation is one step of a formula.
type operation struct {
	op   string
	args []value
	bits uint32 // of a constant
}

// newFormula records a function.
func newFormula(f func(f *formula, x value) value) *formula {
	r := &formula{code: []operation{{op: "argument"}}}
	r.result = f(r, argument)
	r.last = make([]int, len(r.code))
	for i, o := range r.code {
		for _, a := range o.args {
			r.last[a] = i
		}
	}
	r.last[r.result] = len(r.code)
	return r
}

// dies reports whether operation i is the last to read a value.
func (f *formula) dies(v value, i int) bool { return f.last[v] == i && f.code[v].op != "constant" }

func (f *formula) do(op string, args ...value) value {
	f.code = append(f.code, operation{op: op, args: args})
	return value(len(f.code) - 1)
}

// bits is a constant, each one once.
func (f *formula) bits(x uint32) value {
	same := func(o operation) bool { return o.op == "constant" && o.bits == x }
	if i := slices.IndexFunc(f.code, same); i >= 0 {
		return value(i)
	}
	f.code = append(f.code, operation{op: "constant", bits: x})
	return value(len(f.code) - 1)
}

// num is the float32 nearest to x.
func (f *formula) num(x float64) value { return f.bits(math.Float32bits(float32(x))) }

func (f *formula) add(a, b value) value { return f.do("add", a, b) }
func (f *formula) sub(a, b value) value { return f.do("sub", a, b) }
func (f *formula) mul(a, b value) value { return f.do("mul", a, b) }
func (f *formula) div(a, b value) value { return f.do("div", a, b) }

// fma is a*b + c and fnma c - a*b, rounded once.
func (f *formula) fma(a, b, c value) value  { return f.do("fma", a, b, c) }
func (f *formula) fnma(a, b, c value) value { return f.do("fnma", a, b, c) }

// atLeast and atMost are x within a bound; NaN stays.
func (f *formula) atLeast(x, bound value) value { return f.do("max", x, bound) }
func (f *formula) atMost(x, bound value) value  { return f.do("min", x, bound) }

// round is the nearest whole number, half to even; the others round as their names say.
func (f *formula) round(x value) value { return f.do("round", x) }
func (f *formula) floor(x value) value { return f.do("floor", x) }
func (f *formula) ceil(x value) value  { return f.do("ceil", x) }
func (f *formula) trunc(x value) value { return f.do("trunc", x) }

// scale is x times 2**n, for a whole number n, rounded once.
func (f *formula) scale(x, n value) value { return f.do("scale", x, n) }

// and and or combine bits.
func (f *formula) and(a, b value) value { return f.do("and", a, b) }
func (f *formula) or(a, b value) value  { return f.do("or", a, b) }

// exponent is the power of two, as a float, by which a positive x is to be divided to lie between sqrt(1/2) and sqrt(2), and mantissa what x then is.
func (f *formula) exponent(x value) (mantissa, e value) {
	i := f.do("shift right", f.do("subtract bits", x, f.bits(0x3f3504f3))) // sqrt(1/2)
	return f.do("subtract bits", x, f.do("shift left", i)), f.do("to float", i)
}

// less is a mask: where a < b, and equal where a = b. choose is yes where the mask is set, else no.
func (f *formula) less(a, b value) value            { return f.do("less", a, b) }
func (f *formula) equal(a, b value) value           { return f.do("equal", a, b) }
func (f *formula) choose(mask, yes, no value) value { return f.do("choose", mask, yes, no) }

// horner is the polynomial with these coefficients, the highest power first, at x.
func (f *formula) horner(x value, coefficients ...float64) value {
	p := f.num(coefficients[0])
	for _, c := range coefficients[1:] {
		p = f.fma(p, x, f.num(c))
	}
	return p
}

// abs and copySign treat the sign bit.
func (f *formula) abs(x value) value         { return f.and(x, f.bits(1<<31-1)) }
func (f *formula) copySign(a, s value) value { return f.or(a, f.and(s, f.bits(1<<31))) }
