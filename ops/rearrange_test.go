package ops

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// TestRearrange: by hand, with the gradient of a weighted sum where elements repeat or vanish.
func TestRearrange(t *testing.T) {
	three, six := farr(d(3), 1, 2, 3), farr(d(2, 3), 1, 2, 3, 4, 5, 6)
	for name, c := range map[string]struct {
		f    func(x Value) Value
		x    tensor.Tensor
		want []float64
		dims []int
	}{
		"unsqueeze at the end":   {func(x Value) Value { return x.Unsqueeze(-1) }, three, d64(1, 2, 3), d(3, 1)},
		"unsqueeze at the start": {func(x Value) Value { return x.Unsqueeze(0) }, three, d64(1, 2, 3), d(1, 3)},
		"squeeze":                {func(x Value) Value { return x.Reshape(1, 3, 1).Squeeze() }, three, d64(1, 2, 3), d(3)},
		"squeeze one":            {func(x Value) Value { return x.Reshape(1, 3, 1).Squeeze(-1, 1) }, three, d64(1, 2, 3), d(1, 3)},
		"stack":                  {func(x Value) Value { return Stack(-1, x, x.Neg()) }, three, d64(1, -1, 2, -2, 3, -3), d(3, 2)},
		"narrow":                 {func(x Value) Value { return x.Narrow(-1, 1, 2) }, three, d64(2, 3), d(2)},
		"last chunk":             {func(x Value) Value { return x.Chunk(1, 2)[1] }, six, d64(3, 6), d(2, 1)},
		"flip":                   {func(x Value) Value { return x.Flip() }, six, d64(6, 5, 4, 3, 2, 1), d(2, 3)},
		"flip rows":              {func(x Value) Value { return x.Flip(-1) }, six, d64(3, 2, 1, 6, 5, 4), d(2, 3)},
		"roll":                   {func(x Value) Value { return x.Roll(0, 1) }, three, d64(3, 1, 2), d(3)},
		"roll far back":          {func(x Value) Value { return x.Roll(0, -1000) }, three, d64(2, 3, 1), d(3)},
		"tile":                   {func(x Value) Value { return x.Tile(2, 2) }, three, d64(1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3), d(2, 6)},
		"repeat":                 {func(x Value) Value { return x.Repeat(-1, 2) }, three, d64(1, 1, 2, 2, 3, 3), d(6)},
		"repeat never":           {func(x Value) Value { return x.Repeat(0, 0) }, three, nil, d(0)},
		"lower triangle":         {func(x Value) Value { return x.Tril(0) }, six, d64(1, 0, 0, 4, 5, 0), d(2, 3)},
		"upper triangle":         {func(x Value) Value { return x.Triu(1) }, six, d64(0, 2, 3, 0, 0, 6), d(2, 3)},
		"all of a triangle":      {func(x Value) Value { return x.Tril(math.MaxInt) }, six, d64(1, 2, 3, 4, 5, 6), d(2, 3)},
		"pixels":                 {func(x Value) Value { return PixelShuffle(x.Reshape(4, 1, 1), 2) }, farr(d(4), 1, 2, 3, 4), d64(1, 2, 3, 4), d(1, 2, 2)},
		"pixels and back":        {func(x Value) Value { return PixelUnshuffle(PixelShuffle(x.Reshape(1, 4, 1, 2), 2), 2) }, farr(d(8), 1, 2, 3, 4, 5, 6, 7, 8), d64(1, 2, 3, 4, 5, 6, 7, 8), d(1, 4, 1, 2)},
		"reflect":                {func(x Value) Value { return x.PadWith(Reflect, 0, 2, 2) }, three, d64(3, 2, 1, 2, 3, 2, 1), d(7)},
		"replicate":              {func(x Value) Value { return x.PadWith(Replicate, -1, 1, 2) }, three, d64(1, 1, 2, 3, 3, 3), d(6)},
		"circular":               {func(x Value) Value { return x.PadWith(Circular, 0, 2, 3) }, three, d64(2, 3, 1, 2, 3, 1, 2, 3), d(8)},
		"width only":             {func(x Value) Value { return x.PadWith(Circular, -1, 0, 1) }, six, d64(1, 2, 3, 1, 4, 5, 6, 4), d(2, 4)},
		"cut off":                {func(x Value) Value { return x.PadWith(Reflect, 0, -1, 1) }, three, d64(2, 3, 2), d(3)},
		"resize to one":          {func(x Value) Value { return Resize(x, Scaling{Mode: Bilinear, Size: d(1), Align: true}) }, three, d64(1), d(1)},
		"resize from one":        {func(x Value) Value { return Resize(x, Scaling{Mode: Bilinear, Size: d(4)}) }, farr(d(1), 7), d64(7, 7, 7, 7), d(4)},
		"sort":                   {func(x Value) Value { v, _ := Sort(x, 0, true); return v }, six, d64(4, 5, 6, 1, 2, 3), d(2, 3)},
		"smallest":               {func(x Value) Value { _, i := TopKAlong(x, 0, 1, true); return i }, three, d64(0), d(1)},
		"global":                 {func(x Value) Value { return GlobalAvgPool(x.Reshape(1, 2, 3)) }, six, d64(2, 5), d(1, 2)},
		"global maximum":         {func(x Value) Value { return GlobalMaxPool(x.Reshape(1, 2, 3)) }, six, d64(3, 6), d(1, 2)},
		"adaptive maximum":       {func(x Value) Value { return AdaptiveMaxPool2D(x, 1, 2) }, six, d64(5, 6), d(1, 2)},
		"ceil":                   {func(x Value) Value { return MaxPool1D(x.Reshape(1, 1, 3), Pool{Size: 2, Ceil: true}) }, three, d64(2, 3), d(1, 1, 2)},
		"mean of what is there":  {func(x Value) Value { return AvgPool1D(x.Reshape(1, 1, 3), Pool{Size: 2, Ceil: true}) }, three, d64(1.5, 3), d(1, 1, 2)},
		"same size": {func(x Value) Value {
			return Conv1D(x.Reshape(1, 1, 3), x.Reshape(1, 1, 3).Narrow(2, 0, 2), Conv{Same: true})
		}, three, d64(5, 8, 3), d(1, 1, 3)},
	} {
		y := values(t, func(in []Value) Value { return c.f(in[0]) }, c.x)
		check(t, name, y, c.want...)
		if y.Shape() != tensor.Of(c.dims...) {
			t.Errorf("%s: shape %v, want %v", name, y.Shape(), c.dims)
		}
	}
	box := values(t, func(in []Value) Value { return DynamicUpdate(in[0], in[1], in[2]) }, six, iarr(d(2), 1, 1), farr(d(1, 2), math.NaN(), 9))
	check(t, "dynamic update", box, 1, 2, 3, 4, math.NaN(), 9)
	x := farr(d(2), 1, 2)
	refused(t, "gives no more than 1", func(in []Value) Value { return in[0].PadWith(Reflect, 0, 5, 0) }, x)
	refused(t, "gives no more than 2", func(in []Value) Value { return in[0].PadWith(Circular, 0, 0, 3) }, x)
	refused(t, "gives no more than 0", func(in []Value) Value { return in[0].PadWith(Replicate, 0, 1, 0) }, farr(d(0)))
	refused(t, "there is no axis 2 in rank 2", func(in []Value) Value { return in[0].Unsqueeze(2) }, x)
	refused(t, "do not lie in an axis of 2", func(in []Value) Value { return in[0].Narrow(0, 1, 2) }, x)
	refused(t, "a stride of 1", func(in []Value) Value { return Conv1D(in[0], in[0], Conv{Same: true, Stride: 2}) }, ramp(1, 1, 1, 2))
}

// TestPadGradients: what is read twice adds up.
func TestPadGradients(t *testing.T) {
	x, w := farr(d(3), 1, 2, 3), farr(d(7), 1, 10, 100, 1000, 1e4, 1e5, 1e6)
	for mode, want := range map[PadMode][]float64{
		Reflect:   d64(1e6+100, 1e5+1000+10, 1e4+1),
		Replicate: d64(111, 1000, 1110000),
		Circular:  d64(100+1e5, 1+1000+1e6, 10+1e4),
	} {
		check(t, "gradient", gradient(t, func(r *Recorder, x Value) Value {
			return x.PadWith(mode, 0, 2, 2).Mul(r.Input("w", w, -1)).Sum()
		}, x), want...)
	}
}
