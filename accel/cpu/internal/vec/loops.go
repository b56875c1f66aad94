package vec

import (
	"math"
	"unsafe"

	"github.com/cortado-ml/cortado/internal/scalar"
)

// The plain loops: the kernels of the levels without assembly, and what the assembly is tested against.

// elements is an operand of n elements. One of step 0 has one, and is indexed by i*0.
func elements[T any](p *T, step, n int) []T { return unsafe.Slice(p, max(1, n*step)) }

func unary[T number](op Op, dst, a *T, n int) {
	d := unsafe.Slice(dst, n)
	switch op {
	case Neg:
		for i, x := range unsafe.Slice(a, n) {
			d[i] = -x
		}
	case Abs:
		for i, x := range unsafe.Slice(a, n) {
			d[i] = abs(x)
		}
	case Sign:
		for i, x := range unsafe.Slice(a, n) {
			d[i] = sign(x)
		}
	case ReLU:
		for i, x := range unsafe.Slice(a, n) {
			if x < 0 {
				x = 0
			}
			d[i] = x
		}
	}
}

// abs clears the sign of -0, too.
func abs[T number](x T) T {
	if x < 0 {
		return -x
	}
	return x + 0 // -0 + 0 is 0
}

// sign is 1 above 0, -1 below 0, and x itself where it is a zero or NaN.
func sign[T number](x T) T {
	one := T(1)
	switch {
	case x > 0:
		return one
	case x < 0:
		return -one
	}
	return x
}

func binary[T number](op Op, dst, a, b *T, aStep, bStep, n int) {
	d, x, y := unsafe.Slice(dst, n), elements(a, aStep, n), elements(b, bStep, n)
	switch op {
	case Add:
		for i := range d {
			d[i] = x[i*aStep] + y[i*bStep]
		}
	case Sub:
		for i := range d {
			d[i] = x[i*aStep] - y[i*bStep]
		}
	case Mul:
		for i := range d {
			d[i] = x[i*aStep] * y[i*bStep]
		}
	case Div:
		for i := range d {
			if v := y[i*bStep]; whole[T]() && v == 0 {
				d[i] = 0
			} else {
				d[i] = x[i*aStep] / v
			}
		}
	case FloorDiv:
		for i := range d {
			if a, b := x[i*aStep], y[i*bStep]; whole[T]() {
				d[i] = T(scalar.IntFloorDiv(int64(a), int64(b)))
			} else {
				d[i] = T(scalar.FloorDiv(float64(a), float64(b)))
			}
		}
	case Rem:
		for i := range d {
			if a, b := x[i*aStep], y[i*bStep]; whole[T]() {
				d[i] = T(scalar.IntRem(int64(a), int64(b)))
			} else {
				d[i] = T(scalar.Rem(float64(a), float64(b)))
			}
		}
	case Pow:
		for i := range d {
			d[i] = T(math.Pow(float64(x[i*aStep]), float64(y[i*bStep])))
		}
	case Min:
		for i := range d {
			d[i] = min(x[i*aStep], y[i*bStep])
		}
	case Max:
		for i := range d {
			d[i] = max(x[i*aStep], y[i*bStep])
		}
	case ReLUGrad:
		for i := range d {
			switch v := x[i*aStep]; {
			case v > 0:
				d[i] = y[i*bStep]
			case v == v:
				d[i] = 0
			default:
				d[i] = v
			}
		}
	}
}

// whole reports whether T holds integers.
func whole[T number]() bool {
	one := T(1)
	return one/2 == 0
}

// multiplyAdd is a*b + c. The conversions keep compilers from rounding once only.
func multiplyAdd[T float](dst, a, b, c *T, aStep, bStep, cStep, n int) {
	d, x, y, z := unsafe.Slice(dst, n), elements(a, aStep, n), elements(b, bStep, n), elements(c, cStep, n)
	for i := range d {
		d[i] = T(x[i*aStep]*y[i*bStep]) + z[i*cStep]
	}
}

// multiplySub is c - a*b.
func multiplySub[T float](dst, a, b, c *T, aStep, bStep, cStep, n int) {
	d, x, y, z := unsafe.Slice(dst, n), elements(a, aStep, n), elements(b, bStep, n), elements(c, cStep, n)
	for i := range d {
		d[i] = z[i*cStep] - T(x[i*aStep]*y[i*bStep])
	}
}

// compare is Lt, Le, Eq or Ne.
func compare[T number](op Op, dst *uint8, a, b *T, aStep, bStep, n int) {
	d, x, y := unsafe.Slice((*bool)(unsafe.Pointer(dst)), n), elements(a, aStep, n), elements(b, bStep, n)
	switch op {
	case Lt:
		for i := range d {
			d[i] = x[i*aStep] < y[i*bStep]
		}
	case Le:
		for i := range d {
			d[i] = x[i*aStep] <= y[i*bStep]
		}
	case Eq:
		for i := range d {
			d[i] = x[i*aStep] == y[i*bStep]
		}
	case Ne:
		for i := range d {
			d[i] = x[i*aStep] != y[i*bStep]
		}
	}
}

// where moves elements of the size of T.
func where[T any](c *call) {
	d := unsafe.Slice((*T)(c.dst), c.n)
	k, x, y := arg[uint8](c, 0), arg[T](c, 1), arg[T](c, 2)
	if c.step[0] == 0 { // one condition for all
		from, step := y, c.step[2]
		if k[0] != 0 {
			from, step = x, c.step[1]
		}
		if step == 1 {
			copy(d, from)
			return
		}
		for i := range d {
			d[i] = from[0]
		}
		return
	}
	for i := range d {
		if k[i*c.step[0]] != 0 {
			d[i] = x[i*c.step[1]]
		} else {
			d[i] = y[i*c.step[2]]
		}
	}
}

// arg is operand i of a call.
func arg[T any](c *call, i int) []T { return elements((*T)(c.src[i]), c.step[i], c.n) }
