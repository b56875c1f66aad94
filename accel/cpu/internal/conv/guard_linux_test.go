package conv

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// guarded returns a copy of x; what comes after it faults, as does what comes before its page.
func guarded[T float32 | uint8](t *testing.T, x []T) []T {
	page, size := unix.Getpagesize(), len(x)*int(unsafe.Sizeof(*new(T)))
	pages := ceil(size, page) * page
	m, err := unix.Mmap(-1, 0, pages+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	for _, wall := range [][]byte{m[:page], m[page+pages:]} {
		if err := unix.Mprotect(wall, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	g := unsafe.Slice((*T)(unsafe.Pointer(&m[page+pages-size])), len(x))
	copy(g, x)
	return g
}

// TestGuards runs kernels between walls: nothing beyond the last pixel that
// counts may be touched. It matters where the interpreter has not proved that, on arm64.
func TestGuards(t *testing.T) {
	atLevels(t, func(t *testing.T, level isa.Level, pool *work.Pool) {
		r := rand.New(rand.NewPCG(15, 16))
		for _, s := range []Shape{{2, 3, 5, 7, 48, 1, Square(3, 1, 1)}, {1, 32, 4, 3, 32, 1, Square(3, 2, 1)}, {3, 1, 6, 6, 16, 1, Square(2, 2, 0)}} {
			used := func(s Tensor) []float32 { return guarded(t, random(r, s.Len()-Block)) } // without the pixel that nobody reads
			floats := func(n int) []float32 { return guarded(t, random(r, n)) }
			out := s.Out()
			x, y, dx, dy := used(s.In()), used(s.Out()), used(s.In()), used(s.Out())
			w, bias := floats(s.WeightLen()), floats(s.Cout)
			f := must(NewForward(level, s, Epilogue{ReLU: true}))
			packed := floats(f.WeightLen())
			f.PackWeights(pool, packed, w)
			f.Run(pool, y, nil, x, packed, bias, nil)
			g := must(NewInputGradient(level, s))
			packed = floats(g.WeightLen())
			g.PackWeights(pool, packed, w)
			g.Run(pool, dx, dy, packed)
			wg := must(NewWeightGradient(level, s))
			wg.Run(pool, w, x, dy, floats(wg.Scratch()))
			p, a := must(NewMaxPool(level, s.In(), Square(2, 1, 1))), must(NewAveragePool(level, s.In(), Square(2, 1, 1), true))
			pooled, win := used(p.Out), guarded(t, make([]uint8, p.Out.Len()-Block))
			p.Max(pool, pooled, win, x, true)
			p.MaxGradient(pool, dx, pooled, win, true)
			a.Average(pool, pooled, x)
			a.AverageGradient(pool, dx, pooled)
			channels := floats(s.Cout)
			mean, variance, ds, db := floats(s.Cout), floats(s.Cout), floats(s.Cout), floats(s.Cout)
			n, l, plain := must(NewNorm(level, s.Out(), 1e-5, true)), must(NewLayout(level, s.Out())), floats(out.N*out.C*out.H*out.W)
			n.Forward(pool, y, mean, variance, dy, channels, channels)
			n.Backward(pool, dy, ds, db, dy, y, dy, channels, mean, variance)
			must(NewGradient(level, s.Out())).Bias(pool, db, dy, y)
			must(NewGradient(level, s.Out())).ReLU(pool, dy, dy, y)
			l.FromBlocked(pool, plain, y)
			l.ToBlocked(pool, y, plain)
			if s.Cin == s.Cout {
				s.Groups = s.Cin
				d, packed, w := must(NewDepthwise(level, s, true)), floats(ceil(s.Cin, Block)*s.Taps()*Block), floats(s.WeightLen())
				d.PackWeights(pool, packed, w)
				d.Run(pool, y, nil, x, packed, bias, nil)
				must(NewDepthwiseInputGradient(level, s)).Run(pool, dx, nil, dy, packed, nil, nil)
				dw := must(NewDepthwiseWeightGradient(level, s))
				dw.Run(pool, w, x, dy, floats(dw.Scratch()))
			}
			if s.Cin > MaxFirst {
				continue
			}
			images := floats(s.N * s.Cin * s.H * s.W)
			f1 := must(NewFirst(level, s, Epilogue{Pool: true}))
			packed = floats(f1.WeightLen())
			f1.PackWeights(pool, packed, w)
			f1.Run(pool, used(f1.Result()), guarded(t, make([]uint8, f1.Result().Len()-Block)), images, packed, bias, floats(f1.Scratch(2)))
			wg1 := must(NewFirstWeightGradient(level, s))
			wg1.Run(pool, w, images, dy, floats(wg1.Scratch()))
		}
	})
}
