package ops

import (
	"errors"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// TestLosses: values and gradients where formulas fail: certainty, no weight, ties.
func TestLosses(t *testing.T) {
	nan, inf, ln2 := math.NaN(), math.Inf(1), math.Ln2
	for name, c := range map[string]struct {
		f       func(x, y Value) Value
		x, y    []float64
		l, dldx []float64
	}{
		"binary cross-entropy, certain":        {BinaryCrossEntropy, d64(1, 0, 0.5), d64(1, 0, 1), d64(0, 0, ln2), d64(-1, 1, -2)},
		"binary cross-entropy, wrong":          {BinaryCrossEntropy, d64(0, 1), d64(1, 0), d64(inf, inf), nil},
		"binary cross-entropy, no probability": {BinaryCrossEntropy, d64(1.5, 1.5, -0.5, -0.5, inf, -inf), d64(1, 0, 1, 0, 1, 0), d64(nan, nan, nan, nan, nan, nan), nil},
		"logits far out":                       {BCEWithLogits, d64(200, -200, 200, -200), d64(1, 1, 0, 0), d64(0, 200, 200, 0), d64(0, -1, 1, 0)},
		"logits infinitely far out":            {BCEWithLogits, d64(inf, -inf, inf), d64(1, 0, 0), d64(0, 0, inf), d64(0, 0, 1)},
		"logits":                               {BCEWithLogits, d64(0), d64(0.25), d64(ln2), d64(0.25)},
		"divergence of what is not":            {KLDivergence, d64(-inf, -ln2, -ln2), d64(0, 0.5, 0.5), d64(0, 0, 0), d64(0, -0.5, -0.5)},
		"divergence of logarithms":             {KLDivergenceLog, d64(-inf, -ln2), d64(-inf, -ln2), d64(0, 0), d64(0, -0.5)},
		"huber":                                {func(x, y Value) Value { return Huber(x, y, 2) }, d64(1, 2, 5, -5), d64(0, 0, 0, 0), d64(0.5, 2, 8, 8), d64(1, 2, 2, -2)},
		"smooth l1":                            {func(x, y Value) Value { return SmoothL1(x, y, 2) }, d64(1, 5), d64(0, 0), d64(0.25, 4), d64(0.5, 1)},
		"smooth l1 without a bend":             {func(x, y Value) Value { return SmoothL1(x, y, 0) }, d64(3, 0), d64(0, 0), d64(3, 0), d64(1, 0)},
		"squared error":                        {SquaredError, d64(3), d64(1), d64(4), d64(4)},
		"absolute error":                       {AbsoluteError, d64(1, 2), d64(3, 2), d64(2, 0), d64(-1, 0)},
		"x log y":                              {func(x, y Value) Value { return XLogY(y, x) }, d64(0, 1, 2), d64(0, 0, 3), d64(0, 0, 3*ln2), d64(0, 0, 1.5)},
		"no x":                                 {func(x, y Value) Value { return XLogY(y, x) }, d64(-2, -inf, inf, 2, nan), d64(0, 0, 0, 0, 0), d64(0, 0, 0, 0, nan), d64(0, 0, 0, 0, nan)},
		"x log y of the first":                 {XLogY, d64(0, 0, 0, 0, 1), d64(2, -2, 0, nan, -1), d64(0, 0, 0, nan, nan), d64(ln2, 0, 0, nan, nan)},
	} {
		x, y := farr(d(len(c.x)), c.x...), farr(d(len(c.y)), c.y...)
		check(t, name, values(t, func(in []Value) Value { return c.f(in[0], in[1]) }, x, y), c.l...)
		if c.dldx != nil {
			g := gradient(t, func(r *Recorder, x Value) Value { return c.f(x, r.Input("y", y, -1)).Sum() }, x)
			check(t, name+": gradient", g, c.dldx...)
		}
	}
	check(t, "mse", values(t, func(in []Value) Value { return MSE(in[0], in[1]) }, farr(d(2), 1, 4), farr(d(2), 1, 2)), 2)
	check(t, "l1", values(t, func(in []Value) Value { return L1(in[0], in[1]) }, farr(d(2), 1, 4), farr(d(2), 1, 2)), 1)
	check(t, "a positive counts twice", values(t, func(in []Value) Value { return WeightedBCEWithLogits(in[0], in[1], in[1].constant(2)) }, farr(d(2), 0, 0), farr(d(2), 1, 0)), 2*ln2, ln2)
}

// TestClassLosses: labels that do not count leave no trace, NaN neither; of none that counts the loss is 0.
func TestClassLosses(t *testing.T) {
	nan, ln2, ln3 := math.NaN(), math.Ln2, math.Log(3)
	ignore := ClassLoss{Ignore: true, Ignored: -100}
	logits, labels := farr(d(3, 2), 0, 0, nan, nan, 0, ln3), iarr(d(3), 1, -100, 0)
	loss := func(c ClassLoss, labels tensor.Tensor) func(r *Recorder, x Value) Value {
		return func(r *Recorder, x Value) Value { return CrossEntropyWith(x, r.Input("labels", labels, -1), c) }
	}
	value := func(f func(r *Recorder, x Value) Value, x tensor.Tensor) tensor.Tensor {
		r := NewRecorder()
		return eval(t, r, f(r, r.Input("x", x, -1)))[0]
	}
	check(t, "one ignored", value(loss(ignore, labels), logits), (ln2+2*ln2)/2)
	check(t, "one ignored: gradient", gradient(t, loss(ignore, labels), logits), 0.25, -0.25, 0, 0, -0.375, 0.375)
	all := iarr(d(3), -100, -100, -100)
	check(t, "all ignored", value(loss(ignore, all), logits), 0)
	check(t, "all ignored: gradient", gradient(t, loss(ignore, all), logits), make([]float64, 6)...)
	far := ClassLoss{Ignore: true, Ignored: math.MaxInt64}
	check(t, "ignored far out", value(loss(far, iarr(d(3), 1, math.MaxInt64, 0)), logits), (ln2+2*ln2)/2)

	plain := farr(d(2, 3), 1, 2, 3, 3, 1, 0)
	two := iarr(d(2), 2, 1)
	r := NewRecorder()
	x, y := r.Input("x", plain, -1), r.Input("y", two, -1)
	hot := OneHot(y, 3, tensor.F64)
	w := NewVariable("w", farr(d(3), 1, 2, 0.5))
	out := eval(t, r,
		CrossEntropyWith(x, y, ClassLoss{}), CrossEntropy(x, y), CrossEntropyWith(x, hot, ClassLoss{}), NLLWith(x.LogSoftmax(-1), y, ClassLoss{}),
		CrossEntropyWith(x, y, ClassLoss{Smoothing: 0.3}), CrossEntropyWith(x, hot, ClassLoss{Smoothing: 0.3}),
		CrossEntropyWith(x, y, ClassLoss{Weight: w}).Scale(2.5), CrossEntropyWith(x, hot, ClassLoss{Weight: w}).Scale(2))
	for i := range 3 {
		check(t, "plain", out[i+1], out[0].At(0))
	}
	check(t, "smoothed", out[5], out[4].At(0))
	check(t, "weighted", out[7], out[6].At(0)) // the sum over the weights, and over the rows
	r = NewRecorder()
	x = r.Input("x", plain, -1)
	bad := CrossEntropyWith(x, r.Input("y", iarr(d(2), 0, 3), -1), ignore)
	p, err := interpret(r, bad)
	if err != nil {
		t.Fatal(err)
	}
	var index *IndexError
	if _, err := p.run(); !errors.As(err, &index) || index.Index != 3 || index.Limit != 3 {
		t.Errorf("a label out of range: %v", err)
	}
	refused(t, "one label for each row", func(in []Value) Value { return CrossEntropyWith(in[0], in[1], ClassLoss{}) }, plain, iarr(d(3), 0, 0, 0))
	refused(t, "labels of type i32 or i64", func(in []Value) Value { return CrossEntropyWith(in[0], in[1], ClassLoss{}) }, plain, arr[uint8](d(2), 0, 0))
	for want, w := range map[string]tensor.Tensor{
		"ClassLoss.Weight has 2 weights, f64[2], the logits 3 classes":    farr(d(2), 1, 2),
		"ClassLoss.Weight has 3 weights, f64[1 3], the logits 3 classes":  farr(d(1, 3), 1, 2, 3),
		"ClassLoss.Weight is f32, the logits are f64: both have one type": arr[float32](d(3), 1, 2, 3),
	} {
		c := ClassLoss{Weight: NewVariable("w", w)}
		refused(t, want, func(in []Value) Value { return CrossEntropyWith(in[0], in[1], c) }, plain, two)
		refused(t, want, func(in []Value) Value { return NLLWith(in[0], in[0], c) }, plain)
	}
	refused(t, "ClassLoss.Weight has 1 weights, none[]", func(in []Value) Value { return CrossEntropyWith(in[0], in[1], ClassLoss{Weight: &Variable{}}) }, plain, two)
}

// TestRowNorms: a large mean costs no digits, and lengths at zero have a gradient.
func TestRowNorms(t *testing.T) {
	x := farr(d(1, 4), 40000, 40001, 40002, 40003)
	want := d64(-1.341640786, -0.447213595, 0.447213595, 1.341640786)
	for name, f := range map[string]func(in []Value) Value{
		"layer": func(in []Value) Value { return LayerNorm(in[0], Value{}, Value{}, 1, 0) },
		"group": func(in []Value) Value { return GroupNorm(in[0].Reshape(1, 2, 2), Value{}, Value{}, 1, 0) },
	} {
		y := values(t, f, x)
		for i, w := range want {
			if math.Abs(y.At(i)-w) > 1e-8 {
				t.Errorf("%s: %v, want %v", name, y, want)
			}
		}
	}
	check(t, "rms", values(t, func(in []Value) Value { return RMSNorm(in[0], in[0].constant(2), 1, 0) }, farr(d(1, 2), 3, -3)), 2, -2)
	check(t, "norm", values(t, func(in []Value) Value { return in[0].Norm(2) }, farr(d(2), 3, -4)), 5)
	check(t, "norm at 0", gradient(t, func(_ *Recorder, x Value) Value { return x.Norm(2) }, farr(d(2), 0, 0)), 0, 0)
	check(t, "other norms", values(t, func(in []Value) Value {
		x := in[0]
		return Stack(0, x.Norm(0), x.Norm(1), x.Norm(3), x.Norm(math.Inf(1)), x.Norm(math.Inf(-1)))
	}, farr(d(3), 0, -1, 2)), 2, 3, math.Cbrt(9), 2, 0)
	check(t, "normalized zeros", values(t, func(in []Value) Value { return Normalize(in[0], 2, -1, 1e-12) }, farr(d(2, 2), 0, 0, 3, 4)), 0, 0, 0.6, 0.8)
	check(t, "cosine", values(t, func(in []Value) Value { return CosineSimilarity(in[0], in[1], -1, 1e-8) }, farr(d(2, 2), 1, 0, 0, 0), farr(d(2), 2, 2)), math.Sqrt2/2, 0)
	check(t, "gradient of a count", gradient(t, func(_ *Recorder, x Value) Value { return x.Norm(0) }, farr(d(3), 0, -1, 2)), 0, 0, 0)
	refused(t, "normalises 3 axes of rank 2", func(in []Value) Value { return LayerNorm(in[0], Value{}, Value{}, 3, 0) }, x)
	refused(t, "a multiple of 3 channels", func(in []Value) Value { return GroupNorm(in[0], Value{}, Value{}, 3, 0) }, x)
}

// TestCosineSimilarity: squares neither overflow nor underflow, in the value or the gradient; less than eps is eps, and nothing is 0.
func TestCosineSimilarity(t *testing.T) {
	cosine := func(eps float64) func(in []Value) Value {
		return func(in []Value) Value { return CosineSimilarity(in[0], in[1], -1, eps) }
	}
	y := arr[float32](d(2), 2, 0)
	for _, size := range []float32{1e25, 5e37, 1, 1e-25} {
		x := arr[float32](d(2), 3*size, 4*size)
		if got := values(t, cosine(0), x, y).At(0); !(math.Abs(got-0.6) < 1e-6) {
			t.Errorf("size %v: %v, want 0.6", size, got)
		}
		g := gradient(t, func(r *Recorder, x Value) Value { return cosine(0)([]Value{x, r.Input("y", y, -1)}) }, x)
		for i, want := range d64(0.128, -0.096) { // (1 - cos^2) / |x|, and -cos sin / |x|, where |x| is 5
			if got := g.At(i) * float64(size); !(math.Abs(got-want) < 1e-6) {
				t.Errorf("size %v: gradient %d is %v / size, want %v", size, i, got, want)
			}
		}
	}
	check(t, "less than eps", values(t, cosine(10), farr(d(2, 2), 3, 4, 0, 0), farr(d(2), 20, 0)), 0.3, 0)
	g := gradient(t, func(r *Recorder, x Value) Value { return cosine(0.5)([]Value{x, r.Input("y", farr(d(2), 3, 4), -1)}) }, farr(d(2), 0, 0))
	check(t, "gradient at 0", g, 1.2, 1.6)
	check(t, "zeros without eps", values(t, cosine(0), farr(d(2), 0, 0), farr(d(2), 1, 1)), math.NaN())
	check(t, "lines of nothing", values(t, cosine(1e-8), farr(d(2, 0)), farr(d(2, 0))), 0, 0)
}
