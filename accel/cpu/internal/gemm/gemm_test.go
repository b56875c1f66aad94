package gemm

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

func random[T Float](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.Float64() - 0.5)
	}
	return x
}

// naive is the meaning of a Shape, summed in float64. size is the sum of all
// absolute values that went into each value of C.
func naive[T Float](s Shape, a, b, bias, c []T) (want, size []float64) {
	s = s.dense()
	want, size = make([]float64, len(c)), make([]float64, len(c))
	for i, v := range c {
		want[i] = float64(v)
	}
	at := func(trans bool, ld, i, j int) int {
		if trans {
			i, j = j, i
		}
		return i*ld + j
	}
	for q := range s.products() {
		oa, ob, oc := s.offsets(q)
		for i := range s.M {
			for j := range s.N {
				var sum, abs float64
				add := func(x float64) { sum, abs = sum+x, abs+math.Abs(x) }
				for p := range s.K {
					add(float64(a[oa+at(s.TransA, s.LDA, i, p)]) * float64(b[ob+at(s.TransB, s.LDB, p, j)]))
				}
				at := oc + i*s.LDC + j
				if s.Add {
					add(float64(c[at]))
				}
				if s.Bias {
					add(float64(bias[j]))
				}
				if s.ReLU && sum < 0 {
					sum = 0
				}
				want[at], size[at] = sum, abs
			}
		}
	}
	return want, size
}

// check runs the shape on pools of several sizes and compares it with naive.
func check[T Float](t *testing.T, level isa.Level, pools []*work.Pool, s Shape, special bool) {
	t.Helper()
	p, err := NewPlan[T](level, s)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	la, lb, lc := s.dense().lens()
	a, b, bias, c := random[T](r, la), random[T](r, lb), random[T](r, s.N), random[T](r, lc)
	if special {
		for _, x := range [][]T{a, b, bias} {
			for i := 0; i < len(x); i += 1 + r.IntN(2*len(x)/3+1) {
				x[i] = []T{T(math.NaN()), T(math.Inf(1)), T(math.Inf(-1)), 0}[r.IntN(4)]
			}
		}
	}
	if !s.Add {
		for i := range c {
			c[i] = T(math.NaN()) // must not be read
		}
	}
	want, size := naive(s, a, b, bias, c)
	eps := map[uintptr]float64{4: 0x1p-24, 8: 0x1p-53}[unsafe.Sizeof(T(0))]
	var first []T
	for _, pool := range pools {
		got := append([]T(nil), c...)
		scratch := make([]T, p.Scratch(pool.Threads()))
		for i := range scratch {
			scratch[i] = T(math.NaN())
		}
		p.Run(pool, scratch, a, b, bias, got)
		for i, v := range got {
			if math.IsNaN(want[i]) != math.IsNaN(float64(v)) || math.Abs(float64(v)-want[i]) > eps*float64(s.K+2)*size[i] || math.IsInf(want[i], 0) && float64(v) != want[i] {
				t.Fatalf("%v, %d threads, %+v: c[%d] = %g, want %g", level, pool.Threads(), s, i, v, want[i])
			}
			if first != nil && math.Float64bits(float64(first[i])) != math.Float64bits(float64(v)) {
				t.Fatalf("%v, %+v: c[%d] = %g on %d threads, %g on %d", level, s, i, v, pool.Threads(), first[i], pools[0].Threads())
			}
		}
		if first == nil {
			first = got
		}
	}
}

func atLevels(t *testing.T, f func(t *testing.T, level isa.Level, pools []*work.Pool)) {
	pools := []*work.Pool{work.New(1), work.New(3)}
	for _, level := range isa.Available() {
		t.Run(level.String(), func(t *testing.T) { f(t, level, pools) })
	}
	for _, p := range pools {
		p.Close()
	}
}

// TestShapes runs every transposition and epilogue on shapes at all edges of tiles and blocks.
func TestShapes(t *testing.T) {
	sizes := [][3]int{
		{1, 1, 1}, {1, 1, 0}, {3, 2, 0}, {0, 5, 3}, {5, 0, 3}, {1, 33, 7}, {33, 1, 7}, {2, 3, 4}, {6, 16, 4}, {12, 32, 8}, {7, 17, 5}, {11, 15, 3},
		{23, 49, 13}, {64, 10, 40}, {10, 64, 40}, {65, 130, 50}, {100, 20, 500}, {20, 300, 30}, {210, 70, 9}, {25, 41, 800},
	}
	atLevels(t, func(t *testing.T, level isa.Level, pools []*work.Pool) {
		for n, x := range sizes {
			for mode := range 32 {
				if mode%4 != n%4 && mode > 3 {
					continue // each epilogue with one transposition, in turn
				}
				s := Shape{M: x[0], N: x[1], K: x[2], TransA: mode&1 > 0, TransB: mode&2 > 0, Add: mode&4 > 0, Bias: mode&8 > 0, ReLU: mode&16 > 0}
				check[float32](t, level, pools, s, false)
				check[float32](t, level, pools, s, true)
				check[float64](t, level, pools, s, mode&1 > 0)
			}
		}
	})
}

// TestConflicts has rows whose distance is a multiple of 2 KB, which are packed.
func TestConflicts(t *testing.T) {
	atLevels(t, func(t *testing.T, level isa.Level, pools []*work.Pool) {
		for mode := range 4 {
			s := Shape{M: 70, N: 70, K: 20, TransA: mode&1 > 0, TransB: mode&2 > 0, LDA: 512, LDB: 1024, LDC: 512, Bias: true}
			check[float32](t, level, pools, s, false)
			s.M, s.N, s.K = 13, 100, 60
			check[float32](t, level, pools, s, true)
			check[float64](t, level, pools, s, true)
		}
	})
}

func TestStridesAndBatches(t *testing.T) {
	atLevels(t, func(t *testing.T, level isa.Level, pools []*work.Pool) {
		for mode := range 4 {
			s := Shape{M: 13, N: 37, K: 11, TransA: mode&1 > 0, TransB: mode&2 > 0, LDA: 40, LDB: 50, LDC: 60, Bias: true}
			check[float32](t, level, pools, s, false)
			s.Batch = []Batch{{N: 3, A: 2000, B: 0, C: 4000}, {N: 2, A: 0, B: 3000, C: 900}}
			check[float32](t, level, pools, s, false)
			check[float64](t, level, pools, s, true)
			s.Batch[0].N = 0
			check[float32](t, level, pools, s, false)
		}
	})
}

// TestAllocs runs plans whose tasks pack, on workers, and counts the heap objects of all goroutines.
func TestAllocs(t *testing.T) {
	pool := work.New(3)
	defer pool.Close()
	objects := func() uint64 {
		var m runtime.MemStats // exact, unlike runtime/metrics, which sees what spans were refilled for
		runtime.ReadMemStats(&m)
		return m.Mallocs
	}
	for _, s := range []Shape{{M: 64, N: 300, K: 70, TransB: true, Bias: true}, {M: 64, N: 300, K: 70}, {M: 8, N: 50, K: 9, TransA: true, Batch: []Batch{{N: 5, A: 72, B: 450, C: 400}}}} {
		p, err := NewPlan[float32](isa.Detect(), s)
		if err != nil {
			t.Fatal(err)
		}
		a, b, bias, c := make([]float32, p.lenA), make([]float32, p.lenB), make([]float32, s.N), make([]float32, p.lenC)
		scratch := make([]float32, p.Scratch(pool.Threads()))
		for range 20 {
			p.Run(pool, scratch, a, b, bias, c)
		}
		const runs = 200
		before := objects()
		for range runs {
			p.Run(pool, scratch, a, b, bias, c)
		}
		// The runtime itself makes some objects.
		if n := objects() - before; n > runs/10 {
			t.Errorf("%+v: %d heap objects in %d runs", s, n, runs)
		}
	}
}

func TestErrors(t *testing.T) {
	for want, s := range map[string]Shape{
		"negative size":                {M: -1, N: 1, K: 1},
		"rows of A are 3 values apart": {M: 2, N: 2, K: 4, LDA: 3},
		"rows of B are 3 values apart": {M: 2, N: 2, K: 4, TransB: true, LDB: 3},
		"rows of C are 1 values apart": {M: 2, N: 2, K: 4, LDC: 1},
		"share one C":                  {M: 2, N: 2, K: 4, Batch: []Batch{{N: 2, A: 8}}},
		"negative batch":               {M: 2, N: 2, K: 4, Batch: []Batch{{N: -2, C: 4}}},
		"too large":                    {M: 1 << 30, N: 1 << 30, K: 1 << 10},
	} {
		if _, err := NewPlan[float32](isa.Generic, s); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "gemm: ") {
			t.Errorf("%+v: got %v, want %q", s, err, want)
		}
	}
	pool := work.New(1)
	defer pool.Close()
	p, err := NewPlan[float32](isa.Generic, Shape{M: 2, N: 3, K: 4, Bias: true})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 100000)
	for want, run := range map[string]func(){
		"a, b, c have 7": func() { p.Run(pool, x, x[:7], x, x, x) },
		"bias has 2":     func() { p.Run(pool, x, x, x, x[:2], x) },
		"scratch has 0":  func() { p.Run(pool, nil, x, x, x, x) },
	} {
		func() {
			defer func() {
				if got, ok := recover().(string); !ok || !strings.Contains(got, want) {
					t.Errorf("panics with %q, want %q", got, want)
				}
			}()
			run()
		}()
	}
}
