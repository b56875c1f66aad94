package train_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// TestNil: what is not there is an error in words, and a writer that is not there is told nothing.
func TestNil(t *testing.T) {
	vars := []*ops.Variable{ops.NewVariable("w", tensor.Scalar[float32](1)), nil}
	if _, err := train.Tensors(t.Context(), vars); err == nil || !strings.Contains(err.Error(), "variable 1 is nil") {
		t.Errorf("Tensors: %v, want an error that names variable 1", err)
	}
	if err := train.Load(t.Context(), nil, vars); err == nil || !strings.Contains(err.Error(), "variable 1 is nil") {
		t.Errorf("Load: %v, want an error that names variable 1", err)
	}
	c := config(t)
	c.Optimizer = (*optim.AdamW)(nil)
	if _, err := train.Fit(t.Context(), c, squares(t, samples, 1)); err == nil || !strings.Contains(err.Error(), "Optimizer is needed") {
		t.Errorf("a nil pointer as an optimizer: %v", err)
	}
	c.Optimizer = &optim.Clip{Norm: 1, Optimizer: c.Optimizer}
	if _, err := train.Fit(t.Context(), c, squares(t, samples, 1)); err == nil || !strings.Contains(err.Error(), "Optimizer is needed") {
		t.Errorf("a nil pointer in an optimizer: %v", err)
	}
	train.Progress(nil)(train.Step{Step: 1, Epoch: 1, Of: 2})
}

// TestNilContext: a nil context counts as the background, in every package.
func TestNilContext(t *testing.T) {
	var none context.Context
	eng := engine(t)
	set := squares(t, samples, 1)
	c := configOn(t, eng)
	c.Epochs, c.Checkpoint, c.Optimizer = 1, t.TempDir(), &optim.EMA{Optimizer: &optim.SGD{}}
	report, err := train.Fit(none, c, set)
	if err != nil {
		t.Fatal(err)
	}
	pass := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = train.FitBatches(none, train.Config{Engine: eng, Model: small, Loss: ops.CrossEntropy, Optimizer: &optim.SGD{}, Epochs: 1}, stream(set))
	pass("FitBatches", err)
	_, err = train.Evaluate(none, eng, report.Net, set, 4, c.Loss)
	pass("Evaluate", err)
	_, err = train.Predict(none, eng, report.Net, set, 4)
	pass("Predict", err)
	pass("LoadModel", train.LoadModel(none, report.Checkpoint, report.Net))
	named, err := train.Tensors(none, report.Net.State())
	pass("Tensors", err)
	pass("Load", train.Load(none, named, report.Net.State()))
	pass("With", c.Optimizer.(*optim.EMA).With(none, func() error { return nil }))
	for _, b := range []data.Batches{data.Loader{Data: set, Batch: 9}, buckets(t, 9, 2, 1), stream(set)} {
		for _, err := range b.Batches(none, data.Position{}) {
			pass("Batches", err)
		}
	}
	v := ops.NewVariable("v", tensor.Scalar[float32](1))
	tape := autograd.New(eng, nil)
	tape.Assign(v, tape.Var(v).Exp())
	_, err = tape.Eval(none, tape.Var(v))
	pass("Eval", err)
	res, err := tape.Step(none, tape.Var(v))
	pass("Step", err)
	pass("Wait", res.Wait(none))
	_, err = res.Float(none, 0)
	pass("Float", err)
	_, err = res.Tensor(none, 0)
	pass("Tensor", err)
	pass("Tape.Wait", tape.Wait(none))
	_, err = v.Value(none)
	pass("Value", err)
	pass("Set", v.Set(none, tensor.Scalar[float32](2)))
	pass("Acquire", ops.Acquire(none, make(chan struct{}, 1)))
	pass("CheckGrad", autograd.CheckGrad(none, eng, func(t *autograd.Tape, in []ops.Value) ops.Value { return in[0].Exp() }, []tensor.Tensor{tensor.Scalar[float64](1)}, autograd.CheckOptions{}))
	_, err = eng.Profile(none, func(ctx context.Context) error {
		_, err := tape.Step(ctx, tape.Var(v).Exp())
		return err
	})
	pass("Profile", err)
	dev, err := cpu.Open(nil, cpu.Threads(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	b, err := dev.Upload(none, tensor.Scalar[float32](1))
	pass("Upload", err)
	pass("Buffer.Wait", b.Wait(none))
	pass("Download", b.Download(none, tensor.New(b.Spec())))
	p, err := dev.Compile(none, &accel.Graph{})
	pass("Compile", err)
	pass("Run", p.Run(none, nil, nil, new(ops.Event)))
	var e ops.Event
	e.Reset()
	go e.Finish(nil)
	pass("Event.Wait", e.Wait(none))
}

// TestNilFunctions are errors in words.
func TestNilFunctions(t *testing.T) {
	eng := engine(t)
	set := squares(t, samples, 1)
	if err := autograd.CheckGrad(t.Context(), eng, nil, []tensor.Tensor{tensor.Scalar[float64](1)}, autograd.CheckOptions{}); !errors.Is(err, ops.ErrMisuse) {
		t.Errorf("CheckGrad: %v", err)
	}
	if err := new(optim.EMA).With(t.Context(), nil); err == nil {
		t.Error("With: no error")
	}
	for what, record := range map[string]func(*autograd.Tape) ops.Value{
		"Watch": func(tape *autograd.Tape) ops.Value {
			x := ops.Zeros(tape.Recorder(), tensor.SpecOf(tensor.F32))
			tape.Watch(x, nil)
			return x
		},
		"Scope": func(tape *autograd.Tape) ops.Value {
			tape.Scope("s", nil)
			return ops.Zeros(tape.Recorder(), tensor.SpecOf(tensor.F32))
		},
		"On": func(tape *autograd.Tape) ops.Value {
			tape.On("", nil)
			return ops.Zeros(tape.Recorder(), tensor.SpecOf(tensor.F32))
		},
		"Checkpoint": func(tape *autograd.Tape) ops.Value { return tape.Checkpoint(nil) },
		"Var":        func(tape *autograd.Tape) ops.Value { return tape.Var(nil) },
		"zero Var":   func(tape *autograd.Tape) ops.Value { return tape.Var(new(ops.Variable)) },
	} {
		tape := autograd.New(eng)
		if _, err := tape.Step(t.Context(), record(tape)); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	for what, b := range map[string]data.Batches{
		"Open":    data.Stream{Batch: 1},
		"Files":   data.Stream{Batch: 1, Open: data.Files(nil, "*", nil)},
		"Compose": data.Loader{Data: set, Batch: 1, Transform: data.Compose(nil)},
	} {
		var last error
		for _, err := range b.Batches(t.Context(), data.Position{}) {
			last = err
		}
		if last == nil || !strings.HasPrefix(last.Error(), "data: ") {
			t.Errorf("%s: %v", what, last)
		}
	}
	c := config(t)
	c.Metrics = []train.Metric{{Name: "none"}}
	if r := fit(t.Context(), c, set, nil); r.err == nil || !strings.HasPrefix(r.err.Error(), `train: metric 0, "none", needs`) {
		t.Errorf("a metric: %v", r.err)
	}
}

// TestZeroVariable: a variable that nobody has made is an error, and blocks nobody.
func TestZeroVariable(t *testing.T) {
	for _, v := range []*ops.Variable{nil, new(ops.Variable)} {
		if _, err := v.Value(t.Context()); !errors.Is(err, ops.ErrMisuse) {
			t.Errorf("Value: %v", err)
		}
		if err := v.Set(t.Context(), tensor.Tensor{}); !errors.Is(err, ops.ErrMisuse) {
			t.Errorf("Set: %v", err)
		}
		if err := v.Lock(t.Context()); !errors.Is(err, ops.ErrMisuse) {
			t.Errorf("Lock: %v", err)
		}
		tape := autograd.New(engine(t))
		tape.Assign(v, ops.Zeros(tape.Recorder(), tensor.SpecOf(tensor.F32)))
		if _, err := tape.Step(t.Context()); err == nil {
			t.Error("Assign: no error")
		}
		(&optim.SGD{}).Init(v)
	}
}
