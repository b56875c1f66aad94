package ops

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// TestActivations: values, and gradients of their sum, at the places that formulas get wrong: infinities, kinks, tails.
func TestActivations(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		f       func(x Value) Value
		x, y, g []float64
	}{
		"leaky relu":    {func(x Value) Value { return x.LeakyReLU(0.1) }, d64(-inf, -2, 0, 3, inf, nan), d64(-inf, -0.2, 0, 3, inf, nan), d64(0.1, 0.1, 0.1, 1, 1, 0.1)},
		"elu":           {func(x Value) Value { return x.ELU(2) }, d64(-inf, -1e-9, 0, 3, 1000, inf), d64(-2, -2e-9, 0, 3, 1000, inf), d64(0, 2, 2, 1, 1, 1)},
		"silu":          {Value.SiLU, d64(-inf, 0, inf), d64(0, 0, inf), d64(0, 0.5, 1)},
		"gelu":          {Value.GELU, d64(-inf, -6, 0, inf), d64(0, -5.9195258628e-9, 0, inf), d64(0, -3.5468e-8, 0.5, 1)},
		"gelu tanh":     {Value.GELUTanh, d64(-inf, 0, inf, -1e300), d64(0, 0, inf, 0), d64(0, 0.5, 1, 0)},
		"softplus":      {Value.Softplus, d64(-inf, -800, 0, 800, inf), d64(0, 0, math.Ln2, 800, inf), d64(0, 0, 0.5, 1, 1)},
		"log sigmoid":   {Value.LogSigmoid, d64(-inf, -800, 0, 800, inf), d64(-inf, -800, -math.Ln2, 0, 0), d64(1, 1, 0.5, 0, 0)},
		"clip":          {func(x Value) Value { return x.Clip(0, 1) }, d64(-inf, 0, 0.5, 1, 2, nan), d64(0, 0, 0.5, 1, 1, nan), d64(0, 1, 1, 1, 0, 1)},
		"abs":           {Value.Abs, d64(-3, 0, math.Copysign(0, -1), 2), d64(3, 0, 0, 2), d64(-1, 0, 0, 1)},
		"round":         {Value.Round, d64(-0.5, 0.5, 1.5, 2.5, -2.5), d64(0, 0, 2, 2, -2), d64(0, 0, 0, 0, 0)},
		"round to 2":    {func(x Value) Value { return x.RoundTo(2) }, d64(1.125, -1.135, 3.14159), d64(1.12, -1.14, 3.14), d64(0, 0, 0)},
		"round to 400":  {func(x Value) Value { return x.RoundTo(400) }, d64(1.5, -1e300, 0), d64(1.5, -1e300, 0), d64(0, 0, 0)},
		"round to 300":  {func(x Value) Value { return x.RoundTo(300) }, d64(1e9, 1.5), d64(1e9, 1.5), d64(0, 0)},
		"round to -400": {func(x Value) Value { return x.RoundTo(-400) }, d64(1.5, -1e300, 0), d64(0, 0, 0), d64(0, 0, 0)},
		"round to -2":   {func(x Value) Value { return x.RoundTo(-2) }, d64(149, -251, 250), d64(100, -300, 200), d64(0, 0, 0)},
		"reciprocal":    {Value.Reciprocal, d64(2, -4, inf), d64(0.5, -0.25, 0), d64(-0.25, -0.0625, 0)},
		"square":        {Value.Square, d64(3, -2), d64(9, 4), d64(6, -4)},
		"power":         {func(x Value) Value { return x.Pow(x.constant(2)) }, d64(3, -2, 0), d64(9, 4, 0), d64(6, -4, 0)},
		"power 0":       {func(x Value) Value { return x.Pow(x.constant(0)) }, d64(3, 0, inf), d64(1, 1, 1), d64(0, 0, 0)},
		"base 0":        {func(x Value) Value { return x.constant(0).Pow(x) }, d64(2, 0), d64(0, 1), d64(0, 0)},
		"trunc div":     {func(x Value) Value { return x.TruncDiv(x.constant(2)) }, d64(7, -7), d64(3, -3), d64(0, 0)},
		"floor div":     {func(x Value) Value { return x.FloorDiv(x.constant(2)) }, d64(7, -7), d64(3, -4), d64(0, 0)},
	} {
		x := farr(d(len(c.x)), c.x...)
		for i, y := range []tensor.Tensor{
			values(t, func(in []Value) Value { return c.f(in[0]) }, x),
			gradient(t, func(_ *Recorder, x Value) Value { return c.f(x).Sum() }, x),
		} {
			want := [][]float64{c.y, c.g}[i]
			for k, w := range want {
				if g := y.At(k); !(g == w || g != g && w != w || math.Abs(g-w) <= 1e-4*math.Abs(w)+1e-13) {
					t.Errorf("%s, gradient %v: %v at %v, want %v", name, i == 1, g, c.x[k], w)
				}
			}
		}
	}
}

// TestLogic: truth tables of any type, and what nothing is.
func TestLogic(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	a, b := farr(d(4), 0, 0, nan, 2), iarr(d(4), 0, 3, 0, -1)
	binary := func(f func(x, y Value) Value) tensor.Tensor {
		return values(t, func(in []Value) Value { return f(in[0], in[1]) }, a, b)
	}
	check(t, "and", binary(Value.And), 0, 0, 0, 1)
	check(t, "or", binary(Value.Or), 0, 1, 1, 1)
	check(t, "xor", binary(Value.Xor), 0, 1, 1, 0)
	unary := func(f func(x Value) Value, x tensor.Tensor) tensor.Tensor {
		return values(t, func(in []Value) Value { return f(in[0]) }, x)
	}
	check(t, "not", unary(Value.Not, a), 1, 1, 0, 0)
	check(t, "not of bools", unary(Value.Not, arr(d(2), true, false)), 0, 1)
	x := farr(d(4), 1, nan, inf, -inf)
	check(t, "is NaN", unary(Value.IsNaN, x), 0, 1, 0, 0)
	check(t, "is finite", unary(Value.IsFinite, x), 1, 0, 0, 0)
	check(t, "integers are finite", unary(Value.IsFinite, iarr(d(1), math.MaxInt64)), 1)
	m := iarr(d(3, 2), 0, 0, 0, 5, 6, 7)
	check(t, "any", unary(func(x Value) Value { return x.Any(1) }, m), 0, 1, 1)
	check(t, "all", unary(func(x Value) Value { return x.All(1) }, m), 0, 0, 1)
	check(t, "any of nothing", unary(func(x Value) Value { return x.Any() }, farr(d(0))), 0)
	check(t, "all of nothing", unary(func(x Value) Value { return x.All() }, farr(d(0))), 1)
}

// TestStatistics: values and gradients of reductions that are said in terms of others.
func TestStatistics(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		f    func(x Value) Value
		x    tensor.Tensor
		y, g []float64
	}{
		"product":                {func(x Value) Value { return x.Prod(-1) }, farr(d(2, 3), 1, 2, 3, 4, 5, 6), d64(6, 120), d64(6, 3, 2, 30, 24, 20)},
		"product with a zero":    {func(x Value) Value { return x.Prod() }, farr(d(3), 2, 0, 5), d64(0), d64(0, 10, 0)},
		"product with two zeros": {func(x Value) Value { return x.Prod(0) }, farr(d(3), 0, 0, 5), d64(0), d64(0, 0, 0)},
		"product of seven":       {func(x Value) Value { return x.Prod() }, farr(d(7), 1, 2, 1, 2, 1, 2, 1), d64(8), d64(8, 4, 8, 4, 8, 4, 8)},
		"product of nothing":     {func(x Value) Value { return x.Prod(1) }, farr(d(2, 0)), d64(1, 1), nil},
		"variance":               {func(x Value) Value { return x.Var(0, 1) }, farr(d(1, 4), 1, 2, 3, 4), d64(1.25), d64(-0.75, -0.25, 0.25, 0.75)},
		"sample variance":        {func(x Value) Value { return x.Var(1) }, farr(d(4), 1, 2, 3, 4), d64(5. / 3), d64(-1, -1./3, 1./3, 1)},
		"variance far away":      {func(x Value) Value { return x.Var(0) }, farr(d(2), 1e8, 1e8+2), d64(1), d64(-1, 1)},
		"variance of one":        {func(x Value) Value { return x.Var(1) }, farr(d(1), 3), d64(nan), d64(nan)},
		"deviation of equals":    {func(x Value) Value { return x.Std(0) }, farr(d(3), 2, 2, 2), d64(0), d64(0, 0, 0)},
		"deviation":              {func(x Value) Value { return x.Std(0) }, farr(d(2), 1, 5), d64(2), d64(-0.5, 0.5)},
		"cumulative sum":         {func(x Value) Value { return x.Cumsum(-1) }, farr(d(3), 1, 2, 4), d64(1, 3, 7), d64(3, 2, 1)},
		"log-sum-exp":            {func(x Value) Value { return x.LogSumExp(0) }, farr(d(2), 1000, 1000), d64(1000 + math.Ln2), d64(0.5, 0.5)},
		"log-sum-exp of -inf":    {func(x Value) Value { return x.LogSumExp() }, farr(d(2), -inf, -inf), d64(-inf), d64(0, 0)},
		"log-sum-exp with -inf":  {func(x Value) Value { return x.LogSumExp() }, farr(d(3), -inf, -inf, 2), d64(2), d64(0, 0, 1)},
		"log-sum-exp of nothing": {func(x Value) Value { return x.LogSumExp(0) }, farr(d(0, 2)), d64(-inf, -inf), nil},
		"log-sum-exp of +inf":    {func(x Value) Value { return x.LogSumExp() }, farr(d(2), inf, 0), d64(inf), nil},
		"log-sum-exp of NaN":     {func(x Value) Value { return x.LogSumExp() }, farr(d(2), nan, 0), d64(nan), nil},
		"log-softmax":            {func(x Value) Value { return x.LogSoftmax(-1).Slice(-1, 0, 1) }, farr(d(2), -1000, 1000), d64(-2000), d64(1, -1)},
		"log-softmax masked":     {func(x Value) Value { return x.LogSoftmax(0).Slice(0, 1, 2) }, farr(d(2), -inf, 3), d64(0), d64(0, 0)},
	} {
		check(t, name, values(t, func(in []Value) Value { return c.f(in[0]) }, c.x), c.y...)
		if c.g != nil {
			check(t, name+": gradient", gradient(t, func(_ *Recorder, x Value) Value { return c.f(x).Sum() }, c.x), c.g...)
		}
	}
	check(t, "argmin", values(t, func(in []Value) Value { return in[0].ArgMin(1) }, farr(d(3, 3), 2, 1, 1, 4, nan, -inf, 0, -1, -2)), 1, 1, 2)
	check(t, "argmin of integers", values(t, func(in []Value) Value { return in[0].ArgMin(0) }, iarr(d(3), math.MaxInt64, math.MinInt64, 0)), 1)
	check(t, "argmin of bytes", values(t, func(in []Value) Value { return in[0].ArgMin(0) }, arr[uint8](d(3), 255, 7, 0)), 2)
	ints := values(t, func(in []Value) Value { return in[0].Prod() }, iarr(d(3), 3, -2, math.MaxInt64))
	if got := ints.Int(0); got != 6 { // modulo 2^64
		t.Errorf("product of integers: %d", got)
	}
}
