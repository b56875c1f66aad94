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

// traced is a network of the goldens, layer for layer, so that parameters have PyTorch's names.
type traced struct {
	model     layers.Module
	optimizer func(tr goldens.Trace) optim.Optimizer
	bound     float64 // of float64
}

func adam(tr goldens.Trace) optim.Optimizer { return &optim.Adam{LR: tr.Rate} }

// lastStep keeps the last of the steps [n, steps, size].
func lastStep(_ *layers.Context, x ops.Value) ops.Value { return x.Narrow(1, x.Dim(1)-1, 1).Squeeze(1) }

func reader(rnn layers.Module) layers.Module {
	return layers.Sequential{layers.Name("rnn", rnn), layers.Func(lastStep), layers.Name("head", layers.Linear{Out: 5})}
}

var block = layers.TransformerBlock{Heads: 2, Hidden: 32, Activation: layers.GELU{}, PreNorm: true, Causal: true}

var models = map[string]traced{
	"mlp": {layers.Sequential{layers.Flatten{}, layers.Linear{Out: 128}, layers.ReLU{}, layers.Linear{Out: 10}}, adam, 1e-9},
	"cnn": {layers.Sequential{
		layers.Conv2D{Out: 8, Kernel: 3, Padding: 1}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
		layers.Conv2D{Out: 16, Kernel: 3, Padding: 1}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
		layers.Flatten{}, layers.Linear{Out: 10},
	}, adam, 1e-9},
	"resnet": {layers.Sequential{
		layers.Conv2D{Out: 8, Kernel: 3, Padding: 1, NoBias: true}, layers.BatchNorm2D{}, layers.ReLU{},
		layers.BasicBlock{Out: 8}, layers.BasicBlock{Out: 16, Stride: 2}, layers.AdaptiveAvgPool2D{Height: 1, Width: 1}, layers.Flatten{}, layers.Linear{Out: 10},
	}, func(goldens.Trace) optim.Optimizer { return &optim.SGD{LR: 0.005, Momentum: 0.9, WeightDecay: 5e-4} }, 1e-8},
	"lstm": {reader(layers.LSTM{Hidden: 12, Layers: 2}), func(goldens.Trace) optim.Optimizer { return &optim.Adam{LR: 0.01} }, 1e-8},
	"gru":  {reader(layers.GRU{Hidden: 12}), func(goldens.Trace) optim.Optimizer { return &optim.Adam{LR: 0.01} }, 1e-8},
	"gpt": {layers.Sequential{
		layers.Name("tok", layers.Embedding{Rows: 20, Size: 16}), layers.Name("pos", layers.Positions{Max: 12}),
		layers.Name("blocks", layers.Sequential{block, block}), layers.Name("norm", layers.LayerNorm{}), layers.Name("head", layers.Linear{Out: 20}),
	}, func(goldens.Trace) optim.Optimizer { return &optim.AdamW{LR: 0.003, WeightDecay: 0.1} }, 1e-8},
}

// batch is what step k trains on: images, samples or tokens.
func batch(model string, tr goldens.Trace, k int, dt tensor.DType) (x, y tensor.Tensor) {
	var values []float64
	var labels []int64
	shape := tr.Shape
	switch {
	case model == "gpt":
		tokens, next := tr.Tokens(k)
		rows := func(t []int64) tensor.Tensor {
			return tensor.Must(tensor.Must(tensor.From(t)).Reshape(tr.Batch, shape[0]))
		}
		return rows(tokens), rows(next)
	case shape == nil:
		values, labels = tr.Images(k)
		shape = []int{1, 28, 28}
	default:
		values, labels = tr.Samples(k)
	}
	return cast(values, tensor.SpecOf(dt, append([]int{tr.Batch}, shape...)...)), tensor.Must(tensor.From(labels))
}

// TestTraces trains from the weights of the goldens and holds every loss against PyTorch's: float64 to 1e-9 or 1e-8, float32 no further from the
// float64 trace than three times PyTorch's own float32. Nothing may run by its reference, and nothing be compiled after the first step.
func TestTraces(t *testing.T) {
	levels := cpu.Levels()
	if testing.Short() {
		levels = levels[len(levels)-1:]
	}
	for model, m := range models {
		exact := loadTrace(t, model, "f64")
		theirs := loadTrace(t, model, "f32")
		bound := 3 * max(theirs.Distance, farthest(theirs.Losses, exact.Losses))
		t.Run(model+" f64", func(t *testing.T) {
			d := farthest(runTrace(t, model, exact, tensor.F64, levels[len(levels)-1]), exact.Losses)
			if !(d <= m.bound) {
				t.Errorf("float64 is %.2g from PyTorch's float64, want %g", d, m.bound)
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
	first, _ := batch(model, tr, 0, dt)
	net, err := layers.Build(models[model].model, first.Spec(), 0, dt)
	if err != nil {
		t.Fatal(err)
	}
	if len(net.Params()) != len(tr.Parameters) {
		t.Fatalf("%d parameters, want %d", len(net.Params()), len(tr.Parameters))
	}
	byName := map[string]goldens.Parameter{}
	for _, p := range tr.Parameters {
		byName[p.Name] = p
	}
	for _, v := range net.Params() {
		p := byName[v.Name()]
		if tensor.Of(p.Shape...) != v.Spec().Shape {
			t.Fatalf("parameter %s %v, want %v", v.Name(), v.Spec().Shape, p.Shape)
		}
		if err := v.Set(ctx, cast(p.Initial(), v.Spec())); err != nil {
			t.Fatal(err)
		}
	}
	tape, opt := autograd.New(eng), models[model].optimizer(tr)
	var losses []float64
	for k := range min(steps(), len(tr.Losses)) {
		x, y := batch(model, tr, k, dt)
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
