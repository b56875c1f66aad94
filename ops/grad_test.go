package ops

import (
	"errors"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// gradient is the gradient at x of a number that f records.
func gradient(t *testing.T, f func(r *Recorder, x Value) Value, x tensor.Tensor) tensor.Tensor {
	t.Helper()
	r := NewRecorder()
	v := r.Input("x", x, -1)
	return eval(t, r, r.Grad(f(r, v), Value{}, v)[0])[0]
}

// TestGradSums: each use of a value adds its share once.
func TestGradSums(t *testing.T) {
	x := farr(d(2), 3, 5)
	for name, c := range map[string]struct {
		f    func(r *Recorder, x Value) Value
		want []float64
	}{
		"the value itself":   {func(r *Recorder, x Value) Value { return x.Sum() }, d64(1, 1)},
		"product of itself":  {func(r *Recorder, x Value) Value { return x.Mul(x).Sum() }, d64(6, 10)},
		"sum of itself":      {func(r *Recorder, x Value) Value { return x.Add(x).Sum() }, d64(2, 2)},
		"quotient of itself": {func(r *Recorder, x Value) Value { return x.Div(x).Sum() }, d64(0, 0)},
		"diamond": {func(r *Recorder, x Value) Value {
			y := x.Scale(2)
			return y.Mul(y.Shift(1)).Sum() // 4x² + 2x
		}, d64(26, 42)},
		"deep diamonds": {func(r *Recorder, x Value) Value {
			for range 10 {
				x = x.Add(x)
			}
			return x.Sum()
		}, d64(1024, 1024)},
		"scalar operations":       {func(r *Recorder, x Value) Value { return x.Scale(3).Shift(1).Neg().Sum() }, d64(-3, -3)},
		"seeded with 1, not loss": {func(r *Recorder, x Value) Value { return x.Sum().Scale(100) }, d64(100, 100)},
		"broadcast": {func(r *Recorder, x Value) Value {
			return x.Add(Full(r, tensor.SpecOf(tensor.F64, 3, 2), 1)).Sum()
		}, d64(3, 3)},
		"mean squared error has 2/N": {func(r *Recorder, x Value) Value {
			e := x.Sub(Full(r, tensor.SpecOf(tensor.F64, 2), 1))
			return e.Mul(e).Mean()
		}, d64(2, 4)},
		"stopped":         {func(r *Recorder, x Value) Value { return x.StopGradient().Mul(x).Sum() }, d64(3, 5)},
		"stopped wholly":  {func(r *Recorder, x Value) Value { return x.StopGradient().Sum() }, d64(0, 0)},
		"unused":          {func(r *Recorder, x Value) Value { return Full(r, tensor.SpecOf(tensor.F64), 1) }, d64(0, 0)},
		"a branch unused": {func(r *Recorder, x Value) Value { x.Exp(); return x.Sum() }, d64(1, 1)},
		"cast there and back": {func(r *Recorder, x Value) Value {
			return x.Cast(tensor.F32).Scale(2).Cast(tensor.F64).Sum()
		}, d64(2, 2)},
		"of its own gradient": {func(r *Recorder, x Value) Value {
			g := r.Grad(x.Mul(x).Mul(x).Sum(), Value{}, x)[0] // 3x²
			return g.Sum()
		}, d64(18, 30)},
		"one of two outputs": {func(r *Recorder, x Value) Value { v, _ := TopK(x, 1); return v.Sum() }, d64(0, 1)},
	} {
		t.Run(name, func(t *testing.T) { check(t, "gradient", gradient(t, c.f, x), c.want...) })
	}
}

func d64(x ...float64) []float64 { return x }

// TestGradWrt: any values, in any order, repeated, the loss itself, and intermediate ones.
func TestGradWrt(t *testing.T) {
	r := NewRecorder()
	x := r.Input("x", farr(d(1), 3), -1)
	y := x.Scale(2)
	loss := y.Mul(y).Sum()
	for i, g := range eval(t, r, r.Grad(loss, Value{}, y, x, loss, x, y)...) {
		check(t, "gradient", g, []float64{12, 24, 1, 24, 12}[i])
	}
	if n := len(r.Grad(loss, Value{})); n != 0 {
		t.Errorf("%d gradients with respect to nothing", n)
	}
	w := r.Input("w", farr(d(1), 10), -1)
	check(t, "weighted", eval(t, r, r.Grad(y, w, x)[0])[0], 20)
	if x == y || loss.IsNone() {
		t.Error("values do not compare")
	}
}

// TestGradMemo: a gradient is remembered where it was asked for, by loss, weight and variables; the remembered chain fits what follows.
func TestGradMemo(t *testing.T) {
	r := NewRecorder()
	asked := 0
	record := func(k int) Value {
		r.Begin()
		a, b := r.Input("a", farr(d(1), 2), -1), r.Input("b", farr(d(1), 3), -1)
		l1, l2 := a.Mul(b).Sum(), a.Mul(a).Mul(b).Sum()
		asked++
		switch k {
		case 0:
			return r.Grad(l1, Value{}, a)[0] // 3
		case 1:
			return r.Grad(l1, Value{}, b)[0] // 2
		case 2:
			return r.Grad(l1, Value{}, b, a)[1] // 3
		case 3:
			return r.Grad(l2, Value{}, a)[0].Add(r.Grad(l1, Value{}, a)[0]) // 12 + 3
		case 4:
			return r.Grad(l1, l2, a)[0] // 3 * 12
		}
		return r.Grad(r.Grad(l2, Value{}, a)[0].Sum(), Value{}, a, b)[0] // 2b
	}
	want := []float64{3, 2, 3, 15, 36, 6}
	misses := 0
	for round := range 3 {
		for k := range want {
			check(t, "gradient", eval(t, r, record(k))[0], want[k])
			check(t, "what follows", eval(t, r, record(k).Scale(2))[0], 2*want[k])
		}
		if round == 0 {
			misses = r.Misses()
		}
	}
	if r.Misses() != misses {
		t.Errorf("%d misses at replay", r.Misses()-misses)
	}
}

// TestCuts: where every path passes through a value that is no float, the cut is named; where one does not, the gradient is its own.
func TestCuts(t *testing.T) {
	x := farr(d(2), 3, -5)
	check(t, "beside a cut", gradient(t, func(r *Recorder, x Value) Value {
		return x.Mul(x.Greater(Zeros(r, x.Spec())).Cast(tensor.F64)).Sum()
	}, x), 1, 0)
	check(t, "no second derivative", gradient(t, func(r *Recorder, x Value) Value {
		return r.Grad(x.Maximum(Zeros(r, x.Spec())).Sum(), Value{}, x)[0].Sum()
	}, x), 0, 0)
	r := NewRecorder()
	v := r.Input("x", x, -1)
	r.Scope("model", func() { r.Grad(v.Cast(tensor.I64).Cast(tensor.F64).Sum(), Value{}, v) })
	if err := r.Err(); !errors.Is(err, ErrNotDifferentiable) {
		t.Errorf("%v", err)
	}
	fails(t, r.Err(), ErrNotDifferentiable, "input x", "no differentiable path from the loss", "cut by cast at grad_test.go:")
}

// TestSegment: a checkpointed segment has the same gradients, from recomputed values that wait for the backward pass; its random numbers
// are drawn once more with the same bits, and what it assigns is assigned once.
func TestSegment(t *testing.T) {
	x := ramp(1, 3, 4)
	run := func(segment bool) (grads []tensor.Tensor, g *Graph) {
		r := NewRecorder()
		v := r.Input("x", x, -1)
		w := NewVariable("w", ramp(2, 4, 4))
		layer := func(h Value) Value {
			out := h
			f := func() { out = Dropout(h.MatMul(r.Var(w)).Tanh(), 0.5).Exp(); r.Assign(w, r.Var(w)) }
			if segment {
				r.Segment(f)
			} else {
				f()
			}
			return out
		}
		loss := layer(layer(v.Scale(2))).Sum()
		dx := r.Grad(loss, Value{}, v, r.Var(w))
		out := eval(t, r, dx...)
		g, err := r.Graph(true, append(dx, loss)...)
		if err != nil {
			t.Fatal(err)
		}
		return out, g
	}
	want, plain := run(false)
	got, segmented := run(true)
	for i := range want {
		if !got[i].Same(want[i]) {
			t.Errorf("gradient %d: %v, want %v", i, got[i], want[i])
		}
	}
	count := func(g *Graph, name string) (n int) {
		for _, node := range g.Nodes {
			if node.Op.Name() == name {
				n++
			}
		}
		return n
	}
	if count(segmented, "tanh") <= count(plain, "tanh") || count(segmented, "barrier") == 0 || count(plain, "barrier") != 0 {
		t.Errorf("%d tanh and %d barriers, without segments %d and %d", count(segmented, "tanh"), count(segmented, "barrier"), count(plain, "tanh"), count(plain, "barrier"))
	}
	if len(segmented.Assigns) != 1 || count(segmented, "assign w") != count(plain, "assign w") {
		t.Errorf("%d assignments", count(segmented, "assign w"))
	}
}

// TestSegmentSecondOrder: gradients of gradients pass through segments.
func TestSegmentSecondOrder(t *testing.T) {
	f := func(segment bool) tensor.Tensor {
		return gradient(t, func(r *Recorder, x Value) Value {
			y := x
			g := func() { y = x.Exp().Mul(x).Sigmoid() }
			if segment {
				r.Segment(g)
			} else {
				g()
			}
			return r.Grad(y.Sum(), Value{}, x)[0].Tanh().Sum()
		}, ramp(1, 5))
	}
	if got, want := f(true), f(false); near(got, want, 1e-14) != nil {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestInsideSegment: a value within a segment has the gradient of what a first gradient has computed again of it, once for each time that it is
// asked for; and what a segment compares cuts a path as it does outside.
func TestInsideSegment(t *testing.T) {
	f := func(segment bool) []tensor.Tensor {
		r := NewRecorder()
		x := r.Input("x", ramp(1, 5), -1)
		var h, y Value
		g := func() { h = x.Mul(x); y = h.Exp().Mul(x) }
		if segment {
			r.Segment(g)
		} else {
			g()
		}
		dx := r.Grad(y.Sum(), Value{}, x)[0]
		return eval(t, r, r.Grad(dx.Tanh().Sum(), Value{}, h, x, h)...)
	}
	got, want := f(true), f(false)
	for i := range want {
		if near(got[i], want[i], 1e-14) != nil {
			t.Errorf("gradient %d: %v, want %v", i, got[i], want[i])
		}
	}
	for _, segment := range []bool{false, true} {
		r := NewRecorder()
		x, c := r.Input("x", ramp(1, 5), -1), r.Input("c", ramp(2, 5), -1)
		var y Value
		g := func() { y = x.Mul(c.Greater(x).Cast(tensor.F64)) }
		if segment {
			r.Segment(g)
		} else {
			g()
		}
		dx := r.Grad(y.Sum(), Value{}, x)[0]
		r.Grad(dx.Sum(), Value{}, c)
		fails(t, r.Err(), ErrNotDifferentiable, "input c", "cut by greater")
	}
}

// TestRule: what a rule sees, and that it may leave out what is not needed.
func TestRule(t *testing.T) {
	r := NewRecorder()
	x, k := r.Input("x", farr(d(2), 1, 2), -1), r.Input("k", iarr(d(2), 0, 1), -1)
	seenRule = &Backward{}
	defer func() { seenRule = nil }()
	y := Apply(spyOp{}, x, k, x.StopGradient())
	dx := r.Grad(y.Output(1).Sum(), Value{}, x)
	check(t, "gradient", eval(t, r, dx[0])[0], 7, 7)
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

var seenRule *Backward

// spyOp has two outputs; its rule checks what it is given and sets more than is needed.
type spyOp struct{}

func (spyOp) Name() string { return "spy" }
func (spyOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{in[0], in[0]}, nil
}
func (spyOp) Ref(out, in []tensor.Tensor) error {
	for _, y := range out {
		if !y.IsNone() {
			y.CopyFrom(in[0])
		}
	}
	return nil
}
func (spyOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }
func (spyOp) Grad(b *Backward) {
	*seenRule = *b
	_, first := b.Dy(0)
	_, second := b.Dy(1)
	spec := tensor.SpecOf(tensor.F64, 2)
	if first || !second || b.Ins() != 3 || !b.Needs(0) || b.Needs(1) || b.InSpec(1).DType != tensor.I64 || b.OutSpec(0) != spec || b.DyOrZero(0).Spec() != spec {
		b.Fail(errUser)
		return
	}
	b.Set(0, b.DyOrZero(1).Scale(7).Add(b.DyOrZero(0)))
	b.Set(1, b.DyOrZero(0)) // not needed: dropped
}

// TestNaNGradients: NaN arrives where it should and nowhere else.
func TestNaNGradients(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	check(t, "where does not multiply by zero", gradient(t, func(r *Recorder, x Value) Value {
		safe := x.Greater(Zeros(r, x.Spec()))
		return Where(safe, x, Full(r, x.Spec(), 1)).Log().Sum()
	}, farr(d(3), -1, 0, 2)), 0, 0, 0.5)
	check(t, "relu", gradient(t, func(r *Recorder, x Value) Value { return x.ReLU().Sum() }, farr(d(5), nan, inf, math.Inf(-1), 0, 2)), nan, 1, 0, 0, 1)
	check(t, "max", gradient(t, func(r *Recorder, x Value) Value { return x.Max(1).Sum() }, farr(d(2, 2), nan, 1, 3, 3)), nan, nan, 0.5, 0.5)
}
