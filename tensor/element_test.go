package tensor_test

import (
	"math"
	"slices"
	"testing"

	. "github.com/cortado-ml/cortado/tensor"
)

// TestSetSaturates is the meaning of a cast: the fraction is cut off, what does not fit becomes the nearest value, NaN is 0.
func TestSetSaturates(t *testing.T) {
	for _, c := range []struct {
		d    DType
		x    float64
		want int64
	}{
		{I32, math.NaN(), 0}, {I32, math.Inf(1), math.MaxInt32}, {I32, math.Inf(-1), math.MinInt32}, {I32, 3e9, math.MaxInt32},
		{I32, -3e9, math.MinInt32}, {I32, 2147483648, math.MaxInt32}, {I32, 2147483647.9, math.MaxInt32}, {I32, -2147483648.9, math.MinInt32},
		{I32, 1.9, 1}, {I32, -1.9, -1}, {I32, -0.5, 0}, {I32, 1e300, math.MaxInt32},
		{I64, math.NaN(), 0}, {I64, 9.3e18, math.MaxInt64}, {I64, -9.3e18, math.MinInt64}, {I64, 0x1p63, math.MaxInt64}, {I64, -0x1p63, math.MinInt64},
		{I64, math.Nextafter(0x1p63, 0), math.MaxInt64 - 1023}, {I64, math.Inf(1), math.MaxInt64}, {I64, math.Inf(-1), math.MinInt64}, {I64, -2.99, -2},
		{U8, math.NaN(), 0}, {U8, 300, 255}, {U8, -1, 0}, {U8, 255.9, 255}, {U8, 256, 255}, {U8, -0.9, 0}, {U8, math.Inf(1), 255}, {U8, math.Inf(-1), 0},
		{Bool, 0, 0}, {Bool, math.Copysign(0, -1), 0}, {Bool, 0.25, 1}, {Bool, math.NaN(), 1}, {Bool, -7, 1},
	} {
		u := New(SpecOf(c.d, 3))
		u.Set(1, c.x)
		if got := u.Int(1); got != c.want {
			t.Errorf("%v of %v is %d, want %d", c.d, c.x, got, c.want)
		}
		if u.At(0) != 0 || u.At(2) != 0 {
			t.Errorf("%v: Set touched a neighbour: %v", c.d, u)
		}
	}
}

func TestSetInt(t *testing.T) {
	for _, c := range []struct {
		d       DType
		x, want int64
	}{
		{I32, math.MaxInt64, math.MaxInt32}, {I32, math.MinInt64, math.MinInt32}, {I32, -5, -5}, {U8, 256, 255}, {U8, -1, 0}, {U8, 200, 200},
		{I64, math.MinInt64, math.MinInt64}, {I64, math.MaxInt64, math.MaxInt64}, {Bool, 2, 1}, {Bool, 0, 0},
		{F64, -3, -3}, {F32, 16777217, 16777216}, {F16, 2049, 2048}, {BF16, 257, 256},
		{F32, 1<<54 + 1<<30 + 1, 1<<54 + 1<<31}, // by way of float64 it would be a tie and round down
	} {
		u := New(SpecOf(c.d, 2))
		u.SetInt(1, c.x)
		if got := u.Int(1); got != c.want {
			t.Errorf("%v of %d is %d, want %d", c.d, c.x, got, c.want)
		}
	}
}

// TestIntOfFloat reads floats as the cast to i64 would convert them.
func TestIntOfFloat(t *testing.T) {
	u := Must(From([]float32{2.9, -2.9, float32(math.NaN()), float32(math.Inf(1)), -3e30}))
	want := []int64{2, -2, 0, math.MaxInt64, math.MinInt64}
	for i, w := range want {
		if got := u.Int(i); got != w {
			t.Errorf("element %d, %v, is %d, want %d", i, u.At(i), got, w)
		}
	}
}

// TestAtSet writes and reads numbers that every type has.
func TestAtSet(t *testing.T) {
	for _, d := range DTypes {
		u := New(SpecOf(d, 2, 2))
		for i := range 4 {
			u.Set(i, float64(i&1))
		}
		if got := u.Floats(); !slices.Equal(got, []float64{0, 1, 0, 1}) {
			t.Errorf("%v: %v", d, got)
		}
	}
}

// TestIndexOutOfRange panics, as a slice does, instead of reading another array's memory.
func TestIndexOutOfRange(t *testing.T) {
	for _, d := range DTypes {
		for _, u := range []Tensor{New(SpecOf(d, 2, 3)), New(SpecOf(d)), New(SpecOf(d, 0)), {}} {
			for _, i := range []int{-1, u.Len(), 1 << 40} {
				for what, f := range map[string]func(){
					"At": func() { u.At(i) }, "Int": func() { u.Int(i) }, "Set": func() { u.Set(i, 1) }, "SetInt": func() { u.SetInt(i, 1) },
				} {
					func() {
						defer func() { recover() }()
						f()
						if !u.IsNone() || what == "At" || what == "Int" {
							t.Errorf("%s(%d) of %v did not panic", what, i, u.Spec())
						}
					}()
				}
			}
		}
	}
}
