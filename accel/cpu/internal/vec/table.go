package vec

import (
	"math"
	"unsafe"

	"github.com/cortado-ml/cortado/internal/scalar"
)

// goTable has all kernels in plain Go.
func goTable[T float]() *table[T] {
	t := &table[T]{
		lanes: goLanes, sum: sum[T], dot: dot[T], expSum: expSum[T], min: reduceMin[T], max: reduceMax[T],
		columnSum: columnSum[T], columnSquares: columnSquares[T], columnProducts: columnProducts[T],
		normalise: normalise[T], normaliseGrad: normaliseGrad[T],
		mulAdd: multiplyAdd[T], mulSub: multiplySub[T],
		philox: philoxWords, unit: unit, dropout: dropout[T],
	}
	for _, op := range []Op{Neg, Abs, Sign, ReLU} {
		t.unary[op] = func(dst, a *T, n int) { unary(op, dst, a, n) }
	}
	for op, f := range functions {
		t.unary[op] = func(dst, a *T, n int) {
			d := unsafe.Slice(dst, n)
			for i, x := range unsafe.Slice(a, n) {
				d[i] = T(f(float64(x)))
			}
		}
	}
	for _, op := range []Op{Add, Sub, Mul, Div, FloorDiv, Rem, Min, Max, Pow, ReLUGrad} {
		t.binary[op] = func(dst, a, b *T, aStep, bStep, n int) { binary(op, dst, a, b, aStep, bStep, n) }
	}
	for _, op := range []Op{Lt, Le, Eq, Ne} {
		t.compare[op] = func(dst *uint8, a, b *T, aStep, bStep, n int) { compare(op, dst, a, b, aStep, bStep, n) }
	}
	return t
}

// functions are those of one number that are computed in float64 and rounded.
var functions = map[Op]func(float64) float64{
	Sqrt: math.Sqrt, Rsqrt: scalar.Rsqrt, Exp: math.Exp, Log: scalar.Log, Tanh: math.Tanh, Sigmoid: scalar.Sigmoid,
	Expm1: math.Expm1, Log1p: math.Log1p, Sin: math.Sin, Cos: math.Cos, Erf: math.Erf,
	Floor: math.Floor, Ceil: math.Ceil, Trunc: math.Trunc, Round: math.RoundToEven,
	Softplus: scalar.Softplus, SiLU: scalar.SiLU, SiLUGrad: scalar.SiLUGrad,
	GELU: scalar.GELU, GELUGrad: scalar.GELUGrad, GELUTanh: scalar.GELUTanh, GELUTanhGrad: scalar.GELUTanhGrad,
}

// goLanes is how many partial results the plain loops keep, which lets the processor overlap their additions.
const goLanes = 4

func sum[T float](acc *float64, a *T, n int) {
	var s [goLanes]float64
	x := unsafe.Slice(a, n)
	for ; len(x) >= goLanes; x = x[goLanes:] {
		s[0] += float64(x[0])
		s[1] += float64(x[1])
		s[2] += float64(x[2])
		s[3] += float64(x[3])
	}
	for i, v := range x {
		s[i] += float64(v)
	}
	copy(unsafe.Slice(acc, goLanes), s[:])
}

func dot[T float](acc *float64, a, b *T, n int) {
	var s [goLanes]float64
	x, y := unsafe.Slice(a, n), unsafe.Slice(b, n)
	for ; len(x) >= goLanes && len(y) >= goLanes; x, y = x[goLanes:], y[goLanes:] {
		s[0] += float64(float64(x[0]) * float64(y[0]))
		s[1] += float64(float64(x[1]) * float64(y[1]))
		s[2] += float64(float64(x[2]) * float64(y[2]))
		s[3] += float64(float64(x[3]) * float64(y[3]))
	}
	for i, v := range x {
		s[i] += float64(float64(v) * float64(y[i]))
	}
	copy(unsafe.Slice(acc, goLanes), s[:])
}

func expSum[T float](dst *T, acc *float64, a *T, m T, n int) {
	d := unsafe.Slice(dst, n)
	for i, v := range unsafe.Slice(a, n) {
		d[i] = T(math.Exp(float64(v - m)))
	}
	sum(acc, dst, n)
}

func reduceMin[T float](acc, a *T, n int) {
	m := T(math.Inf(1))
	for _, v := range unsafe.Slice(a, n) {
		m = min(m, v)
	}
	for i := range goLanes {
		*at(acc, i) = m
	}
}

func reduceMax[T float](acc, a *T, n int) {
	m := T(math.Inf(-1))
	for _, v := range unsafe.Slice(a, n) {
		m = max(m, v)
	}
	for i := range goLanes {
		*at(acc, i) = m
	}
}

func columnSum[T float](acc *float64, a *T, stride, rows, n int) {
	s := unsafe.Slice(acc, n)
	clear(s)
	for i := range rows {
		for j, v := range unsafe.Slice(at(a, i*stride), n) {
			s[j] += float64(v)
		}
	}
}

func columnSquares[T float](acc *float64, a *T, mean *float64, stride, rows, n int) {
	s, m := unsafe.Slice(acc, n), unsafe.Slice(mean, n)
	clear(s)
	for i := range rows {
		for j, v := range unsafe.Slice(at(a, i*stride), n) {
			x := float64(v) - m[j]
			s[j] += float64(x * x)
		}
	}
}

func columnProducts[T float](acc *float64, a, b *T, mean *float64, stride, rows, n int) {
	s, m := unsafe.Slice(acc, n), unsafe.Slice(mean, n)
	clear(s)
	for i := range rows {
		y := unsafe.Slice(at(b, i*stride), n)
		for j, v := range unsafe.Slice(at(a, i*stride), n) {
			s[j] += float64(float64(v) * (float64(y[j]) - m[j]))
		}
	}
}

func normalise[T float](dst, a, hi, lo, scale, bias *T, stride, rows, n int) {
	h, l, s, b := unsafe.Slice(hi, n), unsafe.Slice(lo, n), unsafe.Slice(scale, n), unsafe.Slice(bias, n)
	for i := range rows {
		d := unsafe.Slice(at(dst, i*stride), n)
		for j, v := range unsafe.Slice(at(a, i*stride), n) {
			d[j] = T((v-h[j]-l[j])*s[j]) + b[j]
		}
	}
}

func normaliseGrad[T float](dst, a, b, hi, lo, scale, shift, slope *T, stride, rows, n int) {
	h, l, s, f, k := unsafe.Slice(hi, n), unsafe.Slice(lo, n), unsafe.Slice(scale, n), unsafe.Slice(shift, n), unsafe.Slice(slope, n)
	for i := range rows {
		d, y := unsafe.Slice(at(dst, i*stride), n), unsafe.Slice(at(b, i*stride), n)
		for j, v := range unsafe.Slice(at(a, i*stride), n) {
			d[j] = (v - f[j] - T((y[j]-h[j]-l[j])*k[j])) * s[j]
		}
	}
}
