package cpu_test

import (
	"context"
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

// models are the networks of the goldens, layer for layer, so that parameters have PyTorch's names.
var models = map[string]layers.Module{
	"mlp": layers.Sequential{layers.Flatten{}, layers.Linear{Out: 128}, layers.ReLU{}, layers.Linear{Out: 10}},
	"cnn": layers.Sequential{
		layers.Conv2D{Out: 8, Kernel: 3, Padding: 1}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
		layers.Conv2D{Out: 16, Kernel: 3, Padding: 1}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
		layers.Flatten{}, layers.Linear{Out: 10},
	},
}

// TestTraces trains from the weights of the goldens and holds every loss against PyTorch's: float64 to 1e-9, float32 no further from the
// float64 trace than three times PyTorch's own float32. Nothing may run by its reference, and nothing be compiled after the first step.
func TestTraces(t *testing.T) {
	for model := range models {
		exact := loadTrace(t, model, "f64")
		theirs := loadTrace(t, model, "f32")
		bound := 3 * farthest(theirs.Losses, exact.Losses)
		levels := cpu.Levels()
		t.Run(model+" f64", func(t *testing.T) {
			d := farthest(runTrace(t, model, exact, tensor.F64, levels[len(levels)-1]), exact.Losses)
			if !(d <= 1e-9) {
				t.Errorf("float64 is %.2g from PyTorch's float64, want 1e-9", d)
			}
			t.Logf("float64 is %.2g from PyTorch's", d)
		})
		for _, level := range levels {
			t.Run(model+" f32 "+level, func(t *testing.T) {
				d := farthest(runTrace(t, model, exact, tensor.F32, level), exact.Losses)
				if !(d <= bound) {
					t.Errorf("float32 is %.2g from PyTorch's float64, want %.2g, three times PyTorch's own distance", d, bound)
				}
				t.Logf("float32 is %.2g from PyTorch's float64; PyTorch's own float32 %.2g", d, bound/3)
			})
		}
	}
}

func loadTrace(t *testing.T, model, dtype string) goldens.Trace {
	tr, err := goldens.Load(model, dtype)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// steps is how many of a trace's are run: all, or with -short, which is for emulators and the race detector, the first few.
func steps() int {
	if testing.Short() {
		return 3
	}
	return math.MaxInt
}

// farthest is the largest difference of a run's losses from those of a trace.
func farthest(run, trace []float64) (most float64) {
	if len(run) < min(steps(), len(trace)) {
		return math.Inf(1)
	}
	for i := range run {
		d := math.Abs(run[i] - trace[i])
		if d != d {
			return math.Inf(1)
		}
		most = max(most, d)
	}
	return most
}

// runTrace trains as the golden did.
func runTrace(t *testing.T, model string, tr goldens.Trace, dt tensor.DType, level string) []float64 {
	ctx := context.Background()
	dev, err := cpu.Open(cpu.Level(level))
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		t.Fatal(err)
	}
	eng.NoFallback = true
	net, err := layers.Build(models[model], tensor.SpecOf(dt, tr.Batch, 1, 28, 28), 0, dt)
	if err != nil {
		t.Fatal(err)
	}
	if len(net.Params()) != len(tr.Parameters) {
		t.Fatalf("%d parameters, want %d", len(net.Params()), len(tr.Parameters))
	}
	for i, v := range net.Params() {
		p := tr.Parameters[i]
		if p.Name != v.Name() || tensor.Of(p.Shape...) != v.Spec().Shape {
			t.Fatalf("parameter %s %v, want %s %v", v.Name(), v.Spec().Shape, p.Name, p.Shape)
		}
		if err := v.Set(ctx, cast(p.Initial(), v.Spec())); err != nil {
			t.Fatal(err)
		}
	}
	tape, opt := autograd.New(eng), &optim.Adam{LR: tr.Rate}
	var losses []float64
	for k := range min(steps(), len(tr.Losses)) {
		images, labels := tr.Images(k)
		x, y := cast(images, tensor.SpecOf(dt, tr.Batch, 1, 28, 28)), tensor.Must(tensor.From(labels))
		loss := ops.CrossEntropy(net.Forward(tape, tape.Input("x", x), layers.Train), tape.Input("y", y))
		opt.Update(tape, loss, net.Params()...)
		res, err := tape.Step(ctx, loss)
		if err != nil {
			t.Fatal(err)
		}
		l, err := res.Float(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		res.Release()
		losses = append(losses, l)
	}
	if s := eng.Stats(); s.Compiles != 1 || s.Fallbacks != 0 {
		t.Errorf("%d compiles and %d fallbacks, want 1 and 0", s.Compiles, s.Fallbacks)
	}
	return losses
}

func cast(x []float64, s tensor.Spec) tensor.Tensor {
	t := tensor.New(s)
	for i, v := range x {
		t.Set(i, v)
	}
	return t
}
