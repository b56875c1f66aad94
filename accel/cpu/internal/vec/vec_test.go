package vec

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	pool  = work.New(3)
	alone = work.New(1)
	nan   = math.NaN()
	inf   = math.Inf(1)
)

// special are values that kernels get wrong.
var special = []float64{nan, inf, -inf, 0, math.Copysign(0, -1), 1, -1, 0x1p-149, -0x1p-149, 0x1p-126, 0x1.fffffep127, -0x1.fffffep127, 1e-3, 88.8, -103.9, 0.625}

// memory is the bytes of x.
func memory[T any](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// levels runs f at every level of this processor.
func levels(t *testing.T, f func(t *testing.T, l isa.Level)) {
	for _, l := range isa.Available() {
		t.Run(l.String(), func(t *testing.T) { f(t, l) })
	}
}

// run runs a step, and again on one thread: all bits must agree. The outputs hold NaN before.
func run(t testing.TB, s Step, in, out [][]byte) {
	t.Helper()
	var first [][]byte
	for _, p := range []*work.Pool{alone, pool} {
		for _, o := range out {
			for i := range o {
				o[i] = 0xff
			}
		}
		if err := s.Run(p, in, out); err != nil {
			t.Fatal(err)
		}
		for i, o := range out {
			if first == nil || len(first) <= i {
				first = append(first, append([]byte(nil), o...))
			} else if string(first[i]) != string(o) {
				t.Fatalf("output %d depends on the number of threads", i)
			}
		}
	}
}

// quick reports whether tests take samples: with -short, and where all is slow.
func quick() bool { return raced || testing.Short() }

// values returns n numbers of about that size.
func values[T number](r *rand.Rand, n int, size float64) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T((2*r.Float64() - 1) * size)
		if T(0)-1 > 0 { // unsigned
			x[i] = T(r.Float64() * size)
		}
	}
	return x
}

func source() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// near fails where got is further from want than the relative error eps; NaN and infinities must agree.
func near[T float](t testing.TB, what string, got []T, want []float64, eps float64) {
	t.Helper()
	for i, w := range want {
		g := float64(got[i])
		same := g == w || g != g && w != w
		if !same && !(math.Abs(g-w) <= eps*math.Abs(w)) {
			t.Fatalf("%s: value %d is %g, want %g", what, i, g, w)
		}
	}
}

// exactly fails where got is not want rounded, sign of zero included.
func exactly[T float](t testing.TB, what string, got []T, want []float64) {
	t.Helper()
	for i, w := range want {
		g := float64(got[i])
		w = float64(T(w))
		if g != w && !(g != g && w != w) || g == 0 && math.Signbit(g) != math.Signbit(w) {
			t.Fatalf("%s: value %d is %g, want %g", what, i, g, w)
		}
	}
}

func float64s[T number](x []T) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// type of T.
func dtype[T tensor.Elem]() tensor.DType { return tensor.TypeOf[T]() }
