package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// depthShapes are depthwise convolutions: windows, strides, dilation, odd channels, images cut into rows, windows in the padding alone.
func depthShapes() []Shape {
	return []Shape{
		{2, 16, 7, 6, 16, 16, Square(3, 1, 1)},
		{3, 21, 8, 5, 21, 21, Square(3, 2, 1)},
		{2, 40, 9, 9, 40, 40, Square(5, 1, 2)},
		{1, 3, 70, 31, 3, 3, Square(3, 1, 1)},
		{2, 2, 1, 9, 2, 2, Window{1, 4, 1, 3, 0, 0, 2, 1, 1, 1}},
		{2, 18, 9, 10, 18, 18, Window{3, 2, 2, 1, 2, 3, 1, 0, 2, 3}},
		{1, 5, 3, 3, 5, 5, Window{3, 3, 2, 2, 3, 3, 3, 3, 1, 1}},
		{2, 33, 6, 6, 33, 33, Window{1, 1, 3, 3, 0, 0, 0, 0, 1, 1}},
		{0, 20, 6, 6, 20, 20, Square(3, 1, 1)},
	}
}

// depthDirections runs all three directions.
func depthDirections(t *testing.T, level isa.Level, pool *work.Pool, s Shape, relu bool, x, w, dy, bias []float32) (y, dx, dw []float32) {
	t.Helper()
	xb, dyb := toBlocked(s.In(), x), toBlocked(s.Out(), dy)
	f, g, wg := must(NewDepthwise(level, s, relu)), must(NewDepthwiseInputGradient(level, s)), must(NewDepthwiseWeightGradient(level, s))
	packed, yb, dxb := stale(f.WeightLen()), stale(s.Out().Len()), stale(s.In().Len())
	f.PackWeights(pool, packed, w)
	f.Run(pool, yb, nil, xb, packed, bias, nil)
	g.PackWeights(pool, packed, w)
	g.Run(pool, dxb, nil, dyb, packed, nil, nil)
	dw = stale(len(w))
	wg.Run(pool, dw, xb, dyb, stale(wg.Scratch()))
	return fromBlocked(t, s.Out(), yb), fromBlocked(t, s.In(), dxb), dw
}

func TestDepthwise(t *testing.T) {
	special := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}
	atLevels(t, func(t *testing.T, level isa.Level, pool *work.Pool) {
		r := rand.New(rand.NewPCG(21, 22))
		for _, s := range depthShapes() {
			out := s.Out()
			for i := range 7 {
				x, w, bias := random(r, s.N*s.Cin*s.H*s.W), random(r, s.WeightLen()), random(r, s.Cout)
				dy := random(r, s.N*s.Cout*out.H*out.W)
				if operand := [][]float32{nil, x, dy, bias}[i%4]; len(operand) > 0 { // i = 0 and 4: plain numbers
					operand[r.IntN(len(operand))] = special[r.IntN(3)]
				}
				what := fmt.Sprint(s, " case ", i)
				y0, dx0, dw0 := naive(s, x, w, dy, bias)
				y, dx, dw := depthDirections(t, level, pool, s, false, x, w, dy, bias)
				near(t, what+" forward", y, y0)
				near(t, what+" input gradient", dx, dx0)
				near(t, what+" weight gradient", dw, dw0)
				y, _, _ = depthDirections(t, level, pool, s, true, x, w, dy, bias)
				near(t, what+" with ReLU", y, relu64(y0))
			}
		}
	})
}

func TestDepthwiseErrors(t *testing.T) {
	for _, s := range []Shape{{1, 4, 3, 3, 4, 2, Square(3, 1, 1)}, {1, 4, 3, 3, 8, 4, Square(3, 1, 1)}, {1, 4, 3, 3, 4, 4, Square(3, 0, 1)}} {
		if _, err := NewDepthwise(isa.Generic, s, false); err == nil {
			t.Errorf("%v: no error", s)
		}
		if _, err := NewDepthwiseInputGradient(isa.Generic, s); err == nil {
			t.Errorf("%v: no error of the input gradient", s)
		}
		if _, err := NewDepthwiseWeightGradient(isa.Generic, s); err == nil {
			t.Errorf("%v: no error of the weight gradient", s)
		}
	}
}
