package optim_test

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/internal/goldens"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
)

// TestTraces: layers, gradients and Adam together follow PyTorch's training in float64, from the same weights on the same images. The first
// steps show every mistake but one that grows slowly; the reference device is too slow for all hundred.
func TestTraces(t *testing.T) {
	models := map[string]layers.Sequential{
		"mlp": {layers.Flatten{}, layers.Linear{Out: 128}, layers.ReLU{}, layers.Linear{Out: 10}},
		"cnn": {
			layers.Conv2D{Out: 8, Kernel: 3, Padding: 1}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
			layers.Conv2D{Out: 16, Kernel: 3, Padding: layers.Same}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
			layers.Flatten{}, layers.Linear{Out: 10},
		},
	}
	for name, steps := range map[string]int{"mlp": 3, "cnn": 2} {
		trace, err := goldens.Load(name, "f64")
		if err != nil {
			t.Fatal(err)
		}
		in := tensor.SpecOf(tensor.F64, trace.Batch, 1, 28, 28)
		net, err := layers.Build(models[name], in, 0, tensor.F64)
		if err != nil {
			t.Fatal(err)
		}
		load(t, net, trace)
		tape := newTape(t)
		opt := &optim.Adam{LR: trace.Rate}
		for step := range steps {
			if got, want := train(t, tape, net, opt, trace, step), trace.Losses[step]; math.Abs(got-want) > 1e-9 {
				t.Fatalf("%s: the loss of step %d is %.15f, want %.15f", name, step, got, want)
			}
		}
	}
}

// load sets the parameters as the trace says.
func load(t *testing.T, net *layers.Net, trace goldens.Trace) {
	t.Helper()
	if len(net.Params()) != len(trace.Parameters) {
		t.Fatalf("%d parameters, want %d", len(net.Params()), len(trace.Parameters))
	}
	for i, v := range net.Params() {
		p := trace.Parameters[i]
		x, err := tensor.From(p.Initial(), p.Shape...)
		if err == nil {
			err = v.Set(ctx, x)
		}
		if err != nil || v.Name() != p.Name {
			t.Fatalf("parameter %d is %s, want %s: %v", i, v.Name(), p.Name, err)
		}
	}
}

// train runs one step and returns its loss.
func train(t *testing.T, tape *autograd.Tape, net *layers.Net, opt optim.Optimizer, trace goldens.Trace, step int) float64 {
	t.Helper()
	x, labels := trace.Images(step)
	images := tape.Input("x", tensor.Must(tensor.From(x, trace.Batch, 1, 28, 28)))
	loss := ops.CrossEntropy(net.Forward(tape, images, layers.Train), tape.Input("y", tensor.Must(tensor.From(labels))))
	opt.Update(tape, loss, net.Params()...)
	res, err := tape.Step(ctx, loss)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Release()
	got, err := res.Float(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
