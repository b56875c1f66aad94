package vec

import (
	"math"
	"unsafe"
)

// reducer is what one reduction of values T, accumulated as A, does.
type reducer[T, A any] struct {
	identity A
	combine  func(x, y A) A
	result   func(A) T

	// run reduces n values side by side.
	run func(f *frame, a *T, n int) A
	// columns combines rows, stride values apart, into acc.
	columns func(f *frame, acc []A, a *T, stride, rows int)
}

// floatSum adds up, and divides the sum.
func floatSum[T float](t *table[T], divisor float64) reducer[T, float64] {
	return reducer[T, float64]{
		combine: func(x, y float64) float64 { return x + y },
		result:  func(x float64) T { return T(x / divisor) },
		run: func(f *frame, a *T, n int) float64 {
			t.sum(&f.acc[0], a, n)
			return t.total(f)
		},
		columns: func(f *frame, acc []float64, a *T, stride, rows int) {
			s := (*float64)(f.scratch())
			t.columnSum(s, a, stride, rows, len(acc))
			for j, x := range unsafe.Slice(s, len(acc)) {
				acc[j] += x
			}
		},
	}
}

// total adds up what a reduction left in the frame.
func (t *table[T]) total(f *frame) float64 {
	s := f.acc[0]
	for _, x := range f.acc[1:t.lanes] {
		s += x
	}
	return s
}

// floatExtremum is Min or Max, on the table's kernels.
func floatExtremum[T float](t *table[T], op Op) reducer[T, T] {
	reduce, identity := t.min, math.Inf(1)
	if op == Max {
		reduce, identity = t.max, math.Inf(-1)
	}
	pairs := t.binary[op]
	r := extremum(op, T(identity))
	r.run = func(f *frame, a *T, n int) T {
		p := (*T)(unsafe.Pointer(&f.acc))
		reduce(p, a, n)
		m := *p
		for i := 1; i < t.lanes; i++ {
			m = r.combine(m, *at(p, i))
		}
		return m
	}
	r.columns = func(_ *frame, acc []T, a *T, stride, rows int) {
		for i := range rows {
			pairs(&acc[0], &acc[0], at(a, i*stride), 1, 1, len(acc))
		}
	}
	return r
}

// intExtremum is Min or Max of integers.
func intExtremum[T number](op Op) reducer[T, T] {
	if op == Min {
		return extremum(op, greatest[T]())
	}
	return extremum(op, least[T]())
}

// extremum is Min or Max in plain loops.
func extremum[T number](op Op, identity T) reducer[T, T] {
	better := func(x, y T) T { return max(x, y) }
	if op == Min {
		better = func(x, y T) T { return min(x, y) }
	}
	return reducer[T, T]{
		identity: identity,
		combine:  better,
		result:   func(x T) T { return x },
		run: func(_ *frame, a *T, n int) T {
			m := identity
			for _, x := range unsafe.Slice(a, n) {
				m = better(m, x)
			}
			return m
		},
		columns: func(_ *frame, acc []T, a *T, stride, rows int) {
			for i := range rows {
				for j, x := range unsafe.Slice(at(a, i*stride), len(acc)) {
					acc[j] = better(acc[j], x)
				}
			}
		},
	}
}

// intSum adds up in int64, which wraps around as T does.
func intSum[T number]() reducer[T, int64] {
	return reducer[T, int64]{
		combine: func(x, y int64) int64 { return x + y },
		result:  func(x int64) T { return T(x) },
		run: func(_ *frame, a *T, n int) int64 {
			s := int64(0)
			for _, x := range unsafe.Slice(a, n) {
				s += int64(x)
			}
			return s
		},
		columns: func(_ *frame, acc []int64, a *T, stride, rows int) {
			for i := range rows {
				for j, x := range unsafe.Slice(at(a, i*stride), len(acc)) {
					acc[j] += int64(x)
				}
			}
		},
	}
}

// least and greatest are the bounds of an integer type; of a float type, some number.
func least[T number]() T {
	var z T
	switch any(z).(type) {
	case int32:
		m := int32(math.MinInt32)
		return T(m)
	case int64:
		m := int64(math.MinInt64)
		return T(m)
	}
	return z
}

func greatest[T number]() T {
	var z T
	switch any(z).(type) {
	case int32:
		m := int32(math.MaxInt32)
		return T(m)
	case int64:
		m := int64(math.MaxInt64)
		return T(m)
	case uint8:
		m := uint8(math.MaxUint8)
		return T(m)
	}
	return z
}
