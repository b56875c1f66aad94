package vec

import (
	"fmt"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

// naive reduces in float64, one value after the other.
func naive(r Reduction, x []float64, shape tensor.Shape, axes uint8) []float64 {
	kept := shape
	for i := range shape.Rank() {
		if axes>>i&1 != 0 {
			kept = kept.With(i, 1)
		}
	}
	strides := tensor.BroadcastStrides(kept, shape)
	out, count := make([]float64, kept.Size()), make([]int, kept.Size())
	for i := range out {
		out[i] = map[Reduction]float64{ReduceMin: inf, ReduceMax: -inf}[r]
	}
	for i, v := range x {
		at, rest := 0, i
		for k := shape.Rank() - 1; k >= 0; k-- {
			at += rest % shape.Dim(k) * strides[k]
			rest /= shape.Dim(k)
		}
		switch r {
		case ReduceMin:
			out[at] = min(out[at], v)
		case ReduceMax:
			out[at] = max(out[at], v)
		default:
			out[at] += v
		}
		count[at]++
	}
	if r == ReduceMean {
		for i := range out {
			out[i] /= float64(count[i])
		}
	}
	return out
}

var reduceShapes = [][]int{
	{}, {1}, {5}, {70}, {1000}, {100_000}, {3, 7}, {64, 10}, {64, 512}, {2000, 3}, {50_000, 2}, {7, 1, 9}, {5, 6, 7}, {2, 3, 4, 5},
	{3, 1100, 4}, {2, 40_000}, {40, 1, 1100}, {0, 3}, {3, 0}, {4, 5, 6, 3, 2},
}

func TestReduce(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		for _, dims := range reduceShapes {
			shape := tensor.Of(dims...)
			if quick() && shape.Size() > 5000 {
				continue
			}
			for axes := range uint8(1) << shape.Rank() {
				for r := ReduceSum; r <= ReduceMax; r++ {
					what := fmt.Sprintf("%v of %v over axes %b", r, shape, axes)
					reduceCase[float32](t, what, l, r, shape, axes, 1e-6)
					reduceCase[float64](t, what, l, r, shape, axes, 1e-12)
					if l == isa.Generic && r != ReduceMean && shape.Size() > 0 {
						reduceCase[int32](t, what, l, r, shape, axes, 0)
						reduceCase[int64](t, what, l, r, shape, axes, 0)
						reduceCase[uint8](t, what, l, r, shape, axes, 0)
					}
				}
			}
		}
	})
}

func reduceCase[T interface {
	number
	tensor.Elem
}](t *testing.T, what string, l isa.Level, r Reduction, shape tensor.Shape, axes uint8, eps float64) {
	t.Helper()
	d := dtype[T]()
	s, err := NewReduce(l, r, d, shape, axes)
	if err != nil {
		t.Fatal(what, err)
	}
	x := values[T](source(), shape.Size(), 100)
	want := naive(r, float64s(x), shape, axes)
	got := make([]T, len(want))
	run(t, s, [][]byte{memory(x)}, [][]byte{memory(got)})
	scale := 1.0 // what cancels in a sum
	if r == ReduceSum {
		scale = 100 * math.Sqrt(float64(shape.Size())/float64(max(1, len(want))))
	}
	for i, w := range want {
		g := float64(got[i])
		if d == tensor.U8 && r == ReduceSum {
			w = float64(uint8(int64(w)))
		}
		if !(g == w || g != g && w != w || math.Abs(g-w) <= eps*max(math.Abs(w), scale)) {
			t.Fatalf("%s (%v): value %d is %g, want %g", what, d, i, g, w)
		}
	}
}

// TestReduceSpecial puts each special value at each place.
func TestReduceSpecial(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		for n := 1; n <= 70; n++ {
			for _, shape := range []tensor.Shape{tensor.Of(1, n), tensor.Of(n, 1), tensor.Of(n, 3)} {
				axes := uint8(1)
				if shape.Dim(0) == 1 {
					axes = 2
				}
				for r := ReduceSum; r <= ReduceMax; r++ {
					s, err := NewReduce(l, r, tensor.F32, shape, axes)
					if err != nil {
						t.Fatal(err)
					}
					for _, v := range special {
						at := (n*7 + int(r)) % n
						x := values[float32](source(), shape.Size(), 1)
						x[at*shape.Dim(1)%len(x)] = float32(v)
						want := naive(r, float64s(x), shape, axes)
						got := make([]float32, len(want))
						run(t, s, [][]byte{memory(x)}, [][]byte{memory(got)})
						near(t, fmt.Sprintf("%v over %v with %g", r, shape, v), got, want, 1e-5)
					}
				}
			}
		}
	})
}

// TestTallSum is a float32 sum that sticks at 2^24 when it is added up in float32.
func TestTallSum(t *testing.T) {
	if quick() {
		t.Skip("takes seconds")
	}
	const n = 20_000_000
	x := make([]float32, 2*n)
	for i := range x {
		x[i] = 1
	}
	levels(t, func(t *testing.T, l isa.Level) {
		for r, want := range map[Reduction]float32{ReduceSum: float32(n), ReduceMean: 1} {
			s, err := NewReduce(l, r, tensor.F32, tensor.Of(n, 2), 1)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float32, 2)
			if err := s.Run(pool, [][]byte{memory(x)}, [][]byte{memory(got)}); err != nil {
				t.Fatal(err)
			}
			if got[0] != want || got[1] != want {
				t.Errorf("%v is %v, want %g", r, got, want)
			}
		}
	})
}

func BenchmarkReduce(b *testing.B) {
	for _, c := range []struct {
		dims []int
		axes uint8
	}{{[]int{16 << 20}, 1}, {[]int{64, 512}, 1}, {[]int{64, 512}, 2}, {[]int{64, 10}, 1}, {[]int{8 << 20, 2}, 1}, {[]int{4096, 4096}, 1}} {
		shape := tensor.Of(c.dims...)
		x := make([]float32, shape.Size())
		y := make([]float32, shape.Size())
		for _, r := range []Reduction{ReduceSum, ReduceMax} {
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("%v/%v/%b/threads%d", r, shape, c.axes, threads), func(b *testing.B) {
					s, err := NewReduce(isa.Detect(), r, tensor.F32, shape, c.axes)
					if err != nil {
						b.Fatal(err)
					}
					pool := work.New(threads)
					defer pool.Close()
					b.ReportAllocs()
					b.SetBytes(int64(4 * len(x)))
					in, out := [][]byte{memory(x)}, [][]byte{memory(y)}
					for b.Loop() {
						s.Run(pool, in, out)
					}
				})
			}
		}
	}
}
