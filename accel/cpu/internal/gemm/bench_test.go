package gemm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/limit"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// BenchmarkPlan reports GFLOP/s of shapes from square products, and from the
// three passes of linear layers: forward (TransB), input gradient, weight
// gradient (TransA).
func BenchmarkPlan(b *testing.B) {
	shapes := []Shape{
		{M: 128, N: 128, K: 128}, {M: 256, N: 256, K: 256}, {M: 512, N: 512, K: 512}, {M: 1024, N: 1024, K: 1024},
	}
	for _, batch := range []int{64, 256} {
		for _, x := range [][2]int{{784, 512}, {512, 512}, {512, 10}, {3136, 128}} {
			shapes = append(shapes, Shape{M: batch, N: x[1], K: x[0], TransB: true}, Shape{M: batch, N: x[0], K: x[1]}, Shape{M: x[1], N: x[0], K: batch, TransA: true})
		}
	}
	for threads := 1; threads <= 2; threads++ {
		pool := work.New(threads)
		for _, s := range shapes {
			p, err := NewPlan[float32](isa.Detect(), s)
			if err != nil {
				b.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			la, lb, lc := s.dense().lens()
			x, y, z := random[float32](r, la), random[float32](r, lb), random[float32](r, lc)
			scratch := make([]float32, p.Scratch(threads))
			name := fmt.Sprintf("%dx%dx%d", s.M, s.N, s.K)
			if s.TransA {
				name += "TN"
			}
			if s.TransB {
				name += "NT"
			}
			b.Run(fmt.Sprintf("%s/%d", name, threads), func(b *testing.B) {
				var probes, times []float64
				for b.Loop() {
					if len(times)%10 == 0 {
						_, loaded := limit.FMA(pool, isa.Detect())
						probes = append(probes, loaded)
					}
					start := time.Now()
					p.Run(pool, scratch, x, y, nil, z)
					times = append(times, 2*float64(s.M*s.N*s.K)/float64(time.Since(start).Nanoseconds()))
				}
				b.ReportMetric(0, "ns/op") // it has the probes in it
				b.ReportMetric(high(times), "GFLOP/s")
				b.ReportMetric(100*high(times)/high(probes), "%limit")
			})
		}
		pool.Close()
	}
}

// BenchmarkMLP runs all products of a training step of a 784-512-512-10
// perceptron: what PyTorch needs for its whole step is the limit.
func BenchmarkMLP(b *testing.B) {
	for _, batch := range []int{64, 256} {
		var shapes []Shape
		for i, x := range [][2]int{{784, 512}, {512, 512}, {512, 10}} {
			shapes = append(shapes, Shape{M: batch, N: x[1], K: x[0], TransB: true, Bias: true, ReLU: i < 2}, Shape{M: x[1], N: x[0], K: batch, TransA: true})
			if i > 0 {
				shapes = append(shapes, Shape{M: batch, N: x[0], K: x[1]})
			}
		}
		for threads := 1; threads <= 2; threads++ {
			b.Run(fmt.Sprintf("%d/%d", batch, threads), func(b *testing.B) {
				pool := work.New(threads)
				defer pool.Close()
				var steps []func()
				for _, s := range shapes {
					p, err := NewPlan[float32](isa.Detect(), s)
					if err != nil {
						b.Fatal(err)
					}
					r := rand.New(rand.NewPCG(1, 2))
					x, y, z := random[float32](r, p.lenA), random[float32](r, p.lenB), random[float32](r, p.lenC)
					bias, scratch := random[float32](r, s.N), make([]float32, p.Scratch(threads))
					steps = append(steps, func() { p.Run(pool, scratch, x, y, bias, z) })
				}
				for b.Loop() {
					for _, f := range steps {
						f()
					}
				}
			})
		}
	}
}

// high is a rate that is reached in quiet moments: nine tenths are below.
func high(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)*9/10]
}
