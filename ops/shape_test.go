package ops

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// values is what a builder makes of operands.
func values(t *testing.T, f func(in []Value) Value, in ...tensor.Tensor) tensor.Tensor {
	t.Helper()
	r := NewRecorder()
	y := f(inputs(r, in...))
	return eval(t, r, y)[0]
}

// refused fails unless recording f is refused in these words.
func refused(t *testing.T, words string, f func(in []Value) Value, in ...tensor.Tensor) {
	t.Helper()
	r := NewRecorder()
	f(inputs(r, in...))
	var shape *tensor.ShapeError
	if err := r.Err(); !errors.As(err, &shape) || !strings.Contains(err.Error(), words) {
		t.Errorf("refused with %v, want a ShapeError with %q", err, words)
	}
}

// gradients are those of the sum of y and ramp(seed), with respect to all inputs.
func gradients(t *testing.T, seed int, f func(in []Value) Value, in ...tensor.Tensor) []tensor.Tensor {
	t.Helper()
	r := NewRecorder()
	vs := inputs(r, in...)
	y := f(vs)
	return eval(t, r, r.Grad(y, r.Input("dy", ramp(seed, y.Shape().Dims()...), -1), float(vs)...)...)
}

// TestReshapeFree: one dimension may be -1, and a reshape to the same shape is the value itself.
func TestReshapeFree(t *testing.T) {
	r := NewRecorder()
	x := r.Input("x", ramp(1, 2, 3, 4), -1)
	for _, c := range []struct {
		y    Value
		want tensor.Shape
	}{
		{x.Reshape(-1), tensor.Of(24)},
		{x.Reshape(6, -1), tensor.Of(6, 4)},
		{x.Reshape(-1, 2, 3), tensor.Of(4, 2, 3)},
		{x.Reshape(24, -1), tensor.Of(24, 1)},
		{x.Flatten(), tensor.Of(2, 12)},
		{x.Sum().Flatten(), tensor.Of(1, 1)},
		{x.Slice(0, 0, 0).Flatten(), tensor.Of(0, 12)},
		{x.Slice(0, 0, 0).Reshape(4, -1), tensor.Of(4, 0)},
	} {
		if c.y.Shape() != c.want {
			t.Errorf("%v, want %v", c.y.Shape(), c.want)
		}
	}
	if x.Reshape(2, 3, 4) != x || x.Reshape(2, -1, 4) != x || x.Expand(2, 3, 4) != x {
		t.Error("a shape that is there already makes a node")
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	for _, dims := range [][]int{{-1, -1}, {5, -1}, {-2, -12}, {0, -1}, {1, 1, 1, 1, 1, 1, 1, 1, 24}, {1, 1, 1, 1, 1, 1, 1, 1, -1}, {math.MaxInt, math.MaxInt}} {
		refused(t, "wants at most 8 dimensions, none negative but for one -1", func(in []Value) Value { return in[0].Reshape(dims...) }, ramp(1, 2, 3, 4))
	}
}

// TestTranspose by hand, and what it refuses.
func TestTranspose(t *testing.T) {
	x := farr(d(2, 1, 3), 1, 2, 3, 4, 5, 6)
	check(t, "last two", values(t, func(in []Value) Value { return in[0].Reshape(2, 3).Transpose() }, x), 1, 4, 2, 5, 3, 6)
	y := values(t, func(in []Value) Value { return in[0].Transpose(-1, 0, 1) }, x)
	check(t, "negative axes", y, 1, 4, 2, 5, 3, 6)
	if y.Shape() != tensor.Of(3, 2, 1) {
		t.Error(y.Shape())
	}
	for _, perm := range [][]int{{0}, {0, 0}, {0, 2}, {0, -3}, {1, 0, 2}, {0, math.MaxInt}} {
		refused(t, "wants each of the 2 axes once", func(in []Value) Value { return in[0].Transpose(perm...) }, ramp(1, 2, 3))
	}
	refused(t, "to swap the last two", func(in []Value) Value { return in[0].Transpose() }, ramp(1, 3))
}

// TestSliceBounds has numpy's answers, at the edges of int too (reports of other engines: negative steps and bounds at the end of the range
// aborted in shape inference).
func TestSliceBounds(t *testing.T) {
	for _, c := range []struct {
		start, stop, step int
		want              []float64
	}{
		{1, 3, 1, []float64{1, 2}},
		{-2, math.MaxInt, 1, []float64{2, 3}},
		{0, -1, 1, []float64{0, 1, 2}},
		{-9, 2, 1, []float64{0, 1}},
		{2, 9, 1, []float64{2, 3}},
		{3, 1, 1, nil},
		{9, 10, 1, nil},
		{0, 4, 2, []float64{0, 2}},
		{0, 4, 3, []float64{0, 3}},
		{0, 4, math.MaxInt, []float64{0}},
		{math.MinInt, math.MaxInt, 1, []float64{0, 1, 2, 3}},
		{3, 0, -1, []float64{3, 2, 1}},
		{5, math.MinInt, -1, []float64{3, 2, 1, 0}},
		{-1, -9, -2, []float64{3, 1}},
		{math.MaxInt, math.MinInt, math.MinInt, []float64{3}},
		{0, 3, -1, nil},
		{math.MinInt, 0, -1, nil},
	} {
		f := func(in []Value) Value { return SliceStep(in[0], -1, c.start, c.stop, c.step) }
		check(t, "slice", values(t, f, farr(d(4), 0, 1, 2, 3)), c.want...)
		want := make([]float64, 4) // the gradient of the sum counts what was taken
		for _, x := range c.want {
			want[int(x)] = 1
		}
		r := NewRecorder()
		x := r.Input("x", farr(d(4), 0, 1, 2, 3), -1)
		check(t, "slice gradient", eval(t, r, r.Grad(f([]Value{x}).Sum(), Value{}, x)...)[0], want...)
		check(t, "slice of nothing", values(t, f, farr(d(0))))
	}
	refused(t, "the step is 0", func(in []Value) Value { return SliceStep(in[0], 0, 0, 3, 0) }, ramp(1, 4))
	refused(t, "there is no axis -2 in rank 1", func(in []Value) Value { return in[0].Slice(-2, 0, 1) }, ramp(1, 4))
	check(t, "a middle axis", values(t, func(in []Value) Value { return in[0].Slice(1, 1, 2) }, farr(d(2, 2, 2), 1, 2, 3, 4, 5, 6, 7, 8)), 3, 4, 7, 8)
}

// TestPad by hand.
func TestPad(t *testing.T) {
	x := farr(d(2, 2), 1, 2, 3, 4)
	check(t, "width only", values(t, func(in []Value) Value { return in[0].Pad(-1, 0, 1, 9) }, x), 1, 2, 9, 3, 4, 9)
	check(t, "height only", values(t, func(in []Value) Value { return in[0].Pad(0, 1, 0, -1) }, x), -1, -1, 1, 2, 3, 4)
	check(t, "cut off", values(t, func(in []Value) Value { return in[0].Pad(0, -1, 0, 0) }, x), 3, 4)
	check(t, "moved", values(t, func(in []Value) Value { return in[0].Pad(1, -1, 1, 9) }, x), 2, 9, 4, 9)
	refused(t, "do not lie in an axis of 2", func(in []Value) Value { return in[0].Pad(0, -2, -1, 0) }, x)
}

// TestConcatSplit: a split joined again is what it was, and each part has its gradient.
func TestConcatSplit(t *testing.T) {
	f := func(in []Value) Value {
		p := in[0].Split(-1, 3)
		return Concat(-1, p.Output(2), p, p.Output(1), p)
	}
	x := farr(d(2, 3), 1, 2, 3, 4, 5, 6)
	check(t, "parts", values(t, f, x), 3, 1, 2, 1, 6, 4, 5, 4)
	r := NewRecorder()
	v := r.Input("x", x, -1)
	w := r.Input("w", farr(d(2, 4), 1, 10, 100, 1000, 2, 20, 200, 2000), -1)
	check(t, "gradient", eval(t, r, r.Grad(f([]Value{v}).Mul(w).Sum(), Value{}, v)...)[0], 1010, 100, 1, 2020, 200, 2)

	r = NewRecorder()
	v = r.Input("x", x, -1)
	p := v.Split(1, 3)
	check(t, "gradient of one part", eval(t, r, r.Grad(p.Output(1).Sum(), Value{}, v)...)[0], 0, 1, 0, 0, 1, 0)
	if p.Output(3); !errors.Is(r.Err(), ErrMisuse) || !strings.Contains(r.Err().Error(), "split has no output 3") {
		t.Error(r.Err())
	}
	if !Concat(0).IsNone() {
		t.Error("no values join to something")
	}
}

// TestDynamicSlice: one recording, several corners; what does not fit is an error, not another box.
func TestDynamicSlice(t *testing.T) {
	x := farr(d(3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9)
	f := func(in []Value) Value { return DynamicSlice(in[0], in[1], 2, 1) }
	check(t, "first", values(t, f, x, iarr(d(2), 0, 0)), 1, 4)
	check(t, "last", values(t, f, x, iarr(d(2), 1, 2)), 6, 9)
	r := NewRecorder()
	y := f(inputs(r, x, iarr(d(2), 2, 0)))
	p, err := interpret(r, y)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.run()
	var index *IndexError
	if !errors.As(err, &index) || index.Index != 2 || index.Limit != 2 || !strings.Contains(err.Error(), "dynamic slice: index 2 out of range [0,2)") {
		t.Error(err)
	}
}

// TestBuildersAreTotal: after the first error every builder takes what it is given, and the error stays.
func TestBuildersAreTotal(t *testing.T) {
	first := errors.New("the first error")
	builders := map[string]func(x Value) Value{
		"reshape":         func(x Value) Value { return x.Reshape(3, -1) },
		"flatten":         Value.Flatten,
		"transpose":       func(x Value) Value { return x.Transpose() },
		"permute":         func(x Value) Value { return x.Transpose(4, 1, 0, -7) },
		"expand":          func(x Value) Value { return x.Expand(2, 3) },
		"concat":          func(x Value) Value { return Concat(-3, x, x) },
		"split":           func(x Value) Value { return x.Split(-2, 0).Output(7) },
		"slice":           func(x Value) Value { return x.Slice(-5, 1, 2) },
		"slice step":      func(x Value) Value { return SliceStep(x, 3, 1, 2, 0) },
		"pad":             func(x Value) Value { return x.Pad(-1, 1, 1, 0) },
		"dynamic slice":   func(x Value) Value { return DynamicSlice(x, x, 1, 2) },
		"gather":          func(x Value) Value { return x.Gather(-1, x) },
		"embedding":       func(x Value) Value { return Embedding(x, x) },
		"scatter-add":     func(x Value) Value { return ScatterAdd(x, -1, x, -1) },
		"take along":      func(x Value) Value { return x.TakeAlong(-1, x) },
		"top-k":           func(x Value) Value { _, i := TopK(x, -1); return i },
		"convolution":     func(x Value) Value { return Conv2D(x, x, Conv{Stride: -1}) },
		"max-pool":        func(x Value) Value { return MaxPool2D(x, Pool{}) },
		"average-pool":    func(x Value) Value { return AvgPool2D(x, Pool{}) },
		"batch-norm":      func(x Value) Value { _, _, v := BatchNorm(x, x, x, math.NaN()); return v },
		"batch-norm eval": func(x Value) Value { return BatchNormInfer(x, x, x, x, x, 0) },
		"dropout":         func(x Value) Value { return Dropout(x, math.NaN()) },
		"uniform":         func(x Value) Value { return Uniform(x.Recorder(), tensor.Spec{}, 1, 0) },
		"normal":          func(x Value) Value { return Normal(x.Recorder(), tensor.Spec{}, 1, 0) },
	}
	for name, f := range builders {
		r := NewRecorder()
		y := f(r.Fail(first))
		if r.Err() != first || y.Spec() != (tensor.Spec{}) || y.Dim(3) != 1 {
			t.Errorf("%s: %v", name, r.Err())
		}
		if name == "uniform" || name == "normal" {
			continue
		}
		if y := f(Value{}); !y.IsNone() {
			t.Errorf("%s of the zero Value is %v", name, y)
		}
	}
}
