package vec

import (
	"fmt"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

const normEps = 1e-5

// naiveNorm computes both directions in float64.
func naiveNorm(x, scale, bias, dy []float64, rows, n int) (y, mean, variance, dx, dscale, dbias []float64) {
	y, dx = make([]float64, rows*n), make([]float64, rows*n)
	c := float64(rows)
	for j := range n {
		m, v, s, q := 0.0, 0.0, 0.0, 0.0
		for i := range rows {
			m += x[i*n+j] / c
		}
		for i := range rows {
			v += (x[i*n+j] - m) * (x[i*n+j] - m) / c
		}
		inv := 1 / math.Sqrt(v+normEps)
		for i := range rows {
			z := (x[i*n+j] - m) * inv
			y[i*n+j] = z*scale[j] + bias[j]
			s += dy[i*n+j]
			q += dy[i*n+j] * z
		}
		for i := range rows {
			dx[i*n+j] = scale[j] * inv * (dy[i*n+j] - s/c - (x[i*n+j]-m)*inv*q/c)
		}
		mean, variance, dscale, dbias = append(mean, m), append(variance, v), append(dscale, q), append(dbias, s)
	}
	return
}

func TestBatchNorm(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		for _, rows := range []int{1, 2, 3, 10, 257} {
			for _, n := range []int{1, 2, 5, 8, 15, 16, 17, 33, 64, 65, 130} {
				normCase[float32](t, l, rows, n, 1, 2e-5)
				normCase[float32](t, l, rows, n, 1e4, 2e-5)
				normCase[float64](t, l, rows, n, 1, 1e-11)
			}
		}
	})
}

func normCase[T interface {
	float
	tensor.Elem
}](t *testing.T, l isa.Level, rows, n int, mean, eps float64) {
	t.Helper()
	r := source()
	x, dy := values[T](r, rows*n, 2), values[T](r, rows*n, 1)
	scale, bias := values[T](r, n, 2), values[T](r, n, 1)
	for i := range x {
		x[i] += T(mean)
	}
	y, m, v, dx, dscale, dbias := naiveNorm(float64s(x), float64s(scale), float64s(bias), float64s(dy), rows, n)
	forward, err := NewBatchNorm(l, dtype[T](), rows, n, normEps)
	if err != nil {
		t.Fatal(err)
	}
	backward, err := NewBatchNormGrad(l, dtype[T](), rows, n, normEps)
	if err != nil {
		t.Fatal(err)
	}
	out := [6][]T{make([]T, rows*n), make([]T, n), make([]T, n), make([]T, rows*n), make([]T, n), make([]T, n)}
	run(t, forward, [][]byte{memory(x), memory(scale), memory(bias)}, [][]byte{memory(out[0]), memory(out[1]), memory(out[2])})
	run(t, backward, [][]byte{memory(x), memory(scale), memory(dy)}, [][]byte{memory(out[3]), memory(out[4]), memory(out[5])})
	for k, want := range [][]float64{y, m, v, dx, dscale, dbias} {
		size := 1.0
		if rows == 1 && k == 3 {
			size = 300 // what cancels is scaled by 1/sqrt(eps)
		}
		for i, w := range want {
			if g := float64(out[k][i]); !(math.Abs(g-w) <= eps*max(size, math.Abs(w))) {
				t.Fatalf("%d rows of %d around %g: result %d, value %d is %g, want %g", rows, n, mean, k, i, g, w)
			}
		}
	}
}

// TestLargeMean has columns that formulas with one pass, or with a mean in float32, get wrong.
func TestLargeMean(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		for m, want := range map[float64]float64{0: -1.34164, 100: -1.34153, 1000: -1.34151, 10000: -1.33133} {
			x := make([]float32, 16)
			for i := range x {
				x[i] = float32(m + float64(i)*1e-3)
			}
			s, err := NewBatchNorm(l, tensor.F32, 16, 1, normEps)
			if err != nil {
				t.Fatal(err)
			}
			got, zero := make([]float32, 16), make([]float32, 1)
			run(t, s, [][]byte{memory(x), memory([]float32{1}), memory(zero)}, [][]byte{memory(got), memory(make([]float32, 1)), memory(make([]float32, 1))})
			near(t, fmt.Sprintf("mean %g", m), got[:1], []float64{want}, 1e-5)
		}
	})
}

func BenchmarkBatchNorm(b *testing.B) {
	for _, c := range [][2]int{{64, 512}, {256, 512}, {16384, 128}} {
		rows, n := c[0], c[1]
		x, dy, y := values[float32](source(), rows*n, 1), values[float32](source(), rows*n, 1), make([]float32, rows*n)
		v := make([]float32, n)
		pool := work.New(1)
		for name, make := range map[string]func(isa.Level, tensor.DType, int, int, float64) (Step, error){"forward": NewBatchNorm, "backward": NewBatchNormGrad} {
			b.Run(fmt.Sprintf("%s/%dx%d", name, rows, n), func(b *testing.B) {
				s, err := make(isa.Detect(), tensor.F32, rows, n, normEps)
				if err != nil {
					b.Fatal(err)
				}
				in, out := [][]byte{memory(x), memory(v), memory(dy)}, [][]byte{memory(y), memory(v), memory(v)}
				b.ReportAllocs()
				b.SetBytes(int64(4 * len(x)))
				for b.Loop() {
					s.Run(pool, in, out)
				}
			})
		}
	}
}
