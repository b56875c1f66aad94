package ops

import (
	"fmt"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// TestBatchNormAgainstPyTorch in training. The figures are those of batch_norm(x, ..., scale, bias, True, eps=1e-5).
func TestBatchNormAgainstPyTorch(t *testing.T) {
	f := func(in []Value) Value {
		y, _, _ := BatchNorm(in[0], in[1], in[2], 1e-5)
		return y
	}
	x, scale, bias := ramp(1, 3, 2, 2), positive(2, 2), ramp(3, 2)
	check(t, "y", values(t, f, x, scale, bias),
		-1.62303752948876, 2.549449022086385, -1.6096074854786193, 0.8540718857448151, 1.5644585607109727, -1.0142799457643075,
		0.27247607937214785, -1.250161509425904, -1.9992704071397225, 2.1732161444354223, -1.831757315798573, 0.6319220554248615)
	g := gradients(t, 5, f, x, scale, bias)
	check(t, "dx", g[0],
		-6.216088784588355e-05, 7.448196632388681e-05, -0.15996280447023076, -2.334185387502212, 4.2224964097232414e-05, -4.222496409948095e-05,
		1.2243541179046205, 0.10441820210254124, -7.44819663231373e-05, 6.216088784663306e-05, -0.3233592525121122, 1.4887351244773932)
	check(t, "dscale", g[1], 3.315438970507403, 0.8768840038157096)
	check(t, "dbias", g[2], -0.8585647727450656, -0.025749042747587936)
}

// TestBatchNormStatistics: the variance is biased, and running statistics reach the same y in inference.
func TestBatchNormStatistics(t *testing.T) {
	r := NewRecorder()
	in := inputs(r, farr(d(4, 1), 1, 2, 3, 4), farr(d(1), 2), farr(d(1), 7))
	y, mean, variance := BatchNorm(in[0], in[1], in[2], 0)
	same := BatchNormInfer(in[0], in[1], in[2], mean, variance, 0)
	out := eval(t, r, mean, variance, y, same)
	check(t, "mean", out[0], 2.5)
	check(t, "variance", out[1], 1.25)
	for _, y := range out[2:] {
		check(t, "y", y, 7-3/math.Sqrt(1.25), 7-1/math.Sqrt(1.25), 7+1/math.Sqrt(1.25), 7+3/math.Sqrt(1.25))
	}
}

// TestBatchNormShortBatch: from fewer than two values no variance can be told, so training refuses them, in words; inference takes them.
func TestBatchNormShortBatch(t *testing.T) {
	train := func(in []Value) Value {
		_, _, v := BatchNorm(in[0], in[1], in[1], 1e-5)
		return v
	}
	for _, s := range []struct {
		n int
		x tensor.Tensor
	}{{1, ramp(1, 1, 3)}, {0, ramp(1, 0, 3)}, {1, ramp(1, 1, 3, 1, 1)}, {0, ramp(1, 2, 3, 0, 4)}} {
		refused(t, fmt.Sprintf("variance wants two values of each channel at least, and this batch has %d", s.n), train, s.x, ramp(2, 3))
		values(t, func(in []Value) Value { return BatchNormInfer(in[0], in[1], in[1], in[1], in[1], 1e-5) }, s.x, positive(2, 3))
	}
	values(t, train, ramp(1, 1, 3, 1, 2), ramp(2, 3))
}

// TestBatchNormLargeMean: two passes keep the digits that the mean of the squares minus the square of the mean loses.
func TestBatchNormLargeMean(t *testing.T) {
	first := func(x []float32) float64 {
		one := tensor.Must(tensor.From([]float32{1}))
		zero := tensor.Must(tensor.From([]float32{0}))
		y := values(t, func(in []Value) Value {
			y, _, _ := BatchNorm(in[0], in[1], in[2], 1e-5)
			return y
		}, tensor.Must(tensor.From(x, len(x), 1)), one, zero)
		return y.At(0)
	}
	for m, want := range map[float32]float64{0: -1.34164, 100: -1.34153, 1000: -1.34151, 10000: -1.33133} {
		x := make([]float32, 16)
		for i := range x {
			x[i] = m + float32(i)*1e-3
		}
		if got := first(x); math.Abs(got-want) > 2e-5 {
			t.Errorf("mean %v: %v, want %v", m, got, want)
		}
	}
	if got := first([]float32{40000, 40001, 40002, 40003}); math.Abs(got+1.34164) > 2e-5 {
		t.Errorf("[40000 ... 40003]: %v", got)
	}
}
