package vec

import (
	"fmt"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

func TestStandardize(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		for _, n := range []int{1, 2, 3, 7, 15, 16, 17, 33, 64, 65, 130, 1023, 1024, 1025, 3000} {
			for _, mean := range []float64{0, 1000} {
				standardCase[float32](t, l, 5, n, mean, 1e-6)
				standardCase[float64](t, l, 5, n, mean, 1e-11)
			}
		}
		standardCase[float32](t, l, 3000, 5, 1, 1e-6)
	})
}

func standardCase[T interface {
	float
	tensor.Elem
}](t *testing.T, l isa.Level, rows, n int, mean, eps float64) {
	t.Helper()
	r := source()
	x, dy, scale, bias := values[T](r, rows*n, 2), values[T](r, rows*n, 1), values[T](r, n, 1), values[T](r, n, 1)
	for i := range x {
		x[i] += T(mean)
	}
	what := fmt.Sprintf("%v, %d rows of %d about %g", dtype[T](), rows, n, mean)
	near := func(name string, i int, got T, want float64) {
		t.Helper()
		if !(math.Abs(float64(got)-want) <= eps*(1+math.Abs(want))) {
			t.Fatalf("%s: value %d of %s is %g, want %g", what, i, name, got, want)
		}
	}
	y, rstd, z, dx := make([]T, rows*n), make([]T, rows), make([]T, rows*n), make([]T, rows*n)
	step := func(want Standardized, outs ...[]byte) {
		t.Helper()
		s, err := NewStandardize(l, dtype[T](), rows, n, 1e-5, want)
		if err != nil {
			t.Fatal(err)
		}
		run(t, s, [][]byte{memory(x), memory(scale), memory(bias)}[:1+2*(len(outs)-2)], outs)
	}
	step(Standardized{Y: true, Rstd: true, Affine: true}, memory(y), memory(rstd), memory(z))
	back, err := NewStandardizeGrad(l, dtype[T](), rows, n)
	if err != nil {
		t.Fatal(err)
	}
	copy(dx, dy)
	if err := back.Run(pool, [][]byte{memory(y), memory(rstd), memory(dx)}, [][]byte{memory(dx)}); err != nil { // in place
		t.Fatal(err)
	}
	for i := range rows {
		row, c := x[i*n:(i+1)*n], float64(n)
		m, v, s, q := 0.0, 0.0, 0.0, 0.0
		for _, a := range row {
			m += float64(a) / c
		}
		for _, a := range row {
			v += (float64(a) - m) * (float64(a) - m) / c
		}
		inv := 1 / math.Sqrt(v+1e-5)
		near("rstd", i, T(float64(rstd[i])/inv), 1)
		for j, a := range row {
			near("y", i*n+j, y[i*n+j], (float64(a)-m)*inv)
			near("y*scale + bias", i*n+j, z[i*n+j], float64(y[i*n+j])*float64(scale[j])+float64(bias[j]))
			s += float64(dy[i*n+j])
			q += float64(dy[i*n+j]) * float64(y[i*n+j])
		}
		for j := range row {
			near("dx", i*n+j, T(float64(dx[i*n+j])/inv), float64(dy[i*n+j])-s/c-float64(y[i*n+j])*q/c)
		}
	}
	// What is wanted changes no bit of it.
	y1, rstd1, z1 := make([]T, rows*n), make([]T, rows), make([]T, rows*n)
	step(Standardized{Y: true}, memory(y1), nil)
	step(Standardized{Rstd: true}, nil, memory(rstd1))
	step(Standardized{Affine: true}, nil, nil, memory(z1))
	for name, pair := range map[string][2][]T{"y": {y, y1}, "rstd": {rstd, rstd1}, "y*scale + bias": {z, z1}} {
		for i, a := range pair[0] {
			if a != pair[1][i] {
				t.Fatalf("%s: value %d of %s alone is %g, not %g", what, i, name, pair[1][i], a)
			}
		}
	}
}

func TestStandardizeRefused(t *testing.T) {
	if _, err := NewStandardize(isa.Generic, tensor.F32, -1, 2, 0, Standardized{}); err == nil {
		t.Error("-1 rows were accepted")
	}
	if _, err := NewStandardizeGrad(isa.Generic, tensor.I64, 1, 2); err == nil {
		t.Error("integers were accepted")
	}
}

// BenchmarkStandardize is layer-norm of a batch of texts.
func BenchmarkStandardize(b *testing.B) {
	const rows, n = 512, 256
	x, y, c := make([]float32, rows*n), make([]float32, rows*n), make([]float32, n)
	for i := range x {
		x[i] = float32(i % 17)
	}
	s, err := NewStandardize(isa.Detect(), tensor.F32, rows, n, 1e-5, Standardized{Affine: true})
	if err != nil {
		b.Fatal(err)
	}
	one := work.New(1)
	defer one.Close()
	b.SetBytes(8 * rows * n)
	for b.Loop() {
		if err := s.Run(one, [][]byte{memory(x), memory(c), memory(c)}, [][]byte{nil, nil, memory(y)}); err != nil {
			b.Fatal(err)
		}
	}
}
