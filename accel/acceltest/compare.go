package acceltest

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// ulp is the distance between neighbouring numbers of a type at x.
func ulp(d tensor.DType, x float64) float64 {
	bits, least := 52, -1074 // of the fraction, and the exponent of the smallest number
	switch d {
	case tensor.F32:
		bits, least = 23, -149
	case tensor.BF16:
		bits, least = 7, -133
	case tensor.F16:
		bits, least = 10, -24
	}
	if x == 0 {
		return math.Ldexp(1, least)
	}
	_, exp := math.Frexp(x) // |x| < 2^exp
	return math.Ldexp(1, max(exp-1-bits, least))
}

// largest is the largest finite magnitude in t.
func largest(t tensor.Tensor) (m float64) {
	for i := range t.Len() {
		if x := math.Abs(t.At(i)); x > m && !math.IsInf(x, 0) {
			m = x
		}
	}
	return m
}

// rounded is t in another float type; t itself if it holds no floats.
func rounded(t tensor.Tensor, d tensor.DType) tensor.Tensor {
	if !t.DType().Float() || !d.Float() || t.DType() == d {
		return t
	}
	r := tensor.New(tensor.Spec{DType: d, Shape: t.Shape()})
	for i := range t.Len() {
		r.Set(i, t.At(i))
	}
	return r
}

// differ is empty if got is want: integers and bools exactly, NaN and infinities in the same places, finite floats within the tolerance.
// A tolerance of zero asks for the sign of zeros too.
func differ(got, want tensor.Tensor, tolerance float64) string {
	if got.Spec() != want.Spec() {
		return fmt.Sprintf("is %v, want %v", got.Spec(), want.Spec())
	}
	for i := range got.Len() {
		if !got.DType().Float() {
			if x, y := got.Int(i), want.Int(i); x != y {
				return fmt.Sprintf("element %d is %d, want %d", i, x, y)
			}
			continue
		}
		x, y := got.At(i), want.At(i)
		switch {
		case math.IsNaN(x) && math.IsNaN(y):
		case tolerance == 0 && math.Float64bits(x) == math.Float64bits(y):
		case tolerance > 0 && (x == y || math.Abs(x-y) <= tolerance && !math.IsInf(y, 0)):
		default:
			return fmt.Sprintf("element %d is %v, want %v (tolerance %.3g)", i, x, y, tolerance)
		}
	}
	return ""
}
