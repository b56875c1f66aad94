package vec

import (
	"math"
	"unsafe"
)

// The plain loops: the kernels of the levels without assembly, and what the assembly is tested against.

// dst, arg: the operands of a call. An operand of step 0 is indexed by i*0.
func dst[T any](c *call) []T { return unsafe.Slice((*T)(c.dst), c.n) }

func arg[T any](c *call, i int) ([]T, int) {
	return unsafe.Slice((*T)(c.src[i]), max(1, c.n*c.step[i])), c.step[i]
}

// numberKernel is arithmetic, extremum or comparison.
func numberKernel[T number](op Op) kernel {
	switch op {
	case Neg, Abs, ReLU:
		return func(c *call) { unary[T](op, c) }
	case Lt, Le, Gt, Ge, Eq, Ne:
		return func(c *call) { compare[T](op, c) }
	}
	return func(c *call) { binary[T](op, c) }
}

func unary[T number](op Op, c *call) {
	d := dst[T](c)
	a, _ := arg[T](c, 0)
	a = a[:len(d)]
	switch op {
	case Neg:
		for i, x := range a {
			d[i] = -x
		}
	case Abs:
		for i, x := range a {
			d[i] = abs(x)
		}
	case ReLU:
		for i, x := range a {
			if x < 0 {
				x = 0
			}
			d[i] = x
		}
	}
}

// abs clears the sign of -0, too, and of NaN.
func abs[T number](x T) T {
	switch y := any(x).(type) {
	case float32:
		return T(math.Float32frombits(math.Float32bits(y) &^ (1 << 31)))
	case float64:
		return T(math.Abs(y))
	}
	if x < 0 {
		return -x
	}
	return x
}

func binary[T number](op Op, c *call) {
	d := dst[T](c)
	a, as := arg[T](c, 0)
	b, bs := arg[T](c, 1)
	switch op {
	case Add:
		for i := range d {
			d[i] = a[i*as] + b[i*bs]
		}
	case Sub:
		for i := range d {
			d[i] = a[i*as] - b[i*bs]
		}
	case Mul:
		for i := range d {
			d[i] = a[i*as] * b[i*bs]
		}
	case Div:
		whole := T(1)/2 == 0
		for i := range d {
			if y := b[i*bs]; whole && y == 0 {
				d[i] = 0
			} else {
				d[i] = a[i*as] / y
			}
		}
	case Min:
		for i := range d {
			d[i] = min(a[i*as], b[i*bs])
		}
	case Max:
		for i := range d {
			d[i] = max(a[i*as], b[i*bs])
		}
	case ReLUGrad:
		for i := range d {
			switch x := a[i*as]; {
			case x > 0:
				d[i] = b[i*bs]
			case x == x:
				d[i] = 0
			default:
				d[i] = x
			}
		}
	}
}

func compare[T number](op Op, c *call) {
	d := dst[bool](c)
	a, as := arg[T](c, 0)
	b, bs := arg[T](c, 1)
	switch op {
	case Lt:
		for i := range d {
			d[i] = a[i*as] < b[i*bs]
		}
	case Le:
		for i := range d {
			d[i] = a[i*as] <= b[i*bs]
		}
	case Gt:
		for i := range d {
			d[i] = a[i*as] > b[i*bs]
		}
	case Ge:
		for i := range d {
			d[i] = a[i*as] >= b[i*bs]
		}
	case Eq:
		for i := range d {
			d[i] = a[i*as] == b[i*bs]
		}
	case Ne:
		for i := range d {
			d[i] = a[i*as] != b[i*bs]
		}
	}
}

// where moves elements of the size of T.
func where[T any](c *call) {
	d := dst[T](c)
	k, ks := arg[uint8](c, 0)
	a, as := arg[T](c, 1)
	b, bs := arg[T](c, 2)
	for i := range d {
		if k[i*ks] != 0 {
			d[i] = a[i*as]
		} else {
			d[i] = b[i*bs]
		}
	}
}

// functionKernel computes in float64 and rounds.
func functionKernel[T float](op Op) kernel {
	if op == ReLUGrad {
		return func(c *call) { binary[T](op, c) }
	}
	f := map[Op]func(float64) float64{Sqrt: math.Sqrt, Rsqrt: rsqrt, Exp: math.Exp, Log: math.Log, Tanh: math.Tanh, Sigmoid: sigmoid}[op]
	return func(c *call) {
		d := dst[T](c)
		a, _ := arg[T](c, 0)
		for i := range d {
			d[i] = T(f(float64(a[i])))
		}
	}
}

func rsqrt(x float64) float64 { return 1 / math.Sqrt(x) }

// sigmoid never overflows, and keeps its digits where it is small.
func sigmoid(x float64) float64 {
	z := math.Exp(-math.Abs(x))
	if x < 0 {
		return z / (1 + z)
	}
	return 1 / (1 + z)
}
