package conv

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

func BenchmarkPack(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	pool := work.New(1)
	for _, c := range []int{64, 128, 256, 512} {
		for _, k := range []int{3, 1} {
			s := Shape{1, c, 4, 4, c, 1, Square(k, 1, k/2)}
			f, g := must(NewForward(isa.AVX512, s, Epilogue{})), must(NewInputGradient(isa.AVX512, s))
			w, d1, d2 := random(r, s.WeightLen()), make([]float32, f.WeightLen()), make([]float32, g.WeightLen())
			do := func(name string, fn func()) {
				b.Run(fmt.Sprintf("%s/%d/%d", name, c, k), func(b *testing.B) {
					var r0, r1 syscall.Rusage
					syscall.Getrusage(0, &r0)
					for range b.N {
						fn()
					}
					syscall.Getrusage(0, &r1)
					b.ReportMetric(float64(r1.Utime.Nano()+r1.Stime.Nano()-r0.Utime.Nano()-r0.Stime.Nano())/float64(b.N)/float64(len(w)), "cpu-ns/weight")
				})
			}
			do("forward", func() { f.PackWeights(pool, d1, w) })
			do("inputgrad", func() { g.PackWeights(pool, d2, w) })
		}
	}
	for _, t := range []Tensor{{8, 64, 56, 56}, {32, 512, 14, 14}, {32, 64, 32, 32}, {32, 512, 4, 4}} {
		l := must(NewLayout(isa.AVX512, t))
		x, y := random(r, t.Len()), random(r, t.Len())
		do := func(name string, fn func()) {
			b.Run(fmt.Sprintf("%s/%v", name, t), func(b *testing.B) {
				var r0, r1 syscall.Rusage
				syscall.Getrusage(0, &r0)
				for range b.N {
					fn()
				}
				syscall.Getrusage(0, &r1)
				b.ReportMetric(8*float64(t.Len())/(float64(r1.Utime.Nano()+r1.Stime.Nano()-r0.Utime.Nano()-r0.Stime.Nano())/float64(b.N)), "cpu-GB/s")
			})
		}
		do("toblocked", func() { l.ToBlocked(pool, y, x) })
		do("toplain", func() { l.FromBlocked(pool, y, x) })
	}
}
