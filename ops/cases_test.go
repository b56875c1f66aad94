package ops

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// Faults that users of other engines met.

// TestLossOfNothing: cross-entropy over no row is NaN, the mean of nothing; the gradient of the weights is 0 all the same.
func TestLossOfNothing(t *testing.T) {
	r := NewRecorder()
	w, b := r.Input("w", ramp(1, 3, 4), -1), r.Input("b", ramp(2, 3), -1)
	logits := Linear(r.Input("x", ramp(3, 0, 4), -1), w, b)
	loss := CrossEntropy(logits, r.Input("labels", iarr(d(0)), -1))
	out := eval(t, r, append(r.Grad(loss, Value{}, w, b), loss)...)
	check(t, "dw", out[0], make([]float64, 12)...)
	check(t, "db", out[1], 0, 0, 0)
	check(t, "loss", out[2], math.NaN())
}

// TestNaNStays: one NaN at any place of any length is there afterwards, in value and gradient, on either side of a maximum or minimum.
func TestNaNStays(t *testing.T) {
	for _, n := range []int{1, 3, 8, 16, 33, 64} {
		for at := range n {
			x, zero := ramp(1, n), tensor.New(tensor.SpecOf(tensor.F64, n))
			x.Set(at, math.NaN())
			for name, f := range map[string]func(in []Value) Value{
				"relu":           func(in []Value) Value { return in[0].ReLU() },
				"maximum, left":  func(in []Value) Value { return in[0].Maximum(in[1]) },
				"maximum, right": func(in []Value) Value { return in[1].Maximum(in[0]) },
				"minimum, left":  func(in []Value) Value { return in[0].Minimum(in[1]) },
				"minimum, right": func(in []Value) Value { return in[1].Minimum(in[0]) },
				"clamp":          func(in []Value) Value { return in[0].Maximum(in[1]).Minimum(in[1].Shift(1)) },
				"bound":          func(in []Value) Value { return in[1].Minimum(in[0]).Maximum(in[0]) },
			} {
				y := values(t, f, x, zero)
				g := gradients(t, 2, func(in []Value) Value { y := f(in); return y.Mul(y) }, x, zero)[0]
				for i := range n {
					if math.IsNaN(y.At(i)) != (i == at) || math.IsNaN(g.At(i)) != (i == at) {
						t.Fatalf("%s, length %d, NaN at %d: %v, gradient %v", name, n, at, y, g)
					}
				}
			}
			if y := values(t, func(in []Value) Value { return in[0].Max() }, x); !math.IsNaN(y.At(0)) {
				t.Fatalf("max, length %d, NaN at %d: %v", n, at, y)
			}
			if y := values(t, func(in []Value) Value { return in[0].Min() }, x); !math.IsNaN(y.At(0)) {
				t.Fatalf("min, length %d, NaN at %d: %v", n, at, y)
			}
			check(t, "argmax", values(t, func(in []Value) Value { return in[0].ArgMax(0) }, x), float64(at))
		}
	}
}

// TestLongSums: a sum does not stick where its type can no longer count.
func TestLongSums(t *testing.T) {
	for dt, n := range map[tensor.DType]int{tensor.BF16: 1 << 10, tensor.F16: 1 << 14} {
		ones := tensor.Full(tensor.SpecOf(dt, n, 2), 1)
		sum := func(in []Value) Value { return in[0].Sum(0) }
		mean := func(in []Value) Value { return in[0].Mean(0) }
		check(t, "sum", values(t, sum, ones), float64(n), float64(n))
		check(t, "mean", values(t, mean, ones), 1, 1)
	}
	far := tensor.Must(tensor.From([]float32{1 << 24, 1, 1, 1, 1}))
	check(t, "f32", values(t, func(in []Value) Value { return in[0].Sum() }, far), 1<<24+4)
}

// TestZeroTimesNaN: a product is not skipped because one side is zero.
func TestZeroTimesNaN(t *testing.T) {
	zero := tensor.New(tensor.SpecOf(tensor.F64, 1, 2))
	for _, x := range []float64{math.NaN(), math.Inf(1)} {
		b := farr(d(2, 1), 1, x)
		check(t, "right", values(t, func(in []Value) Value { return in[0].MatMul(in[1]) }, zero, b), math.NaN())
		check(t, "left", values(t, func(in []Value) Value { return MatMulT(in[1], in[0], true, true) }, zero, b), math.NaN())
	}
}

// TestSoftmaxOfNothingFinite: a line of -inf only, and one with +inf, is NaN, as in PyTorch; a mask that leaves one class is exact.
func TestSoftmaxOfNothingFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	y := values(t, func(in []Value) Value { return in[0].Softmax(-1) }, farr(d(4, 2), -inf, -inf, 0, inf, -inf, 3, -1e300, 1e300))
	check(t, "softmax", y, nan, nan, nan, nan, 0, 1, 0, 1)
}

// TestCasts: what does not fit has one answer.
func TestCasts(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	cast := func(to tensor.DType, x ...float64) tensor.Tensor {
		return values(t, func(in []Value) Value { return in[0].Cast(to) }, farr(d(len(x)), x...))
	}
	check(t, "i32", cast(tensor.I32, nan, inf, -inf, 3e9, -3e9, 2147483648, 2.9, -2.9), 0, math.MaxInt32, math.MinInt32, math.MaxInt32, math.MinInt32, math.MaxInt32, 2, -2)
	check(t, "u8", cast(tensor.U8, 300, -1, nan, 255.9), 255, 0, 0, 255)
	check(t, "bool", cast(tensor.Bool, 0, math.Copysign(0, -1), nan, 0.1), 0, 0, 1, 1)
	if x := cast(tensor.I64, 9.3e18, -9.3e18, nan); x.Int(0) != math.MaxInt64 || x.Int(1) != math.MinInt64 || x.Int(2) != 0 {
		t.Errorf("i64: %v", x)
	}
}

// TestGradientsExist of operations that are often forgotten until somebody trains: none is zero throughout.
func TestGradientsExist(t *testing.T) {
	idx := iarr(d(3), 1, 1, 0)
	image := ramp(1, 1, 2, 4, 4)
	for name, c := range map[string]struct {
		f  func(in []Value) Value
		in []tensor.Tensor
	}{
		"min":        {func(in []Value) Value { return in[0].Min(1) }, []tensor.Tensor{ramp(1, 3, 4)}},
		"embedding":  {func(in []Value) Value { return Embedding(in[0], in[1]) }, []tensor.Tensor{ramp(1, 2, 3), idx}},
		"max-pool":   {func(in []Value) Value { return MaxPool2D(in[0], Pool{Size: 2}) }, []tensor.Tensor{image}},
		"conv":       {func(in []Value) Value { return Conv2D(in[0], in[1], Conv{Stride: 2}) }, []tensor.Tensor{image, ramp(2, 3, 2, 2, 2)}},
		"scalar ops": {func(in []Value) Value { return in[0].Scale(2).Shift(1) }, []tensor.Tensor{ramp(1, 3)}},
		"linear":     {func(in []Value) Value { return Linear(in[0], in[1], in[2]) }, []tensor.Tensor{ramp(1, 2, 2, 3), ramp(2, 4, 3), ramp(3, 4)}},
	} {
		for i, g := range gradients(t, 3, c.f, c.in...) {
			sum := 0.0
			for k := range g.Len() {
				sum += math.Abs(g.At(k))
			}
			if sum == 0 {
				t.Errorf("%s: the gradient of operand %d is zero", name, i)
			}
		}
	}
}

// TestLinear: weights are [out, in], the bias may be none, x may have any rank, and the gradient of the weight is one product over all
// rows, not a product for each matrix.
func TestLinear(t *testing.T) {
	x, w, b := farr(d(1, 2, 2), 1, 2, 3, 4), farr(d(3, 2), 1, 0, 0, 1, 1, 1), farr(d(3), 10, 20, 30)
	check(t, "with bias", values(t, func(in []Value) Value { return Linear(in[0], in[1], in[2]) }, x, w, b), 11, 22, 33, 13, 24, 37)
	check(t, "without", values(t, func(in []Value) Value { return Linear(in[0], in[1], Value{}) }, x, w), 1, 2, 3, 3, 4, 7)
	r := NewRecorder()
	in := inputs(r, ramp(1, 5, 2, 2), w)
	before := r.Len()
	r.Grad(Linear(in[0], in[1], Value{}).Sum(), Value{}, in[1])
	for _, n := range r.path[before+1:] {
		if _, ok := n.Op.(MatMulOp); ok && n.Out[0].Shape != tensor.Of(3, 2) {
			t.Errorf("a product of shape %v", n.Out[0].Shape)
		}
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

// TestReduceBuilders: axes may be counted from the end; none are all.
func TestReduceBuilders(t *testing.T) {
	x := farr(d(2, 2), 1, 2, 3, 5)
	for name, c := range map[string]struct {
		f    func(x Value) Value
		want []float64
		dims []int
	}{
		"sum":      {func(x Value) Value { return x.Sum() }, d64(11), d()},
		"rows":     {func(x Value) Value { return x.Sum(-1) }, d64(3, 8), d(2)},
		"both":     {func(x Value) Value { return x.Sum(1, 0) }, d64(11), d()},
		"kept":     {func(x Value) Value { return x.SumKeep(-2) }, d64(4, 7), d(1, 2)},
		"mean":     {func(x Value) Value { return x.Mean(0) }, d64(2, 3.5), d(2)},
		"meanKeep": {func(x Value) Value { return x.MeanKeep() }, d64(2.75), d(1, 1)},
		"max":      {func(x Value) Value { return x.Max(1) }, d64(2, 5), d(2)},
		"maxKeep":  {func(x Value) Value { return x.MaxKeep(1) }, d64(2, 5), d(2, 1)},
		"min":      {func(x Value) Value { return x.Min() }, d64(1), d()},
		"argmax":   {func(x Value) Value { return x.ArgMax(-2) }, d64(1, 1), d(2)},
		"sumTo":    {func(x Value) Value { return x.SumTo(tensor.Of(1, 2)) }, d64(4, 7), d(1, 2)},
		"sumTo []": {func(x Value) Value { return x.SumTo(tensor.Of()) }, d64(11), d()},
		"the same": {func(x Value) Value { return x.SumTo(tensor.Of(2, 2)) }, d64(1, 2, 3, 5), d(2, 2)},
	} {
		y := values(t, func(in []Value) Value { return c.f(in[0]) }, x)
		check(t, name, y, c.want...)
		if y.Shape() != tensor.Of(c.dims...) {
			t.Errorf("%s: shape %v, want %v", name, y.Shape(), c.dims)
		}
	}
}
