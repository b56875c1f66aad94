package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// naivePool computes the maximum and its winners, the average, and their gradients for NCHW.
func naivePool(in Tensor, w Window, countPad, relu bool, x, dy []float32) (largest []float64, win []int, dMax, mean, dMean []float64) {
	oh, ow := w.Out(in.H, in.W)
	n := in.N * in.C * oh * ow
	largest, win, mean = make([]float64, n), make([]int, n), make([]float64, n)
	dMax, dMean = make([]float64, len(x)), make([]float64, len(x))
	for i := range n {
		plane, oy, ox := i/(oh*ow)*in.H*in.W, i/ow%oh, i%ow
		var taps []int
		best, at := math.Inf(-1), -1
		if relu {
			best, win[i] = 0, noTap
		}
		for k := range w.Taps() {
			y, xx := oy*w.SH+k/w.KW-w.Top, ox*w.SW+k%w.KW-w.Left
			if y < 0 || y >= in.H || xx < 0 || xx >= in.W {
				continue
			}
			j := plane + y*in.W + xx
			taps = append(taps, j)
			v := float64(x[j])
			if v > best || at < 0 && !relu || math.IsNaN(v) && !math.IsNaN(best) {
				best, at, win[i] = v, j, k
			}
			mean[i] += v
		}
		count := float64(len(taps))
		if countPad {
			count = float64(w.Taps())
		}
		mean[i] /= count
		for _, j := range taps {
			dMean[j] += float64(dy[i]) / count
		}
		largest[i] = best
		switch {
		case math.IsNaN(best):
			win[i] |= nanWon
			if relu {
				dMax[at] = math.NaN()
				break
			}
			fallthrough
		case at >= 0:
			dMax[at] += float64(dy[i])
		}
	}
	return largest, win, dMax, mean, dMean
}

var poolWindows = []struct {
	h, w int
	Window
}{
	{6, 8, Square(2, 2, 0)},
	{7, 9, Square(2, 2, 0)},
	{6, 9, Square(2, 2, 0)},
	{7, 6, Square(3, 2, 1)},
	{5, 5, Square(3, 1, 1)},
	{4, 4, Square(4, 4, 0)},
	{9, 8, Square(2, 3, 0)},
	{6, 7, Window{2, 3, 1, 2, 0, 1, 2, 0, 1, 1}},
	{11, 11, Square(11, 1, 5)},
	{1, 1, Square(1, 1, 0)},
}

func TestPool(t *testing.T) {
	atLevels(t, func(t *testing.T, level isa.Level, pool *work.Pool) {
		r := rand.New(rand.NewPCG(7, 8))
		for i, s := range poolWindows {
			for _, relu := range []bool{false, true} {
				in := Tensor{1 + i%4, []int{16, 5, 33}[i%3], s.h, s.w}
				x := random(r, in.N*in.C*in.H*in.W)
				for range len(x) / 5 { // equal values and all that is special
					x[r.IntN(len(x))] = []float32{0.25, -0.25, 0, float32(math.Inf(1)), float32(math.Inf(-1))}[r.IntN(5)]
				}
				x[r.IntN(len(x))] = float32(math.NaN())
				p := must(NewMaxPool(level, in, s.Window))
				dy := random(r, p.Out.N*p.Out.C*p.Out.H*p.Out.W)
				countPad := i%2 == 0
				largest, win, dMax, mean, dMean := naivePool(in, s.Window, countPad, relu, x, dy)
				what := fmt.Sprint(in, " ", s.Window, " relu ", relu)
				xb, dyb, y, dx, got := toBlocked(in, x), toBlocked(p.Out, dy), stale(p.Out.Len()), stale(in.Len()), make([]uint8, p.Out.Len())
				p.Max(pool, y, got, xb, relu)
				near(t, what+" maximum", fromBlocked(t, p.Out, y), largest)
				checkWinners(t, what, p.Out, got, win)
				p.MaxGradient(pool, dx, dyb, got, relu)
				near(t, what+" gradient", fromBlocked(t, in, dx), dMax)
				a := must(NewAveragePool(level, in, s.Window, countPad))
				y, dx = stale(p.Out.Len()), stale(in.Len())
				a.Average(pool, y, xb)
				near(t, what+" average", fromBlocked(t, p.Out, y), mean)
				a.AverageGradient(pool, dx, dyb)
				near(t, what+" average's gradient", fromBlocked(t, in, dx), dMean)
			}
		}
	})
}

func checkWinners(t *testing.T, what string, s Tensor, got []uint8, want []int) {
	t.Helper()
	for i, w := range want {
		n, c, p := i/(s.C*s.H*s.W), i/(s.H*s.W)%s.C, i%(s.H*s.W)
		if g := got[c/Block*s.Plane()+(n*s.H*s.W+p)*Block+c%Block]; int(g) != w {
			t.Fatalf("%s: winner %d is %#x, want %#x", what, i, g, w)
		}
	}
}

// TestForwardPool compares the fused pool with the two operations, bit by bit.
func TestForwardPool(t *testing.T) {
	atLevels(t, func(t *testing.T, level isa.Level, pool *work.Pool) {
		r := rand.New(rand.NewPCG(9, 10))
		for i, s := range []Shape{
			{5, 32, 14, 14, 64, 1, Square(3, 1, 1)},
			{3, 3, 7, 9, 20, 1, Square(3, 1, 1)},
			{1, 2, 40, 33, 16, 1, Square(3, 1, 1)},
			{2, 1, 63, 31, 48, 1, Square(5, 1, 2)},
			{2, 4, 5, 3, 16, 1, Square(2, 2, 1)},
		} {
			for _, relu := range []bool{false, true} {
				x, w, bias := random(r, s.N*s.Cin*s.H*s.W), random(r, s.WeightLen()), random(r, s.Cout)
				if i%2 == 1 {
					x[len(x)/2], w[3] = float32(math.NaN()), float32(math.Inf(1))
				}
				xb := toBlocked(s.In(), x)
				out := s.Out()
				p := must(NewMaxPool(level, out, Square(2, 2, 0)))
				compare := func(what string, run func(e Epilogue, y []float32, win []uint8)) {
					whole, want, winners := stale(out.Len()), stale(p.Out.Len()), make([]uint8, p.Out.Len())
					run(Epilogue{}, whole, nil)
					p.Max(pool, want, winners, whole, relu)
					got, win := stale(p.Out.Len()), make([]uint8, p.Out.Len())
					run(Epilogue{ReLU: relu, Pool: true}, got, win)
					result := fromBlocked(t, p.Out, got)
					for j, v := range fromBlocked(t, p.Out, want) {
						if g := result[j]; math.Float32bits(g) != math.Float32bits(v) {
							t.Fatalf("%v %s: value %d is %v, want %v", s, what, j, g, v)
						}
					}
					for j, v := range winners {
						if j%p.Out.Plane() < p.Out.Plane()-Block && win[j] != v {
							t.Fatalf("%v %s: winner %d is %#x, want %#x", s, what, j, win[j], v)
						}
					}
				}
				compare("forward", func(e Epilogue, y []float32, win []uint8) {
					f := must(NewForward(level, s, e))
					if f.Result() != out && f.Result() != p.Out {
						t.Fatalf("%v: the result is %v", s, f.Result())
					}
					packed := stale(f.WeightLen())
					f.PackWeights(pool, packed, w)
					f.Run(pool, y, win, xb, packed, bias, stale(f.Scratch(2)))
				})
				if s.Cin <= MaxFirst {
					compare("first layer", func(e Epilogue, y []float32, win []uint8) {
						f := must(NewFirst(level, s, e))
						packed := stale(f.WeightLen())
						f.PackWeights(pool, packed, w)
						f.Run(pool, y, win, x, packed, bias, stale(f.Scratch(2)))
					})
				}
			}
		}
	})
}
