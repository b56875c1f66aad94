package layers_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// tied is a model whose head shares the table of the embedding, and loose one whose head has its own.
func tied(head layers.Module) layers.Module {
	return layers.Sequential{layers.Name("tok", layers.Embedding{Rows: 3, Size: 2, Init: ramp}), layers.Tanh{}, layers.Name("head", head)}
}

func buildTied(t *testing.T, head layers.Module) *layers.Net {
	t.Helper()
	net, err := layers.Build(tied(head), tensor.SpecOf(tensor.I64, 2), 1, tensor.F64)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// train1 runs a step of SGD with decay over both labels.
func train1(t *testing.T, net *layers.Net, opt optim.Optimizer) {
	t.Helper()
	tape := newTape(t)
	x := tape.Input("x", tensor.Must(tensor.From([]int64{0, 2})))
	loss := ops.CrossEntropy(net.Forward(tape, x, layers.Train), tape.Input("y", tensor.Must(tensor.From([]int64{1, 2}))))
	opt.Update(tape, loss, net.Params()...)
	step(t, tape, loss)
}

// TestTiedWeight: one variable, counted once, with the sum of both gradients, one state and one decay.
func TestTiedWeight(t *testing.T) {
	net, loose := buildTied(t, layers.Tied{To: "tok.weight"}), buildTied(t, layers.Linear{Out: 3, NoBias: true, Init: ramp})
	if len(net.Params()) != 1 || len(net.State()) != 1 || net.Params()[0].Name() != "tok.weight" {
		t.Fatalf("parameters are %v and state %v, want tok.weight", net.Params(), net.State())
	}
	count := 0
	for _, r := range net.Summary() {
		count += r.Params
	}
	if count != 6 {
		t.Errorf("%d numbers, want 6", count)
	}
	start := value(t, net, "tok.weight")
	opt := &optim.SGD{LR: 0.5, Momentum: 0.9, WeightDecay: 0.1}
	train1(t, net, opt)
	train1(t, loose, &optim.SGD{LR: 0.5, Momentum: 0.9})
	table, head := value(t, loose, "tok.weight"), value(t, loose, "head.weight")
	want := make([]float64, 6)
	for i := range want { // both moved by their own gradients, and the decay acts on the one weight once
		want[i] = table.At(i) + head.At(i) - start.At(i) - 0.5*0.1*start.At(i)
	}
	near(t, "one step", value(t, net, "tok.weight").Floats(), want...)
	if n := len(opt.State()); n != 2 { // the count and one momentum
		t.Errorf("the optimizer keeps %d variables", n)
	}

	// What is saved comes back as one, and goes on like the one that stayed.
	named, err := net.Tensors(ctx)
	if err != nil || len(named) != 1 {
		t.Fatal(named, err)
	}
	back := buildTied(t, layers.Tied{To: "tok.weight"})
	if err := back.Load(ctx, named); err != nil {
		t.Fatal(err)
	}
	other := &optim.SGD{LR: 0.5, Momentum: 0.9, WeightDecay: 0.1}
	other.Init(back.Params()...)
	for i, v := range opt.State() {
		x, err := v.Value(ctx)
		if err == nil {
			err = other.State()[i].Set(ctx, x)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	train1(t, net, opt)
	train1(t, back, other)
	if a, b := value(t, net, "tok.weight"), value(t, back, "tok.weight"); !a.Same(b) {
		t.Errorf("after loading, a step leads to %v, want %v", b, a)
	}
}

// TestTiedFiles: files of PyTorch hold both names, or one of them.
func TestTiedFiles(t *testing.T) {
	a, b := f64([]int{3, 2}, 1, 2, 3, 4, 5, 6), f64([]int{3, 2}, 1, 2, 3, 4, 5, 7)
	for _, c := range []struct {
		words string
		file  []safetensors.Named
	}{
		{"", []safetensors.Named{{Name: "tok.weight", Tensor: a}, {Name: "head.weight", Tensor: a.Clone()}}},
		{"", []safetensors.Named{{Name: "head.weight", Tensor: a}, {Name: "tok.weight", Tensor: a}}},
		{"", []safetensors.Named{{Name: "tok.weight", Tensor: a}}},
		{"", []safetensors.Named{{Name: "head.weight", Tensor: a}}},
		{"in conflict: tok.weight and head.weight are one parameter in the model, and differ in the file", []safetensors.Named{{Name: "tok.weight", Tensor: a}, {Name: "head.weight", Tensor: b}}},
		{"missing: tok.weight; unexpected: other.weight", []safetensors.Named{{Name: "other.weight", Tensor: f64([]int{1}, 1)}}},
	} {
		net := buildTied(t, layers.Tied{To: "tok.weight"})
		before := value(t, net, "tok.weight")
		err := net.Load(ctx, c.file)
		if c.words == "" {
			if err != nil || !value(t, net, "tok.weight").Same(a) {
				t.Errorf("%v: %v", c.file, err)
			}
			continue
		}
		var state *layers.StateError
		if err == nil || !strings.Contains(err.Error(), c.words) || !errors.As(err, &state) || !value(t, net, "tok.weight").Same(before) {
			t.Errorf("%v, want %q and no change", err, c.words)
		}
	}
}

// TestTiedBias: a tied head may have a bias of its own, with the first values of Linear's.
func TestTiedBias(t *testing.T) {
	net, loose := buildTied(t, layers.Tied{To: "tok.weight", Bias: true}), buildTied(t, layers.Linear{Out: 3, Init: ramp})
	if n := len(net.Params()); n != 2 || !value(t, net, "head.bias").Same(value(t, loose, "head.bias")) {
		t.Errorf("%d parameters, %v", n, net.Params())
	}
	tape := newTape(t)
	x := tape.Input("x", tensor.Must(tensor.From([]int64{0, 2})))
	out := step(t, tape, net.Forward(tape, x, layers.Eval), loose.Forward(tape, x, layers.Eval))
	near(t, "logits", out[0], out[1]...)
}

// TestTieRefuses: what cannot be tied says why.
func TestTieRefuses(t *testing.T) {
	for _, c := range []struct {
		m     layers.Module
		words string
	}{
		{tied(layers.Tied{To: "tok.wieght"}), `there is no parameter "tok.wieght", or it comes later; there is tok.weight in scope head`},
		{tied(layers.Tied{}), `there is no parameter "", or it comes later in scope head`},
		{layers.Sequential{layers.Tied{To: "1.weight"}, layers.Linear{Out: 2}}, `there is no parameter "1.weight", or it comes later in scope 0`},
		{tied(layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
			c.Param("weight", tensor.Of(2), layers.Ones)
			return c.Tie("weight", "tok.weight")
		})), "head.weight is a parameter of its own already"},
		{tied(layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
			c.Tie("weight", "tok.weight")
			return c.Param("weight", tensor.Of(2), layers.Ones)
		})), "there is a parameter called head.weight already"},
		{tied(layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
			if c.Mode == layers.Train {
				return c.Tie("late", "tok.weight")
			}
			return x
		})), ""},
	} {
		net, err := layers.Build(c.m, tensor.SpecOf(tensor.I64, 2), 1, tensor.F64)
		if c.words != "" {
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%v, want %q", err, c.words)
			}
			continue
		}
		tape := newTape(t)
		net.Forward(tape, tape.Input("x", tensor.Must(tensor.From([]int64{0, 2}))), layers.Train)
		if err := tape.Err(); !errors.Is(err, ops.ErrMisuse) || !strings.Contains(err.Error(), "late was not there when the net was built") {
			t.Error(err)
		}
	}
}
