package optim_test

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/internal/goldens"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

var models = map[string]layers.Sequential{
	"mlp": {layers.Flatten{}, layers.Linear{Out: 128}, layers.ReLU{}, layers.Linear{Out: 10}},
	"cnn": {
		layers.Conv2D{Out: 8, Kernel: 3, Padding: 1}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
		layers.Conv2D{Out: 16, Kernel: 3, Padding: layers.Same}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
		layers.Flatten{}, layers.Linear{Out: 10},
	},
}

// TestTraces: layers, gradients, Adam and the kernels together follow PyTorch's training over 100 steps, from the same weights on the same
// images. In float64 every loss agrees to 1e-9. In float32 no loss is further from PyTorch's float64 than three times what PyTorch's own
// float32 is, at its worst.
func TestTraces(t *testing.T) {
	for name := range models {
		exact := golden(t, name, tensor.F64)
		single := golden(t, name, tensor.F32)
		if far := distance(follow(t, exact, tensor.F64), exact.Losses); !(far <= 1e-9) {
			t.Errorf("%s in float64: a loss is %v from PyTorch's", name, far)
		}
		own := distance(single.Losses, exact.Losses)
		if far := distance(follow(t, single, tensor.F32), exact.Losses); !(far <= 3*own) {
			t.Errorf("%s in float32: a loss is %v from PyTorch's float64, whose own float32 is within %v", name, far, own)
		}
	}
}

func golden(t *testing.T, name string, dt tensor.DType) goldens.Trace {
	t.Helper()
	trace, err := goldens.Load(name, dt.String())
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// distance is the largest difference, NaN if there is one.
func distance(a, b []float64) float64 {
	far := 0.0
	for i := range a {
		if d := math.Abs(a[i] - b[i]); d > far || d != d {
			far = d
		}
	}
	return far
}

// follow trains the trace's network as the trace says and returns the losses. Its running statistics end where PyTorch's do.
func follow(t *testing.T, trace goldens.Trace, dt tensor.DType) (losses []float64) {
	t.Helper()
	dev, err := cpu.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	net, err := layers.Build(models[trace.Model], tensor.SpecOf(dt, trace.Batch, 1, 28, 28), 0, dt)
	if err != nil {
		t.Fatal(err)
	}
	load(t, net, trace)
	tape := autograd.New(eng)
	opt := &optim.Adam{LR: trace.Rate}
	for step := range trace.Losses {
		losses = append(losses, train(t, tape, net, opt, trace, step))
	}
	for _, want := range trace.Buffers {
		for _, v := range net.State() {
			if v.Name() != want.Name || dt != tensor.F64 {
				continue
			}
			if far := distance(values(t, v), want.Values); !(far < 1e-8) {
				t.Errorf("%s: %s is %v from PyTorch's", trace.Model, want.Name, far)
			}
		}
	}
	return losses
}

// convert is numbers as a tensor of type dt.
func convert(dt tensor.DType, x []float64, dims ...int) tensor.Tensor {
	y := tensor.New(tensor.SpecOf(dt, dims...))
	for i, v := range x {
		y.Set(i, v)
	}
	return y
}

// load sets the parameters as the trace says.
func load(t *testing.T, net *layers.Net, trace goldens.Trace) {
	t.Helper()
	if len(net.Params()) != len(trace.Parameters) {
		t.Fatalf("%d parameters, want %d", len(net.Params()), len(trace.Parameters))
	}
	for i, v := range net.Params() {
		p := trace.Parameters[i]
		if err := v.Set(ctx, convert(v.Spec().DType, p.Initial(), p.Shape...)); err != nil || v.Name() != p.Name {
			t.Fatalf("parameter %d is %s, want %s: %v", i, v.Name(), p.Name, err)
		}
	}
}

// train runs one step and returns its loss.
func train(t *testing.T, tape *autograd.Tape, net *layers.Net, opt optim.Optimizer, trace goldens.Trace, step int) float64 {
	t.Helper()
	x, labels := trace.Images(step)
	images := tape.Input("x", convert(net.Params()[0].Spec().DType, x, trace.Batch, 1, 28, 28))
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
