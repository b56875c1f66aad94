package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// naiveNorm computes batch-norm of NCHW and its gradient, which takes the
// statistics as Forward stores them, in float32. With relu, d is dy where y is positive.
func naiveNorm(s Tensor, eps float64, relu bool, x, dy, scale, bias []float32) (y, dx, mean, variance, dscale, dbias []float64) {
	y, dx = make([]float64, len(x)), make([]float64, len(x))
	m := float64(s.Pixels())
	hw := s.H * s.W
	for c := range s.C {
		each := func(f func(i int)) {
			for n := range s.N {
				for p := range hw {
					f((n*s.C+c)*hw + p)
				}
			}
		}
		var mu, v, ds, db float64
		each(func(i int) { mu += float64(x[i]) / m })
		each(func(i int) { v += (float64(x[i]) - mu) * (float64(x[i]) - mu) / m })
		inv := 1 / math.Sqrt(v+eps)
		d := func(i int) float64 {
			switch {
			case !relu || y[i] > 0:
				return float64(dy[i])
			case math.IsNaN(y[i]):
				return math.NaN()
			}
			return 0
		}
		each(func(i int) {
			y[i] = (float64(x[i])-mu)*inv*float64(scale[c]) + float64(bias[c])
			if relu && y[i] < 0 {
				y[i] = 0
			}
		})
		mean, variance = append(mean, mu), append(variance, v)
		mu, inv = float64(float32(mu)), 1/math.Sqrt(float64(float32(v))+eps)
		each(func(i int) {
			db += d(i)
			ds += d(i) * (float64(x[i]) - mu) * inv
		})
		each(func(i int) { dx[i] = float64(scale[c]) * inv * (d(i) - (db+(float64(x[i])-mu)*inv*ds)/m) })
		dscale, dbias = append(dscale, ds), append(dbias, db)
	}
	return y, dx, mean, variance, dscale, dbias
}

func TestNorm(t *testing.T) {
	atLevels(t, func(t *testing.T, level isa.Level, pool *work.Pool) {
		r := rand.New(rand.NewPCG(11, 12))
		for i, s := range []Tensor{{6, 32, 10, 10}, {1, 5, 3, 3}, {9, 17, 1, 1}, {3, 16, 50, 31}, {64, 20, 7, 7}} {
			for _, relu := range []bool{false, true} {
				n := s.N * s.C * s.H * s.W
				x, dy, scale, bias := random(r, n), random(r, n), random(r, s.C), random(r, s.C)
				for j := range x {
					x[j] += 3
				}
				if i == 1 {
					x[4] = float32(math.NaN())
				}
				const eps = 1e-5
				y0, dx0, mean0, var0, ds0, db0 := naiveNorm(s, eps, relu, x, dy, scale, bias)
				p := must(NewNorm(level, s, eps, relu))
				xb, dyb, y, dx := toBlocked(s, x), toBlocked(s, dy), stale(s.Len()), stale(s.Len())
				mean, variance, ds, db := stale(s.C), stale(s.C), stale(s.C), stale(s.C)
				what := fmt.Sprint(s, " relu ", relu)
				p.Forward(pool, y, mean, variance, xb, scale, bias)
				near(t, what+" mean", mean, mean0)
				near(t, what+" variance", variance, var0)
				near(t, what+" forward", fromBlocked(t, s, y), y0)
				p.Backward(pool, dx, ds, db, dyb, y, xb, scale, mean, variance)
				near(t, what+" dscale", ds, ds0)
				near(t, what+" dbias", db, db0)
				near(t, what+" dx", fromBlocked(t, s, dx), dx0)
				again := stale(s.Len())
				p.Infer(pool, again, xb, scale, bias, mean, variance)
				near(t, what+" inference", fromBlocked(t, s, again), y0)
				g := must(NewGradient(level, s))
				yy := y
				if !relu {
					yy = nil
				}
				db = stale(s.C)
				g.Bias(pool, db, dyb, yy)
				near(t, what+" bias", db, db0)
				want := make([]float64, n)
				for j := range want {
					switch {
					case y0[j] > 0:
						want[j] = float64(dy[j])
					case math.IsNaN(y0[j]):
						want[j] = math.NaN()
					}
				}
				g.ReLU(pool, dx, dyb, y)
				near(t, what+" relu's gradient", fromBlocked(t, s, dx), want)
			}
		}
	})
}

// TestNormLargeMean normalizes values whose distance is small beside their mean.
func TestNormLargeMean(t *testing.T) {
	atLevels(t, func(t *testing.T, level isa.Level, pool *work.Pool) {
		for _, test := range []struct {
			from, step float64
			n          int
			want       float64 // of the first value
		}{{0, 1e-3, 16, -1.34164}, {100, 1e-3, 16, -1.34153}, {1000, 1e-3, 16, -1.34151}, {10000, 1e-3, 16, -1.33133}, {40000, 1, 4, -1.34164}} {
			x := make([]float32, test.n)
			for i := range x {
				x[i] = float32(test.from + test.step*float64(i))
			}
			s := Tensor{test.n, 1, 1, 1}
			p := must(NewNorm(level, s, 1e-5, false))
			y, mean, variance := stale(s.Len()), stale(1), stale(1)
			p.Forward(pool, y, mean, variance, toBlocked(s, x), nil, nil)
			if d := math.Abs(float64(y[0]) - test.want); !(d < 1e-5) {
				t.Errorf("from %v: the first value is %v, want %v", test.from, y[0], test.want)
			}
		}
	})
}

func TestLayout(t *testing.T) {
	atLevels(t, func(t *testing.T, level isa.Level, pool *work.Pool) {
		r := rand.New(rand.NewPCG(13, 14))
		for _, s := range []Tensor{{2, 32, 7, 7}, {3, 1, 1, 1}, {1, 17, 2, 3}, {5, 23, 4, 4}, {64, 3, 5, 1}, {0, 3, 2, 2}, {2, 16, 0, 3}} {
			l := must(NewLayout(level, s))
			x := random(r, s.N*s.C*s.H*s.W)
			blocked, back := stale(s.Len()), stale(len(x))
			l.ToBlocked(pool, blocked, x)
			for i, v := range fromBlocked(t, s, blocked) {
				if v != x[i] {
					t.Fatalf("%v: value %d is %v, want %v", s, i, v, x[i])
				}
			}
			l.FromBlocked(pool, back, blocked)
			for i, v := range back {
				if v != x[i] {
					t.Fatalf("%v: value %d comes back as %v, not %v", s, i, v, x[i])
				}
			}
			dirty := stale(s.Len())
			s.ClearPad(dirty)
			for i, v := range dirty {
				inside := i%s.Plane() < s.Pixels()*Block && i/s.Plane()*Block+i%Block < s.C
				if inside != (v != v) {
					t.Fatalf("%v: ClearPad leaves %v at %d", s, v, i)
				}
			}
		}
	})
}
