package tensor

import (
	"math"
	"unsafe"
)

// elem is element i as a T. The caller knows the type; an index out of range panics, as it does in a slice.
func elem[T Elem](t Tensor, i int) *T {
	return &unsafe.Slice((*T)(t.p), t.n)[i]
}

// At reads element i, in row-major order, as a float64: exact but for i64 beyond 2^53; a bool is 0 or 1. At, Set, Int and SetInt panic where
// there is no element i, as a slice does.
func (t Tensor) At(i int) float64 {
	switch t.spec.DType {
	case F32:
		return float64(*elem[float32](t, i))
	case F64:
		return *elem[float64](t, i)
	case BF16:
		return float64(elem[BFloat16](t, i).Float32())
	case F16:
		return float64(elem[Float16](t, i).Float32())
	}
	return float64(t.Int(i))
}

// Set writes element i, rounded to nearest even for floats. For integers the fraction is cut off, NaN is 0 and what does not fit becomes
// the nearest value that does; for bool all but 0 is true. This is also what a cast means, on every driver.
func (t Tensor) Set(i int, x float64) {
	switch t.spec.DType {
	case F32:
		*elem[float32](t, i) = float32(x)
	case F64:
		*elem[float64](t, i) = x
	case BF16:
		*elem[BFloat16](t, i) = ToBFloat16(roundToOdd(x))
	case F16:
		*elem[Float16](t, i) = ToFloat16(roundToOdd(x))
	case Bool:
		*elem[bool](t, i) = x != 0
	default:
		t.SetInt(i, saturate(x))
	}
}

// Int reads element i of an integer or bool tensor, exactly; of a float tensor, as Set would convert it to i64.
func (t Tensor) Int(i int) int64 {
	switch t.spec.DType {
	case I32:
		return int64(*elem[int32](t, i))
	case I64:
		return *elem[int64](t, i)
	case U8:
		return int64(*elem[uint8](t, i))
	case F32, F64, BF16, F16:
		return saturate(t.At(i))
	}
	return int64(*elem[uint8](t, i) & 1)
}

// SetInt writes element i; an integer type takes the nearest value that it has.
func (t Tensor) SetInt(i int, x int64) {
	switch t.spec.DType {
	case I32:
		*elem[int32](t, i) = int32(max(math.MinInt32, min(math.MaxInt32, x)))
	case I64:
		*elem[int64](t, i) = x
	case U8:
		*elem[uint8](t, i) = uint8(max(0, min(math.MaxUint8, x)))
	case F32:
		*elem[float32](t, i) = float32(x) // not by way of float64, which would round twice
	case BF16:
		const low = 1<<11 - 1 // the bits that a float64 may lack: all they say is on which side of a tie x lies
		if x&low != 0 && (x > 1<<53 || x < -1<<53) {
			x = x&^low | 1<<11
		}
		t.Set(i, float64(x))
	case F64, F16: // a value that float64 rounds is infinite as f16
		t.Set(i, float64(x))
	default:
		*elem[bool](t, i) = x != 0
	}
}

// saturate is x without its fraction, the nearest int64 where it does not fit, 0 for NaN. Go leaves the last two to the machine.
func saturate(x float64) int64 {
	switch {
	case x != x:
		return 0
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}

// Floats copies the elements out as float64.
func (t Tensor) Floats() []float64 {
	f := make([]float64, t.Len())
	for i := range f {
		f[i] = t.At(i)
	}
	return f
}
