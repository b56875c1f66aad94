package gemm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/limit"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

func cpuTime() float64 {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return float64(ts.Nano())
}

func tuneOne(level isa.Level, s Shape, reps int) (gf, share float64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pool := work.New(1)
	p, err := NewPlan[float32](level, s)
	if err != nil {
		panic(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	la, lb, lc := s.dense().lens()
	x, y, z := random[float32](r, la), random[float32](r, lb), random[float32](r, lc)
	scratch := make([]float32, p.Scratch(1))
	var t, q []float64
	for range reps {
		t0 := cpuTime()
		p.Run(pool, scratch, x, y, nil, z)
		t1 := cpuTime()
		t = append(t, 2*float64(s.M*s.N*s.K)/(t1-t0))
		a := cpuTime()
		limit.Burn(level)
		q = append(q, limit.BurnFlops(level)/(cpuTime()-a))
	}
	slices.Sort(t)
	slices.Sort(q)
	gf = t[len(t)*8/10]
	return gf, gf / q[len(q)*8/10]
}

func TestTune(t *testing.T) {
	if os.Getenv("TUNE") == "" {
		t.Skip()
	}
	level := isa.Detect()
	if os.Getenv("LEVEL") != "" {
		level, _ = isa.Parse(os.Getenv("LEVEL"))
	}
	for _, spec := range strings.Fields(os.Getenv("TUNE")) {
		var s Shape
		var tr string
		fmt.Sscanf(spec, "%dx%dx%d%s", &s.M, &s.N, &s.K, &tr)
		s.TransA = strings.HasPrefix(tr, "T")
		s.TransB = strings.HasSuffix(tr, "T")
		if x := os.Getenv("LD"); x != "" {
			fmt.Sscanf(x, "%d", &s.LDA)
			fmt.Sscanf(x, "%d,%d,%d", &s.LDA, &s.LDB, &s.LDC)
		}
		reps := max(20, int(3e8/float64(s.M*s.N*s.K)))
		gf, sh := tuneOne(level, s, reps)
		fmt.Printf("%s: %.1f %.0f%%\n", spec, gf, 100*sh)
	}
}

func ints(name string, def ...int) []int {
	e := os.Getenv(name)
	if e == "" {
		return def
	}
	var r []int
	for _, f := range strings.Fields(e) {
		x := 0
		fmt.Sscan(f, &x)
		r = append(r, x)
	}
	return r
}

func TestTune2(t *testing.T) {
	if os.Getenv("TUNE") == "" {
		t.Skip()
	}
	level := isa.Detect()
	if os.Getenv("LEVEL") != "" {
		level, _ = isa.Parse(os.Getenv("LEVEL"))
	}
	for _, spec := range strings.Fields(os.Getenv("TUNE")) {
		var s Shape
		var tr string
		fmt.Sscanf(spec, "%dx%dx%d%s", &s.M, &s.N, &s.K, &tr)
		s.TransA = strings.HasPrefix(tr, "T")
		s.TransB = strings.HasSuffix(tr, "T")
		p, err := NewPlan[float32](level, s)
		if err != nil {
			panic(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		la, lb, lc := s.dense().lens()
		x, y, z := random[float32](r, la), random[float32](r, lb), random[float32](r, lc)
		scratch := make([]float32, p.Scratch(2))
		out := spec
		for threads := 1; threads <= 2; threads++ {
			pool := work.New(threads)
			var ts []float64
			_, l := limit.FMA(pool, level)
			for start := time.Now(); time.Since(start) < 60*time.Millisecond || len(ts) < 10; {
				t0 := time.Now()
				p.Run(pool, scratch, x, y, nil, z)
				ts = append(ts, 2*float64(s.M*s.N*s.K)/float64(time.Since(t0).Nanoseconds()))
			}
			_, l2 := limit.FMA(pool, level)
			slices.Sort(ts)
			if os.Getenv("DIST") != "" {
				fmt.Println(ts[0], ts[len(ts)/10], ts[len(ts)/4], ts[len(ts)/2], ts[len(ts)*3/4], ts[len(ts)*9/10], ts[len(ts)-1])
			}
			out += fmt.Sprintf("  %dT %.1f (%.0f%%)", threads, ts[len(ts)/2], 100*ts[len(ts)/2]/max(l, l2))
			pool.Close()
		}
		fmt.Println(out, p.strip, p.strips, p.rowBlock, p.rowBlocks)
	}
}
