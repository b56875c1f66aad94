package sched_test

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// eval runs a computation of one input on the reference device and returns the result and the plan.
func eval(t *testing.T, x tensor.Tensor, f func(tape *autograd.Tape, x ops.Value) ops.Value) (tensor.Tensor, string) {
	t.Helper()
	dev := acceltest.Reference("ref")
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		t.Fatal(err)
	}
	tape := autograd.New(eng)
	out, err := tape.Eval(context.Background(), f(tape, tape.Input("x", x)))
	if err != nil {
		t.Fatal(err)
	}
	return out[0], eng.Plans()[0].String()
}

// TestFold: what folds away is not in the plan, what must not is; no bit of a result changes.
func TestFold(t *testing.T) {
	x := tensor.Must(tensor.From([]float32{1, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1))}))
	full := func(tape *autograd.Tape, v float64) ops.Value { return ops.Full(tape.Recorder(), x.Spec(), v) }
	for _, c := range []struct {
		name  string
		f     func(tape *autograd.Tape, x ops.Value) ops.Value
		stays string // an operation that must be in the plan
		gone  string // one that must not
	}{
		{"times one", func(tape *autograd.Tape, x ops.Value) ops.Value { return x.Mul(full(tape, 1)) }, "", "mul"},
		{"one times", func(tape *autograd.Tape, x ops.Value) ops.Value { return full(tape, 1).Mul(x) }, "", "mul"},
		{"by one", func(tape *autograd.Tape, x ops.Value) ops.Value { return x.Div(full(tape, 1)) }, "", "div"},
		{"one by", func(tape *autograd.Tape, x ops.Value) ops.Value { return full(tape, 1).Div(x) }, "div", ""},
		{"plus zero turns -0 into 0", func(tape *autograd.Tape, x ops.Value) ops.Value { return x.Add(full(tape, 0)) }, "add", ""},
		{"times zero keeps NaN", func(tape *autograd.Tape, x ops.Value) ops.Value { return x.Mul(full(tape, 0)) }, "mul", ""},
		{"times one that repeats", func(tape *autograd.Tape, x ops.Value) ops.Value {
			return x.Mul(ops.Full(tape.Recorder(), tensor.SpecOf(tensor.F32, 2, 4), 1))
		}, "mul", ""},
		{"scale by one", func(_ *autograd.Tape, x ops.Value) ops.Value { return x.Scale(1) }, "", "scale"},
		{"cast to its type", func(_ *autograd.Tape, x ops.Value) ops.Value { return x.Cast(tensor.F32) }, "", "cast"},
		{"cast there and back rounds", func(_ *autograd.Tape, x ops.Value) ops.Value { return x.Cast(tensor.BF16).Cast(tensor.F32) }, "cast", ""},
		{"reshape to its shape", func(_ *autograd.Tape, x ops.Value) ops.Value { return x.Reshape(4) }, "", "reshape"},
		{"stop-gradient", func(_ *autograd.Tape, x ops.Value) ops.Value { return x.StopGradient() }, "", "stop-gradient"},
		{"constants", func(tape *autograd.Tape, x ops.Value) ops.Value {
			return x.Add(full(tape, 2).Exp().Scale(3).Add(full(tape, 0.1)))
		}, "add", "exp"},
		{"NaN is no constant", func(tape *autograd.Tape, x ops.Value) ops.Value { return x.Add(full(tape, -1).Sqrt()) }, "sqrt", ""},
		{"an integer beyond float64", func(tape *autograd.Tape, x ops.Value) ops.Value {
			big := ops.Full(tape.Recorder(), tensor.SpecOf(tensor.I64, 4), 1<<53)
			return x.Cast(tensor.I64).Mul(tape.Input("zero", tensor.New(tensor.SpecOf(tensor.I64, 4)))).Add(big.Add(ops.Full(tape.Recorder(), tensor.SpecOf(tensor.I64, 4), 1)))
		}, "", ""},
		{"dead code", func(_ *autograd.Tape, x ops.Value) ops.Value { x.Exp(); return x.Neg() }, "neg", "exp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, plan := eval(t, x, c.f)
			if c.stays != "" && !strings.Contains(plan, c.stays) {
				t.Errorf("%s is not in the plan:\n%s", c.stays, plan)
			}
			if c.gone != "" && strings.Contains(plan, c.gone) {
				t.Errorf("%s is in the plan:\n%s", c.gone, plan)
			}
			// The same, where nothing can be known beforehand: constants as inputs would not fold.
			want := unfolded(t, x, c.f)
			if !got.Same(want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// unfolded runs f operation by operation: each value is asked for by itself, and each operation sees only inputs.
func unfolded(t *testing.T, x tensor.Tensor, f func(tape *autograd.Tape, x ops.Value) ops.Value) tensor.Tensor {
	t.Helper()
	tape := autograd.New(nil)
	y := f(tape, tape.Input("x", x))
	g, err := tape.Recorder().Graph(false, y)
	if err != nil {
		t.Fatal(err)
	}
	feeds := tape.Recorder().Feeds()
	vals := make([][]tensor.Tensor, len(g.Nodes))
	for i, n := range g.Nodes {
		if k := g.Feeds[i]; k >= 0 {
			vals[i] = []tensor.Tensor{feeds[k]}
			continue
		}
		var in, out []tensor.Tensor
		for _, e := range n.In {
			in = append(in, vals[e.Node][e.Out])
		}
		for _, s := range n.Out {
			out = append(out, tensor.New(s))
		}
		if err := n.Op.Ref(out, in); err != nil {
			t.Fatal(err)
		}
		vals[i] = out
	}
	e := g.Outs[0]
	return vals[e.Node][e.Out]
}

// TestCacheIsBounded: with more shapes than plans the least recently used go, and come again when they are needed.
func TestCacheIsBounded(t *testing.T) {
	dev := acceltest.Reference("ref")
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		t.Fatal(err)
	}
	tape := autograd.New(eng)
	run := func(n int) {
		x := tensor.Full(tensor.SpecOf(tensor.F32, n), 1)
		out, err := tape.Eval(context.Background(), tape.Input("x", x).Sum())
		tape.Discard()
		if err != nil || out[0].At(0) != float64(n) {
			t.Fatalf("sum of %d ones: %v, %v", n, out, err)
		}
	}
	const shapes = 300
	plans := map[weak.Pointer[sched.Plan]]bool{}
	for n := range shapes {
		run(n)
		plans[weak.Make(eng.Plans()[0])] = true
		run(0) // in use all the time
	}
	if got := eng.Stats().Compiles; got != shapes {
		t.Errorf("%d compiles of %d shapes", got, shapes)
	}
	if n := len(eng.Plans()); n != 256 {
		t.Errorf("%d plans are kept, want 256", n)
	}
	runtime.GC()
	alive := 0
	for p := range plans {
		if p.Value() != nil {
			alive++
		}
	}
	if alive > 256+16 { // the tape remembers 16 graphs of one prefix, with what the engine knows of them
		t.Errorf("%d plans are alive, want those that are kept and the tape's last", alive)
	}
	run(1) // evicted long ago
	run(0)
	if got := eng.Stats().Compiles; got != shapes+1 {
		t.Errorf("%d compiles, want one more than %d", got, shapes)
	}
}

// TestNoFallback: an operation of the engine that a device lacks runs by its reference, visibly, or not at all.
func TestNoFallback(t *testing.T) {
	dev := acceltest.Hostile("h0", acceltest.Refuse("tanh"))
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		t.Fatal(err)
	}
	ctx, tape := context.Background(), autograd.New(eng)
	x := tensor.Must(tensor.From([]float32{0, 1}))
	if _, err := tape.Eval(ctx, tape.Input("x", x).Tanh()); err != nil {
		t.Fatal(err)
	}
	tape.Discard()
	if plan := eng.Plans()[0].String(); !strings.Contains(plan, "by its reference") || eng.Stats().Fallbacks != 1 {
		t.Errorf("the fallback does not show: %d counted, in\n%s", eng.Stats().Fallbacks, plan)
	}
	eng.NoFallback = true
	_, err = tape.Eval(ctx, tape.Input("x", x).Tanh().Neg())
	if err == nil || !strings.Contains(err.Error(), "tanh") || !strings.Contains(err.Error(), "passes_test.go") {
		t.Errorf("error %v, want one that names tanh and its line", err)
	}
}
