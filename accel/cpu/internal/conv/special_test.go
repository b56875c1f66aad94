package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// zeroPadded is naive with the products of the padding, which is zeros: 0 x NaN and 0 x Inf are NaN.
func zeroPadded(s Shape, x, w, dy, bias []float32) (y, dx, dw []float64) {
	y, dx, dw = naive(s, x, w, dy, bias)
	out := s.Out()
	in, _ := s.PerGroup()
	for i := range y {
		co, oy, ox := i/(out.H*out.W)%s.Cout, i/out.W%out.H, i%out.W
		for k := range in * s.Taps() {
			iy, ix := oy*s.SH+k/s.KW%s.KH*s.DH-s.Top, ox*s.SW+k%s.KW*s.DW-s.Left
			if iy < 0 || iy >= s.H || ix < 0 || ix >= s.W {
				v := co*in*s.Taps() + k
				y[i] += 0 * float64(w[v])
				dw[v] += 0 * float64(dy[i])
			}
		}
	}
	return y, dx, dw
}

// TestSpecial puts NaN and infinities anywhere into each operand.
func TestSpecial(t *testing.T) {
	special := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}
	atLevels(t, func(t *testing.T, level isa.Level, pool *work.Pool) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, s := range []Shape{
			{2, 3, 5, 6, 17, 1, Square(3, 1, 1)},
			{1, 17, 6, 5, 5, 1, Square(3, 2, 1)},
			{1, 2, 1, 2, 20, 1, Square(3, 1, 1)},
			{1, 4, 3, 3, 7, 1, Square(3, 3, 3)},
			{2, 3, 7, 6, 17, 1, Window{2, 3, 1, 2, 2, 2, 3, 0, 3, 2}},
			{2, 32, 5, 4, 32, 2, Square(3, 1, 1)},
			{2, 12, 5, 4, 20, 4, Square(3, 1, 1)},
			{1, 40, 4, 3, 36, 2, Square(3, 2, 1)},
		} {
			out := s.Out()
			for i := range 40 {
				x, w, bias := random(r, s.N*s.Cin*s.H*s.W), random(r, s.WeightLen()), random(r, s.Cout)
				dy := random(r, s.N*s.Cout*out.H*out.W)
				operand := [][]float32{x, w, bias, dy}[i%4]
				for range 1 + i%3 {
					operand[r.IntN(len(operand))] = special[r.IntN(3)]
				}
				y0, dx0, dw0 := zeroPadded(s, x, w, dy, bias)
				what := fmt.Sprint(s, " case ", i)
				y, dx, dw := directions(t, level, pool, s, false, x, w, dy, bias)
				near(t, what+" forward", y, y0)
				near(t, what+" input gradient", dx, dx0)
				near(t, what+" weight gradient", dw, dw0)
				y, _, _ = directions(t, level, pool, s, true, x, w, dy, bias)
				near(t, what+" with ReLU", y, relu64(y0))
				if s.Cin <= MaxFirst && s.Groups == 1 {
					y, dw = firstDirections(t, level, pool, s, false, x, w, dy, bias)
					near(t, what+" first layer", y, y0)
					near(t, what+" first layer's weight gradient", dw, dw0)
					y, _ = firstDirections(t, level, pool, s, true, x, w, dy, bias)
					near(t, what+" first layer with ReLU", y, relu64(y0))
				}
			}
		}
	})
}

// TestThreads checks that the bits do not depend on the number of threads, and
// that running allocates nothing.
func TestThreads(t *testing.T) {
	atLevels(t, func(t *testing.T, level isa.Level, _ *work.Pool) {
		r := rand.New(rand.NewPCG(5, 6))
		s, s1 := Shape{12, 32, 14, 14, 48, 1, Square(3, 1, 1)}, Shape{12, 3, 28, 28, 48, 1, Square(3, 2, 1)}
		x, dy, w := random(r, s.In().Len()), random(r, s.Out().Len()), random(r, s.Cout*s.Cin*9)
		images, w1 := random(r, 12*3*28*28), random(r, 48*27)
		channels := random(r, 48)
		var want [][]float32
		for _, threads := range []int{1, 2, 7} {
			pool := work.New(threads)
			var got [][]float32
			var again []func()
			out := func(n int) []float32 {
				got = append(got, make([]float32, n))
				return got[len(got)-1]
			}
			do := func(f func()) {
				f()
				again = append(again, f)
			}
			f := must(NewForward(level, s, Epilogue{ReLU: true, Pool: true}))
			packed, y, win, scratch := out(f.WeightLen()), out(f.Result().Len()), make([]uint8, f.Result().Len()), make([]float32, f.Scratch(threads))
			do(func() { f.PackWeights(pool, packed, w) })
			do(func() { f.Run(pool, y, win, x, packed, channels, scratch) })
			g := must(NewInputGradient(level, s))
			packed2, dx := out(g.WeightLen()), out(s.In().Len())
			do(func() { g.PackWeights(pool, packed2, w) })
			do(func() { g.Run(pool, dx, dy, packed2) })
			wg := must(NewWeightGradient(level, s))
			dw, wScratch := out(len(w)), make([]float32, wg.Scratch())
			do(func() { wg.Run(pool, dw, x, dy, wScratch) })
			f1 := must(NewFirst(level, s1, Epilogue{ReLU: true, Pool: true}))
			packed3, y1, win1, scratch1 := out(f1.WeightLen()), out(f1.Result().Len()), make([]uint8, f1.Result().Len()), make([]float32, f1.Scratch(threads))
			do(func() { f1.PackWeights(pool, packed3, w1) })
			do(func() { f1.Run(pool, y1, win1, images, packed3, channels, scratch1) })
			wg1 := must(NewFirstWeightGradient(level, s1))
			dw1, w1Scratch := out(len(w1)), make([]float32, wg1.Scratch())
			do(func() { wg1.Run(pool, dw1, images, dy, w1Scratch) })
			sd := Shape{12, 48, 14, 14, 48, 48, Square(3, 1, 1)}
			d, gd, wd := must(NewDepthwise(level, sd, true)), must(NewDepthwiseInputGradient(level, sd)), must(NewDepthwiseWeightGradient(level, sd))
			packedD, yd, dxd, dwd, dScratch := out(d.WeightLen()), out(len(dy)), out(len(dy)), out(48*9), make([]float32, wd.Scratch())
			do(func() { d.PackWeights(pool, packedD, w1) })
			do(func() { d.Run(pool, yd, nil, dy, packedD, channels, nil) })
			do(func() { gd.Run(pool, dxd, nil, dy, packedD, nil, nil) })
			do(func() { wd.Run(pool, dwd, dy, yd, dScratch) })
			sg := Shape{12, 48, 14, 14, 48, 4, Square(3, 1, 1)}
			fg, ig, xg := must(NewForward(level, sg, Epilogue{ReLU: true})), must(NewInputGradient(level, sg)), must(NewWeightGradient(level, sg))
			packedG, packedI, yg, dxg, dwg, gScratch := out(fg.WeightLen()), out(ig.WeightLen()), out(len(dy)), out(len(dy)), out(48*12*9), make([]float32, xg.Scratch())
			do(func() { fg.PackWeights(pool, packedG, w) })
			do(func() { fg.Run(pool, yg, nil, dy, packedG, channels, nil) })
			do(func() { ig.PackWeights(pool, packedI, w) })
			do(func() { ig.Run(pool, dxg, dy, packedI) })
			do(func() { xg.Run(pool, dwg, dy, yg, gScratch) })
			mp, ap := must(NewMaxPool(level, s.In(), Square(3, 2, 1))), must(NewAveragePool(level, s.In(), Square(3, 2, 1), true))
			yp, winp, dxp, ya, dxa := out(mp.Out.Len()), make([]uint8, mp.Out.Len()), out(s.In().Len()), out(mp.Out.Len()), out(s.In().Len())
			do(func() { mp.Max(pool, yp, winp, x, false) })
			do(func() { mp.MaxGradient(pool, dxp, yp, winp, false) })
			do(func() { ap.Average(pool, ya, x) })
			do(func() { ap.AverageGradient(pool, dxa, ya) })
			n, gr := must(NewNorm(level, s.Out(), 1e-5, true)), must(NewGradient(level, s.Out()))
			mean, variance, ds, db, yn, dxn := out(48), out(48), out(48), out(48), out(len(dy)), out(len(dy))
			do(func() { n.Forward(pool, yn, mean, variance, dy, channels, channels) })
			do(func() { n.Backward(pool, dxn, ds, db, dy, yn, dy, channels, mean, variance) })
			do(func() { n.Infer(pool, yn, dy, channels, channels, mean, variance) })
			do(func() { gr.Bias(pool, db, dy, yn) })
			do(func() { gr.ReLU(pool, dxn, dy, yn) })
			l := must(NewLayout(level, s.Out()))
			plain, blocked := out(len(dy)), out(len(dy))
			do(func() { l.FromBlocked(pool, plain, dy) })
			do(func() { l.ToBlocked(pool, blocked, plain) })
			if threads == 1 {
				if n := testing.AllocsPerRun(5, func() {
					for _, f := range again {
						f()
					}
				}); n > 0 {
					t.Errorf("a run of all plans makes %v allocations", n)
				}
			}
			pool.Close()
			for i := range want {
				for j, v := range want[i] {
					if math.Float32bits(got[i][j]) != math.Float32bits(v) {
						t.Fatalf("%d threads: value %d of result %d is %v, not %v", threads, j, i, got[i][j], v)
					}
				}
			}
			want = got
		}
	})
}

// TestErrors checks what plans refuse.
func TestErrors(t *testing.T) {
	ok := Shape{2, 3, 8, 8, 4, 1, Square(3, 1, 1)}
	for what, change := range map[string]func(s *Shape){
		"negative batch":         func(s *Shape) { s.N = -1 },
		"no channels":            func(s *Shape) { s.Cin = 0 },
		"no output channels":     func(s *Shape) { s.Cout = 0 },
		"no window":              func(s *Shape) { s.KH = 0 },
		"no stride":              func(s *Shape) { s.SW = 0 },
		"negative padding":       func(s *Shape) { s.Left = -1 },
		"no groups":              func(s *Shape) { s.Groups = 0 },
		"uneven groups":          func(s *Shape) { s.Groups = 2 },
		"no dilation":            func(s *Shape) { s.DH = 0 },
		"dilated beyond image":   func(s *Shape) { s.DW = 5 },
		"window beyond image":    func(s *Shape) { s.H, s.Top, s.Bottom = 2, 0, 0 },
		"image beyond int32":     func(s *Shape) { s.H, s.W = 1<<15, 1<<15 },
		"image beyond int64":     func(s *Shape) { s.H, s.W = 1<<40, 1<<40 },
		"too many weights":       func(s *Shape) { s.Cin, s.Cout = 1<<20, 1<<20 },
		"more weights than that": func(s *Shape) { s.Cin, s.Cout = 1<<40, 1<<40 },
	} {
		s := ok
		change(&s)
		if _, err := NewForward(isa.Generic, s, Epilogue{}); err == nil {
			t.Errorf("forward takes %s", what)
		}
		if _, err := NewInputGradient(isa.Generic, s); err == nil {
			t.Errorf("input gradient takes %s", what)
		}
		if _, err := NewWeightGradient(isa.Generic, s); err == nil {
			t.Errorf("weight gradient takes %s", what)
		}
		if _, err := NewFirst(isa.Generic, s, Epilogue{}); err == nil {
			t.Errorf("first layer takes %s", what)
		}
		if _, err := NewFirstWeightGradient(isa.Generic, s); err == nil {
			t.Errorf("first layer's weight gradient takes %s", what)
		}
	}
	in := ok.In()
	for what, f := range map[string]func() error{
		"large max window":  func() error { _, err := NewMaxPool(isa.Generic, Tensor{1, 1, 20, 20}, Square(12, 1, 0)); return err },
		"padding as window": func() error { _, err := NewMaxPool(isa.Generic, in, Square(2, 1, 2)); return err },
		"average's padding": func() error { _, err := NewAveragePool(isa.Generic, in, Square(2, 1, 2), true); return err },
		"average's window":  func() error { _, err := NewAveragePool(isa.Generic, in, Square(9, 1, 0), true); return err },
		"norm's shape":      func() error { _, err := NewNorm(isa.Generic, Tensor{1, -1, 2, 2}, 0, false); return err },
		"gradient's shape":  func() error { _, err := NewGradient(isa.Generic, Tensor{1, 1, -2, 2}); return err },
		"layout's shape":    func() error { _, err := NewLayout(isa.Generic, Tensor{1, 1, 1 << 13, 1 << 13}); return err },
	} {
		if f() == nil {
			t.Errorf("no error for %s", what)
		}
	}
}

// TestEmpty checks batches without images.
func TestEmpty(t *testing.T) {
	atLevels(t, func(t *testing.T, level isa.Level, pool *work.Pool) {
		s := Shape{0, 3, 8, 8, 20, 1, Square(3, 1, 1)}
		w, bias := make([]float32, 20*27), make([]float32, 20)
		_, _, dw := directions(t, level, pool, s, true, nil, w, nil, bias)
		near(t, "weight gradient", dw, make([]float64, len(w)))
		_, dw = firstDirections(t, level, pool, s, true, nil, w, nil, bias)
		near(t, "first layer's weight gradient", dw, make([]float64, len(w)))
	})
}
