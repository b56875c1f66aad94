package conv

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"golang.org/x/sys/unix"
)

func cpu() time.Duration {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

var zzSum [2]float64

func part(name string, flops float64, f func()) {
	if o := os.Getenv("ZZ"); o != "" && !strings.Contains(name, o) {
		return
	}
	f()
	t0 := time.Now()
	f()
	d := time.Since(t0)
	reps := max(1, int(3*time.Millisecond/max(d, 1)))
	var ts []float64
	for start := time.Now(); time.Since(start) < 100*time.Millisecond || len(ts) < 5; {
		t := cpu()
		for range reps {
			f()
		}
		ts = append(ts, float64(cpu()-t)/float64(reps))
	}
	slices.Sort(ts)
	zzSum[0] += ts[0]
	zzSum[1] += ts[len(ts)/2]
	fmt.Printf("%-44s best %8.3f  median %8.3f ms  %6.1f GF\n", name, ts[0]/1e6, ts[len(ts)/2]/1e6, flops/ts[0])
}

func TestZZ(t *testing.T) {
	if os.Getenv("ZZ") == "" && os.Getenv("ZZALL") == "" {
		t.Skip()
	}
	runtime.LockOSThread()
	r := rand.New(rand.NewPCG(1, 2))
	pool := work.New(1)
	if os.Getenv("T2") != "" {
		pool = work.New(2)
	}
	for _, level := range []isa.Level{isa.AVX2, isa.AVX512} {
		zzSum = [2]float64{}
		l := level.String() + " "
		s1, s2 := firstShapes[0], benchShapes[0]
		f1 := must(NewFirst(level, s1, Epilogue{true, true}))
		x, w1, b1 := random(r, 64*784), random(r, 288), random(r, 32)
		pw1 := make([]float32, f1.WeightLen())
		part(l+"pack1", 0, func() { f1.PackWeights(pool, pw1, w1) })
		y1 := random(r, f1.Result().Len())
		win1 := make([]uint8, len(y1))
		sc1 := random(r, f1.Scratch(2))
		part(l+"conv1", s1.Flops(), func() { f1.Run(pool, y1, win1, x, pw1, b1, sc1) })
		f2 := must(NewForward(level, s2, Epilogue{true, true}))
		w2, b2 := random(r, 64*288), random(r, 64)
		pw2 := make([]float32, f2.WeightLen())
		part(l+"pack2", 0, func() { f2.PackWeights(pool, pw2, w2) })
		y2 := random(r, f2.Result().Len())
		win2 := make([]uint8, len(y2))
		sc2 := random(r, f2.Scratch(2))
		part(l+"conv2", s2.Flops(), func() { f2.Run(pool, y2, win2, y1, pw2, b2, sc2) })
		lay := must(NewLayout(level, f2.Result()))
		flat := random(r, 64*3136)
		part(l+"flatten", 0, func() { lay.FromBlocked(pool, flat, y2) })
		dy2 := random(r, len(y2))
		part(l+"unflatten", 0, func() { lay.ToBlocked(pool, dy2, flat) })
		p2 := must(NewMaxPool(level, s2.Out(), Square(2, 2, 0)))
		d2 := random(r, s2.Out().Len())
		part(l+"unpool2", 0, func() { p2.MaxGradient(pool, d2, dy2, win2, true) })
		g2 := must(NewGradient(level, f2.Result()))
		db2 := random(r, 64)
		part(l+"bias2", 0, func() { g2.Bias(pool, db2, dy2, y2) })
		i2 := must(NewInputGradient(level, s2))
		pi2 := make([]float32, i2.WeightLen())
		part(l+"packi2", 0, func() { i2.PackWeights(pool, pi2, w2) })
		dy1 := random(r, s2.In().Len())
		part(l+"dx2", s2.Flops(), func() { i2.Run(pool, dy1, d2, pi2) })
		wg2 := must(NewWeightGradient(level, s2))
		dw2, sw2 := random(r, len(w2)), random(r, wg2.Scratch())
		part(l+"dw2", s2.Flops(), func() { wg2.Run(pool, dw2, y1, d2, sw2) })
		p1 := must(NewMaxPool(level, s1.Out(), Square(2, 2, 0)))
		d1 := random(r, s1.Out().Len())
		part(l+"unpool1", 0, func() { p1.MaxGradient(pool, d1, dy1, win1, true) })
		g1 := must(NewGradient(level, f1.Result()))
		part(l+"bias1", 0, func() { g1.Bias(pool, b1, dy1, y1) })
		wg1 := must(NewFirstWeightGradient(level, s1))
		dw1, sw1 := random(r, len(w1)), random(r, wg1.Scratch())
		part(l+"dw1", s1.Flops(), func() { wg1.Run(pool, dw1, x, d1, sw1) })
		fmt.Printf("%s sum best %.2f median %.2f ms\n\n", l, zzSum[0]/1e6, zzSum[1]/1e6)
		for _, s := range benchShapes[1:] {
			f := must(NewForward(level, s, Epilogue{}))
			i := must(NewInputGradient(level, s))
			w := must(NewWeightGradient(level, s))
			x, y, ww := random(r, s.In().Len()), random(r, s.Out().Len()), random(r, s.Cin*s.Cout*s.Taps())
			pf, pi, sc := make([]float32, f.WeightLen()), make([]float32, i.WeightLen()), make([]float32, w.Scratch())
			name := fmt.Sprintf("%s%dx%d-%d-k%ds%d ", l, s.Cin, s.H, s.Cout, s.KH, s.SH)
			part(name+"pack", 0, func() { f.PackWeights(pool, pf, ww) })
			part(name+"packi", 0, func() { i.PackWeights(pool, pi, ww) })
			part(name+"y", s.Flops(), func() { f.Run(pool, y, nil, x, pf, nil, nil) })
			part(name+"dx", s.Flops(), func() { i.Run(pool, x, y, pi) })
			part(name+"dw", s.Flops(), func() { w.Run(pool, ww, x, y, sc) })
		}
		for _, tt := range netTensors {
			n := must(NewNorm(level, tt, 1e-5, true))
			x, y, dx, dy := random(r, tt.Len()), random(r, tt.Len()), random(r, tt.Len()), random(r, tt.Len())
			c := random(r, tt.C)
			mean, va, ds, db := random(r, tt.C), random(r, tt.C), random(r, tt.C), random(r, tt.C)
			part(l+tt.String()+" bn", 0, func() { n.Forward(pool, y, mean, va, x, c, c) })
			part(l+tt.String()+" bn grad", 0, func() { n.Backward(pool, dx, ds, db, dy, y, x, c, mean, va) })
			lay := must(NewLayout(level, tt))
			part(l+tt.String()+" to", 0, func() { lay.ToBlocked(pool, y, x) })
			part(l+tt.String()+" from", 0, func() { lay.FromBlocked(pool, y, x) })
		}
	}
}
