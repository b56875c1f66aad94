package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// atLevels runs a test at each level that this processor has.
func atLevels(t *testing.T, f func(t *testing.T, level isa.Level, pool *work.Pool)) {
	for _, level := range isa.Available() {
		if level > isa.AVX512 {
			continue
		}
		t.Run(level.String(), func(t *testing.T) {
			pool := work.New(2)
			defer pool.Close()
			f(t, level, pool)
		})
	}
}

func random(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = r.Float32() - 0.5
	}
	return v
}

// stale returns memory that holds what must never be read.
func stale(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(math.NaN())
	}
	return v
}

// toBlocked converts NCHW with plain loops. The pixel that nobody reads holds NaN.
func toBlocked(t Tensor, src []float32) []float32 {
	d := stale(t.Len())
	for b := range t.Blocks() {
		clear(d[b*t.Plane():][:t.Pixels()*Block])
	}
	size := t.H * t.W
	for n := range t.N {
		for c := range t.C {
			for p := range size {
				d[c/Block*t.Plane()+(n*size+p)*Block+c%Block] = src[(n*t.C+c)*size+p]
			}
		}
	}
	return d
}

// fromBlocked converts to NCHW and checks that the padding lanes are zero.
func fromBlocked(t *testing.T, s Tensor, src []float32) []float32 {
	t.Helper()
	d := make([]float32, s.N*s.C*s.H*s.W)
	size := s.H * s.W
	for b := range s.Blocks() {
		for p := range s.Pixels() {
			for l := range Block {
				v := src[b*s.Plane()+p*Block+l]
				if c := b*Block + l; c < s.C {
					d[(p/size*s.C+c)*size+p%size] = v
				} else if v != 0 {
					t.Fatalf("padding lane %d of pixel %d is %v", c, p, v)
				}
			}
		}
	}
	return d
}

// naive computes all three directions in float64 from what every tap of every pixel contributes.
func naive(s Shape, x, w, dy, bias []float32) (y, dx, dw []float64) {
	out := s.Out()
	in, per := s.PerGroup()
	y, dx, dw = make([]float64, s.N*s.Cout*out.H*out.W), make([]float64, len(x)), make([]float64, len(w))
	for n := range s.N {
		for co := range s.Cout {
			for oy := range out.H {
				for ox := range out.W {
					i := ((n*s.Cout+co)*out.H+oy)*out.W + ox
					if bias != nil {
						y[i] = float64(bias[co])
					}
					for c := range in {
						ci := co/per*in + c
						for kh := range s.KH {
							for kw := range s.KW {
								iy, ix := oy*s.SH+kh*s.DH-s.Top, ox*s.SW+kw*s.DW-s.Left
								if iy < 0 || iy >= s.H || ix < 0 || ix >= s.W {
									continue
								}
								j, v := ((n*s.Cin+ci)*s.H+iy)*s.W+ix, ((co*in+c)*s.KH+kh)*s.KW+kw
								y[i] += float64(x[j]) * float64(w[v])
								dx[j] += float64(dy[i]) * float64(w[v])
								dw[v] += float64(dy[i]) * float64(x[j])
							}
						}
					}
				}
			}
		}
	}
	return y, dx, dw
}

// near checks values to a few roundings of the largest, and that NaN and Inf are where they must be.
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	scale := 1e-3
	for _, v := range want {
		if a := math.Abs(v); a > scale && !math.IsInf(a, 0) {
			scale = a
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i, v := range want {
		g := float64(got[i])
		switch {
		case math.IsNaN(v) && math.IsNaN(g) || g == v:
		case !(math.Abs(g-v) <= 3e-6*scale):
			t.Fatalf("%s: value %d is %g, want %g", what, i, g, v)
		}
	}
}

func relu64(y []float64) []float64 {
	r := make([]float64, len(y))
	for i, v := range y {
		if !(v < 0) {
			r[i] = v
		}
	}
	return r
}

// shapes is a table of all sizes that matter: kernels, strides, odd images, channels and batches.
func shapes() []Shape {
	var ss []Shape
	channels := []int{1, 3, 5, 16, 17, 32, 48}
	batches := []int{1, 2, 5, 3}
	i := 0
	for _, k := range []int{1, 2, 3, 5, 7} {
		for stride := 1; stride <= 3; stride++ {
			for pad := 0; pad <= k/2; pad++ {
				cin, cout := channels[i%len(channels)], channels[(i*3+i/7)%len(channels)]
				ss = append(ss, Shape{batches[i%len(batches)], cin, 7 + i%3, 9 - i%4, cout, 1, Square(k, stride, pad)})
				i++
			}
		}
	}
	return append(ss,
		Shape{64, 16, 3, 2, 16, 1, Square(3, 1, 1)},
		Shape{5, 17, 4, 4, 33, 1, Square(3, 1, 1)},
		Shape{1, 48, 40, 31, 16, 1, Square(3, 1, 1)},                     // an image cut into rows
		Shape{2, 80, 5, 5, 16, 1, Square(3, 1, 1)},                       // passes that do not come out even
		Shape{2, 3, 8, 9, 20, 1, Window{2, 3, 1, 2, 0, 1, 2, 0, 1, 1}},   // nothing symmetric
		Shape{1, 5, 3, 3, 7, 1, Window{3, 3, 2, 2, 3, 3, 3, 3, 1, 1}},    // windows that lie in the padding alone
		Shape{2, 16, 6, 6, 16, 1, Window{1, 1, 3, 3, 0, 0, 0, 0, 1, 1}},  // pixels that no window reaches
		Shape{65, 4, 5, 5, 32, 1, Window{3, 3, 1, 1, 1, 1, 1, 1, 1, 1}},  // a last region of other size
		Shape{3, 1, 28, 28, 32, 1, Window{3, 3, 1, 1, 1, 1, 1, 1, 1, 1}}, // the first layer of cnn-64
		Shape{2, 3, 17, 13, 48, 1, Window{7, 7, 2, 2, 3, 3, 3, 3, 1, 1}}, // and of a residual network
		Shape{2, 5, 11, 9, 20, 1, Window{3, 2, 1, 1, 2, 2, 1, 0, 2, 3}},  // dilated
		Shape{2, 3, 12, 9, 20, 1, Window{3, 3, 2, 3, 3, 0, 3, 3, 3, 2}},
		Shape{2, 1, 7, 8, 2, 1, Window{2, 3, 2, 2, 1, 2, 0, 3, 3, 2}},
		Shape{2, 64, 7, 6, 64, 2, Square(3, 1, 1)}, // groups of whole blocks, of parts of one, of neither
		Shape{3, 32, 5, 5, 32, 8, Square(3, 2, 1)},
		Shape{2, 60, 6, 5, 36, 3, Square(3, 1, 1)},
		Shape{2, 6, 6, 5, 40, 2, Window{3, 2, 1, 2, 2, 2, 1, 0, 2, 1}},
		Shape{1, 96, 6, 5, 6, 3, Square(2, 1, 0)},
		Shape{2, 21, 4, 5, 21, 21, Square(3, 1, 1)},
		Shape{2, 2, 6, 5, 16, 1, Square(2, 1, 0)}, // taps that three does not divide
		Shape{1, 2, 64, 33, 16, 1, Window{5, 4, 1, 1, 2, 2, 1, 2, 1, 1}})
}

// directions runs all plans of a shape and returns y with bias, and the gradients, as NCHW.
func directions(t *testing.T, level isa.Level, pool *work.Pool, s Shape, relu bool, x, w, dy, bias []float32) (y, dx, dw []float32) {
	t.Helper()
	f, err := NewForward(level, s, Epilogue{ReLU: relu})
	if err != nil {
		t.Fatal(err)
	}
	xb, dyb := toBlocked(s.In(), x), toBlocked(s.Out(), dy)
	packed, yb := stale(f.WeightLen()), stale(s.Out().Len())
	f.PackWeights(pool, packed, w)
	f.Run(pool, yb, nil, xb, packed, bias, nil)
	g, err := NewInputGradient(level, s)
	if err != nil {
		t.Fatal(err)
	}
	packed, dxb := stale(g.WeightLen()), stale(s.In().Len())
	g.PackWeights(pool, packed, w)
	g.Run(pool, dxb, dyb, packed)
	wg, err := NewWeightGradient(level, s)
	if err != nil {
		t.Fatal(err)
	}
	dw = stale(len(w))
	wg.Run(pool, dw, xb, dyb, stale(wg.Scratch()))
	return fromBlocked(t, s.Out(), yb), fromBlocked(t, s.In(), dxb), dw
}

// firstDirections does the same for an input in planes.
func firstDirections(t *testing.T, level isa.Level, pool *work.Pool, s Shape, relu bool, x, w, dy, bias []float32) (y, dw []float32) {
	t.Helper()
	f, err := NewFirst(level, s, Epilogue{ReLU: relu})
	if err != nil {
		t.Fatal(err)
	}
	packed, yb := stale(f.WeightLen()), stale(s.Out().Len())
	f.PackWeights(pool, packed, w)
	f.Run(pool, yb, nil, x, packed, bias, nil)
	g, err := NewFirstWeightGradient(level, s)
	if err != nil {
		t.Fatal(err)
	}
	dw = stale(len(w))
	g.Run(pool, dw, x, toBlocked(s.Out(), dy), stale(g.Scratch()))
	return fromBlocked(t, s.Out(), yb), dw
}

func TestDirections(t *testing.T) {
	atLevels(t, func(t *testing.T, level isa.Level, pool *work.Pool) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, s := range shapes() {
			x, w, bias := random(r, s.N*s.Cin*s.H*s.W), random(r, s.WeightLen()), random(r, s.Cout)
			out := s.Out()
			dy := random(r, s.N*s.Cout*out.H*out.W)
			y0, dx0, dw0 := naive(s, x, w, dy, bias)
			y, dx, dw := directions(t, level, pool, s, false, x, w, dy, bias)
			near(t, fmt.Sprint(s, " forward"), y, y0)
			near(t, fmt.Sprint(s, " input gradient"), dx, dx0)
			near(t, fmt.Sprint(s, " weight gradient"), dw, dw0)
			y, _, _ = directions(t, level, pool, s, true, x, w, dy, bias)
			near(t, fmt.Sprint(s, " with ReLU"), y, relu64(y0))
			if s.Cin <= MaxFirst && s.Groups == 1 {
				y, dw = firstDirections(t, level, pool, s, false, x, w, dy, bias)
				near(t, fmt.Sprint(s, " first layer"), y, y0)
				near(t, fmt.Sprint(s, " first layer's weight gradient"), dw, dw0)
				y, _ = firstDirections(t, level, pool, s, true, x, w, dy, bias)
				near(t, fmt.Sprint(s, " first layer with ReLU"), y, relu64(y0))
			}
		}
	})
}
