package vec

import (
	"math"
	"unsafe"

	"github.com/cortado-ml/cortado/tensor"
)

// castAt prefers the kernels of a level.
func castAt(k *table[float32], from, to tensor.DType) kernel {
	rest := castKernel(from, to)
	switch [2]tensor.DType{from, to} {
	case [2]tensor.DType{tensor.F32, tensor.BF16}:
		return wholeCast(k.casts.f32ToBF16, k.lanes, rest)
	case [2]tensor.DType{tensor.BF16, tensor.F32}:
		return wholeCast(k.casts.bf16ToF32, k.lanes, rest)
	case [2]tensor.DType{tensor.F32, tensor.F16}:
		return wholeCast(k.casts.f32ToF16, k.lanes, rest)
	case [2]tensor.DType{tensor.F16, tensor.F32}:
		return wholeCast(k.casts.f16ToF32, k.lanes, rest)
	case [2]tensor.DType{tensor.U8, tensor.F32}:
		return wholeCast(k.casts.u8ToF32, k.lanes, rest)
	}
	return rest
}

// wholeCast converts whole vectors with one kernel and what remains with another.
func wholeCast[D, S any](f func(dst *D, a *S, n int), lanes int, rest kernel) kernel {
	if f == nil {
		return rest
	}
	return func(c *call) {
		if whole := c.n - c.n%lanes; whole > 0 {
			f((*D)(c.dst), (*S)(c.src[0]), whole)
			c.skip(whole, int(unsafe.Sizeof(*new(D))), int(unsafe.Sizeof(*new(S))), 0, 0)
		}
		if c.n > 0 {
			rest(c)
		}
	}
}

// castKernel converts between types, as tensor.Tensor.Set and SetInt do. Pairs that training meets have a loop of their own.
func castKernel(from, to tensor.DType) kernel {
	switch [2]tensor.DType{from, to} {
	case [2]tensor.DType{tensor.F32, tensor.BF16}:
		return convert(tensor.ToBFloat16)
	case [2]tensor.DType{tensor.BF16, tensor.F32}:
		return convert(tensor.BFloat16.Float32)
	case [2]tensor.DType{tensor.F32, tensor.F16}:
		return convert(tensor.ToFloat16)
	case [2]tensor.DType{tensor.F16, tensor.F32}:
		return convert(tensor.Float16.Float32)
	case [2]tensor.DType{tensor.F32, tensor.F64}:
		return convert(func(x float32) float64 { return float64(x) })
	case [2]tensor.DType{tensor.F64, tensor.F32}:
		return convert(func(x float64) float32 { return float32(x) })
	case [2]tensor.DType{tensor.U8, tensor.F32}:
		return convert(func(x uint8) float32 { return float32(x) })
	case [2]tensor.DType{tensor.Bool, tensor.F32}:
		return convert(func(x uint8) float32 { return float32(x & 1) })
	}
	switch from {
	case tensor.F32:
		return castFloat(func(x float32) float64 { return float64(x) }, to)
	case tensor.F64:
		return castFloat(func(x float64) float64 { return x }, to)
	case tensor.BF16:
		return castFloat(func(x tensor.BFloat16) float64 { return float64(x.Float32()) }, to)
	case tensor.F16:
		return castFloat(func(x tensor.Float16) float64 { return float64(x.Float32()) }, to)
	case tensor.I32:
		return castInt(func(x int32) int64 { return int64(x) }, to)
	case tensor.I64:
		return castInt(func(x int64) int64 { return x }, to)
	case tensor.U8:
		return castInt(func(x uint8) int64 { return int64(x) }, to)
	}
	return castInt(func(x uint8) int64 { return int64(x & 1) }, to) // bool
}

// constantKernel stores Instr.Imm or Instr.Int, converted as Cast would convert it.
func constantKernel(t tensor.DType) kernel {
	if t.Float() {
		cast := castKernel(tensor.F64, t)
		return func(c *call) {
			c.src[0] = unsafe.Pointer(&c.instr.Imm)
			cast(c)
		}
	}
	cast := castKernel(tensor.I64, t)
	return func(c *call) {
		c.src[0] = unsafe.Pointer(&c.instr.Int)
		cast(c)
	}
}

// convert applies f to each element.
func convert[S, D any](f func(S) D) kernel {
	return func(c *call) {
		d, a := unsafe.Slice((*D)(c.dst), c.n), arg[S](c, 0)
		for i := range d {
			d[i] = f(a[i*c.step[0]])
		}
	}
}

// castFloat converts from a type whose values are exact in float64.
func castFloat[S any](f func(S) float64, to tensor.DType) kernel {
	switch to {
	case tensor.F32:
		return convert(func(x S) float32 { return float32(f(x)) })
	case tensor.F64:
		return convert(f)
	case tensor.BF16:
		return convert(func(x S) tensor.BFloat16 { return tensor.ToBFloat16(roundToOdd(f(x))) })
	case tensor.F16:
		return convert(func(x S) tensor.Float16 { return tensor.ToFloat16(roundToOdd(f(x))) })
	case tensor.I32:
		return convert(func(x S) int32 { return int32(saturate(f(x), math.MinInt32, math.MaxInt32)) })
	case tensor.I64:
		return convert(func(x S) int64 { return saturate(f(x), math.MinInt64, math.MaxInt64) })
	case tensor.U8:
		return convert(func(x S) uint8 { return uint8(saturate(f(x), 0, math.MaxUint8)) })
	}
	return convert(func(x S) bool { return f(x) != 0 })
}

// castInt converts from a type whose values are exact in int64.
func castInt[S any](f func(S) int64, to tensor.DType) kernel {
	switch to {
	case tensor.F32:
		return convert(func(x S) float32 { return float32(f(x)) }) // not by way of float64, which would round twice
	case tensor.I32:
		return convert(func(x S) int32 { return int32(max(math.MinInt32, min(math.MaxInt32, f(x)))) })
	case tensor.I64:
		return convert(f)
	case tensor.U8:
		return convert(func(x S) uint8 { return uint8(max(0, min(math.MaxUint8, f(x)))) })
	case tensor.Bool:
		return convert(func(x S) bool { return f(x) != 0 })
	}
	return castFloat(func(x S) float64 { return float64(f(x)) }, to)
}

// saturate is x without its fraction, the nearest of the bounds where it lies outside, 0 for NaN. Go leaves all but the first to the machine.
func saturate(x float64, lo, hi int64) int64 {
	switch {
	case x != x:
		return 0
	case x >= float64(hi):
		return hi
	case x <= float64(lo):
		return lo
	}
	return int64(x)
}

// roundToOdd is x as a float32 that a second rounding to fewer bits treats as it would treat x: where x does not fit, the last bit is 1.
func roundToOdd(x float64) float32 {
	f := float32(x)
	if float64(f) == x || x != x || math.IsInf(float64(f), 0) {
		return f
	}
	b := math.Float32bits(f)
	if b&1 == 1 {
		return f
	}
	// f lies beside x; the odd neighbour on the other side of x encloses it.
	if math.Abs(float64(f)) > math.Abs(x) {
		return math.Float32frombits(b - 1)
	}
	return math.Float32frombits(b + 1)
}
