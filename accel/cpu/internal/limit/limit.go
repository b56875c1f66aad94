package limit

import (
	"context"
	"slices"
	"time"
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// Report is what all threads of a pool reach together, each a median over short bursts.
type Report struct {
	Level   isa.Level
	Threads int

	FMA       float64 // GFLOP/s of multiply-adds from registers
	LoadedFMA float64 // GFLOP/s of 12 multiply-adds (16 at NEON) beside 8 loads from L1, as in a matmul kernel

	// GB/s between processor and memory, counting each value read or written
	// once: a = b*b+c, and a = f(b), with plain and with non-temporal stores.
	Triad, TriadStream float64
	Map, MapStream     float64
}

// The arrays of the memory probes are far larger than a thread's share of the caches.
const (
	arrayLen = 16 << 20 // values
	fmaTurns = 100_000  // of 12 or 16 vectors: well below a millisecond
)

// Measure runs every probe in turn for about the duration in total, but each at least
// three times. It takes 192 MiB of memory. A level above that of the processor is not allowed.
func Measure(ctx context.Context, pool *work.Pool, level isa.Level, d time.Duration) (Report, error) {
	return measure(ctx, pool, level, d, arrayLen)
}

// measure is Measure with arrays of n values.
func measure(ctx context.Context, pool *work.Pool, level isa.Level, d time.Duration, n int) (Report, error) {
	k := kernelsOf(level)
	r := Report{Level: level, Threads: pool.Threads()}
	a, b, c := aligned(n), aligned(n), aligned(n)
	for i := range b {
		b[i], c[i] = 1.5, 0.25
	}
	flops := float64(pool.Threads()) * fmaTurns * 2 * float64(k.chains*k.lanes)
	probes := []struct {
		result *float64
		amount float64 // FLOP, or bytes
		task
	}{
		{&r.FMA, flops, task{fma: k.fma}},
		{&r.LoadedFMA, flops, task{fma: k.fmaLoad}},
		{&r.Triad, 12 * float64(n), task{memory: k.triad}},
		{&r.TriadStream, 12 * float64(n), task{memory: k.triadStream}},
		{&r.Map, 8 * float64(n), task{memory: k.transform}},
		{&r.MapStream, 8 * float64(n), task{memory: k.transformStream}},
	}
	rates := make([][]float64, len(probes))
	for start := time.Now(); time.Since(start) < d || len(rates[0]) < 3; {
		if ctx.Err() != nil {
			return Report{}, context.Cause(ctx)
		}
		for i := range probes {
			p := &probes[i]
			p.parts, p.unit = pool.Threads(), k.unit
			p.a, p.b, p.c = a, b, c
			t := time.Now()
			pool.Run(p.parts, &p.task)
			rates[i] = append(rates[i], p.amount/float64(time.Since(t).Nanoseconds()))
		}
	}
	for i, x := range rates {
		slices.Sort(x)
		*probes[i].result = x[len(x)/2]
	}
	return r, nil
}

// FMA runs the two FMA probes once, which takes about a millisecond, and returns GFLOP/s.
func FMA(pool *work.Pool, level isa.Level) (registers, loaded float64) {
	k := kernelsOf(level)
	rate := func(f func(n int, x *float32)) float64 {
		t := time.Now()
		pool.Run(pool.Threads(), &task{fma: f})
		return float64(pool.Threads()) * fmaTurns * 2 * float64(k.chains*k.lanes) / float64(time.Since(t).Nanoseconds())
	}
	return rate(k.fma), rate(k.fmaLoad)
}

// kernels are a level's probes.
type kernels struct {
	chains                                         int // independent multiply-adds in a turn
	lanes                                          int // values in a vector
	unit                                           int // values in a turn of the memory probes
	fma, fmaLoad                                   func(n int, x *float32)
	triad, triadStream, transform, transformStream func(n int, a, b, c *float32)
}

// task is one burst of a probe, with a part for each thread.
type task struct {
	fma     func(n int, x *float32)
	memory  func(n int, a, b, c *float32)
	a, b, c []float32
	parts   int
	unit    int
}

// ones is a vector at any level.
var ones = [16]float32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}

func (t *task) Do(i int) {
	if t.fma != nil {
		t.fma(fmaTurns, &ones[0])
		return
	}
	turns := len(t.a) / t.unit
	from, to := i*turns/t.parts, (i+1)*turns/t.parts
	if at := from * t.unit; to > from {
		t.memory(to-from, &t.a[at], &t.b[at], &t.c[at])
	}
}

// aligned returns n values that start on a cache line.
func aligned(n int) []float32 {
	x := make([]float32, n+16)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(x))) % 64 / 4
	return x[skip:][:n]
}
