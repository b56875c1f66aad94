package conv

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// bench runs f at each level and on one and two threads.
func bench(b *testing.B, flops float64, f func(level isa.Level, pool *work.Pool) func()) {
	for _, level := range isa.Available()[1:] {
		if level > isa.AVX512 {
			continue
		}
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%v/threads=%d", level, threads), func(b *testing.B) {
				pool := work.New(threads)
				defer pool.Close()
				step := f(level, pool)
				for b.Loop() {
					step()
				}
				if flops > 0 {
					b.ReportMetric(flops*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
				}
			})
		}
	}
}

// must returns a plan.
func must[T any](plan T, err error) T {
	if err != nil {
		panic(err)
	}
	return plan
}

// benchShapes are convolutions of cnn-64 and of a residual network on 32x32 images.
var benchShapes = []Shape{
	{64, 32, 14, 14, 64, 1, Square(3, 1, 1)},
	{32, 64, 32, 32, 64, 1, Square(3, 1, 1)},
	{32, 128, 16, 16, 128, 1, Square(3, 1, 1)},
	{32, 512, 4, 4, 512, 1, Square(3, 1, 1)},
	{32, 64, 32, 32, 128, 1, Square(3, 2, 1)},
	{32, 64, 32, 32, 128, 1, Square(1, 2, 0)},
}

// firstShapes are first layers of the same.
var firstShapes = []Shape{
	{64, 1, 28, 28, 32, 1, Square(3, 1, 1)},
	{32, 3, 32, 32, 64, 1, Square(3, 1, 1)},
}

func BenchmarkForward(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range benchShapes {
		for _, e := range []Epilogue{{}, {ReLU: true, Pool: true}} {
			if e.Pool && s != benchShapes[0] {
				continue
			}
			b.Run(fmt.Sprintf("%dx%d-%d-k%ds%d-pool=%v", s.Cin, s.H, s.Cout, s.KH, s.SH, e.Pool), func(b *testing.B) {
				bench(b, s.Flops(), func(level isa.Level, pool *work.Pool) func() {
					f := must(NewForward(level, s, e))
					x, w, y, bias := random(r, s.In().Len()), make([]float32, f.WeightLen()), random(r, f.Result().Len()), random(r, s.Cout)
					f.PackWeights(pool, w, random(r, s.WeightLen()))
					win, scratch := make([]uint8, len(y)), random(r, f.Scratch(pool.Threads()))
					return func() { f.Run(pool, y, win, x, w, bias, scratch) }
				})
			})
		}
	}
}

func BenchmarkInputGradient(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range benchShapes {
		b.Run(fmt.Sprintf("%dx%d-%d-k%ds%d", s.Cin, s.H, s.Cout, s.KH, s.SH), func(b *testing.B) {
			bench(b, s.Flops(), func(level isa.Level, pool *work.Pool) func() {
				f := must(NewInputGradient(level, s))
				dx, w, dy := random(r, s.In().Len()), random(r, f.WeightLen()), random(r, s.Out().Len())
				return func() { f.Run(pool, dx, dy, w) }
			})
		})
	}
}

func BenchmarkWeightGradient(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range benchShapes {
		b.Run(fmt.Sprintf("%dx%d-%d-k%ds%d", s.Cin, s.H, s.Cout, s.KH, s.SH), func(b *testing.B) {
			bench(b, s.Flops(), func(level isa.Level, pool *work.Pool) func() {
				f := must(NewWeightGradient(level, s))
				x, dw, dy, scratch := random(r, s.In().Len()), random(r, s.Cin*s.Cout*s.Taps()), random(r, s.Out().Len()), random(r, f.Scratch())
				return func() { f.Run(pool, dw, x, dy, scratch) }
			})
		})
	}
}

func BenchmarkPackWeights(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range benchShapes {
		b.Run(fmt.Sprintf("%dx%d-%d-k%ds%d", s.Cin, s.H, s.Cout, s.KH, s.SH), func(b *testing.B) {
			bench(b, float64(s.Cin*s.Cout*s.Taps()), func(level isa.Level, pool *work.Pool) func() {
				f := must(NewForward(level, s, Epilogue{}))
				w, packed := random(r, s.Cin*s.Cout*s.Taps()), random(r, f.WeightLen())
				return func() { f.PackWeights(pool, packed, w) }
			})
		})
	}
}

func BenchmarkFirst(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range firstShapes {
		for _, e := range []Epilogue{{}, {ReLU: true, Pool: true}} {
			b.Run(fmt.Sprintf("%dx%d-%d-pool=%v", s.Cin, s.H, s.Cout, e.Pool), func(b *testing.B) {
				bench(b, s.Flops(), func(level isa.Level, pool *work.Pool) func() {
					f := must(NewFirst(level, s, e))
					x, w, y, bias := random(r, s.N*s.Cin*s.H*s.W), make([]float32, f.WeightLen()), random(r, f.Result().Len()), random(r, s.Cout)
					f.PackWeights(pool, w, random(r, s.WeightLen()))
					win, scratch := make([]uint8, len(y)), random(r, f.Scratch(pool.Threads()))
					return func() { f.Run(pool, y, win, x, w, bias, scratch) }
				})
			})
		}
	}
}

func BenchmarkFirstWeightGradient(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range firstShapes {
		b.Run(fmt.Sprintf("%dx%d-%d", s.Cin, s.H, s.Cout), func(b *testing.B) {
			bench(b, s.Flops(), func(level isa.Level, pool *work.Pool) func() {
				f := must(NewFirstWeightGradient(level, s))
				x, dw, dy, scratch := random(r, s.N*s.Cin*s.H*s.W), random(r, s.Cin*s.Cout*s.Taps()), random(r, s.Out().Len()), random(r, f.Scratch())
				return func() { f.Run(pool, dw, x, dy, scratch) }
			})
		})
	}
}

// netTensors are values between layers of cnn-64 and of a residual network.
var netTensors = []Tensor{{64, 32, 28, 28}, {64, 64, 14, 14}, {32, 64, 32, 32}}

func BenchmarkPool(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, in := range netTensors {
		p := func(level isa.Level) *Pool { return must(NewMaxPool(level, in, Square(2, 2, 0))) }
		b.Run(fmt.Sprint(in, "-max"), func(b *testing.B) {
			bench(b, 0, func(level isa.Level, pool *work.Pool) func() {
				p := p(level)
				x, y := random(r, in.Len()), random(r, p.Out.Len())
				win := make([]uint8, len(y))
				return func() { p.Max(pool, y, win, x, true) }
			})
		})
		b.Run(fmt.Sprint(in, "-gradient"), func(b *testing.B) {
			bench(b, 0, func(level isa.Level, pool *work.Pool) func() {
				p := p(level)
				x, y := random(r, in.Len()), random(r, p.Out.Len())
				win := make([]uint8, len(y))
				p.Max(pool, y, win, x, true)
				return func() { p.MaxGradient(pool, x, y, win, true) }
			})
		})
	}
}

func BenchmarkLayout(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, t := range append(netTensors, Tensor{64, 64, 7, 7}) {
		b.Run(fmt.Sprint(t, "-to"), func(b *testing.B) {
			bench(b, 0, func(level isa.Level, pool *work.Pool) func() {
				l := must(NewLayout(level, t))
				x, y := random(r, t.Len()), random(r, t.Len())
				return func() { l.ToBlocked(pool, y, x) }
			})
		})
		b.Run(fmt.Sprint(t, "-from"), func(b *testing.B) {
			bench(b, 0, func(level isa.Level, pool *work.Pool) func() {
				l := must(NewLayout(level, t))
				x, y := random(r, t.Len()), random(r, t.Len())
				return func() { l.FromBlocked(pool, y, x) }
			})
		})
	}
}

func BenchmarkNorm(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, t := range netTensors {
		for _, what := range []string{"forward", "backward", "bias"} {
			b.Run(fmt.Sprint(t, "-", what), func(b *testing.B) {
				bench(b, 0, func(level isa.Level, pool *work.Pool) func() {
					n, g := must(NewNorm(level, t, 1e-5, true)), must(NewGradient(level, t))
					x, y, dx, dy := random(r, t.Len()), random(r, t.Len()), random(r, t.Len()), random(r, t.Len())
					c := func() []float32 { return random(r, t.C) }
					mean, variance, scale, bias, ds, db := c(), c(), c(), c(), c(), c()
					n.Forward(pool, y, mean, variance, x, scale, bias)
					switch what {
					case "forward":
						return func() { n.Forward(pool, y, mean, variance, x, scale, bias) }
					case "backward":
						return func() { n.Backward(pool, dx, ds, db, dy, y, x, scale, mean, variance) }
					}
					return func() { g.Bias(pool, db, dy, y) }
				})
			})
		}
	}
}
