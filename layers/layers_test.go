package layers_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// run is the result of a net of one module with constant parameters on x.
func run(t *testing.T, m layers.Module, x tensor.Tensor, mode layers.Mode) []float64 {
	t.Helper()
	tape := newTape(t)
	net, err := layers.Build(m, x.Spec(), 1, tensor.F64)
	if err != nil {
		t.Fatal(err)
	}
	return step(t, tape, net.Forward(tape, tape.Input("x", x), mode))[0]
}

// ramp counts: 0, 1, 2 and so on.
func ramp(w tensor.Tensor, _ layers.Draw) {
	for i := range w.Len() {
		w.Set(i, float64(i))
	}
}

// TestLayers by hand.
func TestLayers(t *testing.T) {
	x := f64([]int{1, 3}, 1, -2, 3)
	near(t, "Linear", run(t, layers.Linear{Out: 2, Init: ramp, BiasInit: layers.Constant(10)}, x, layers.Eval), 0-2+6+10, 3-8+15+10)
	near(t, "Linear without bias", run(t, layers.Linear{Out: 2, Init: ramp, NoBias: true}, x, layers.Eval), 4, 10)
	near(t, "ReLU", run(t, layers.ReLU{}, x, layers.Eval), 1, 0, 3)
	near(t, "Tanh", run(t, layers.Tanh{}, x, layers.Eval), math.Tanh(1), math.Tanh(-2), math.Tanh(3))
	near(t, "Sigmoid", run(t, layers.Sigmoid{}, x, layers.Eval), 1/(1+math.Exp(-1)), 1/(1+math.Exp(2)), 1/(1+math.Exp(-3)))
	idx := tensor.Must(tensor.From([]int64{2, 0}))
	near(t, "Embedding", run(t, layers.Embedding{Rows: 3, Size: 2, Init: ramp}, idx, layers.Eval), 4, 5, 0, 1)

	image := f64([]int{1, 1, 2, 3}, 1, 2, 3, 4, 5, 6)
	kernel := func(w tensor.Tensor, _ layers.Draw) {
		for i := range w.Len() {
			w.Set(i, math.Pow(10, float64(i)))
		}
	}
	near(t, "Conv2D", run(t, layers.Conv2D{Out: 1, Kernel: 2, Init: kernel, BiasInit: layers.Constant(0.5)}, image, layers.Eval), 5421.5, 6532.5)
	near(t, "Conv2D, an even kernel, same", run(t, layers.Conv2D{Out: 1, Kernel: 2, Padding: layers.Same, Init: kernel, NoBias: true}, image, layers.Eval),
		5421, 6532, 603, 54, 65, 6) // the odd zeros are at the bottom and on the right, as PyTorch puts them
	near(t, "Conv2D, strided", run(t, layers.Conv2D{Out: 1, Kernel: 1, Stride: 2, Init: layers.Ones, NoBias: true}, image, layers.Eval), 1, 3)
	near(t, "MaxPool2D", run(t, layers.MaxPool2D{Size: 2, Stride: 1}, image, layers.Eval), 5, 6)
	near(t, "MaxPool2D, padded", run(t, layers.MaxPool2D{Size: 2, Padding: 1}, image, layers.Eval), 1, 3, 4, 6)
	near(t, "AvgPool2D", run(t, layers.AvgPool2D{Size: 2, Stride: 1}, image, layers.Eval), 3, 4)
	near(t, "AvgPool2D, padded", run(t, layers.AvgPool2D{Size: 2, Padding: 1}, image, layers.Eval), 0.25, 1.25, 1, 2.75)
}

// TestDropout: nothing in evaluation; in training what is kept grows; two layers draw apart; a wrong P is an error.
func TestDropout(t *testing.T) {
	x := tensor.Full(tensor.SpecOf(tensor.F64, 64), 3)
	near(t, "evaluation", run(t, layers.Dropout{P: 0.5}, x, layers.Eval), x.Floats()...)
	near(t, "P = 0", run(t, layers.Dropout{}, x, layers.Train), x.Floats()...)
	kept := 0
	for _, y := range run(t, layers.Dropout{P: 0.5}, x, layers.Train) {
		if y == 6 {
			kept++
		} else if y != 0 {
			t.Fatal(y)
		}
	}
	if kept < 16 || kept > 48 {
		t.Errorf("%d of 64 kept", kept)
	}
	kept = 0
	for _, y := range run(t, layers.Sequential{layers.Dropout{P: 0.5}, layers.Dropout{P: 0.5}}, x, layers.Train) {
		if y != 0 {
			kept++
		}
	}
	if kept > 32 {
		t.Errorf("two layers dropped the same: %d of 64 kept", kept)
	}
	if _, err := layers.Build(layers.Dropout{P: math.NaN()}, x.Spec(), 1, tensor.F64); err == nil || !strings.Contains(err.Error(), "P is NaN") {
		t.Error(err)
	}
}

// TestBatchNormRunning: y by the biased variance, the running variance by the other; evaluation uses and keeps what training left.
func TestBatchNormRunning(t *testing.T) {
	net := build(t, layers.BatchNorm2D{}, 4, 1)
	tape := newTape(t)
	x := f64([]int{4, 1}, 1, 2, 3, 4)
	y := step(t, tape, net.Forward(tape, tape.Input("x", x), layers.Train))[0]
	s := math.Sqrt(1.25 + 1e-5)
	near(t, "training", y, -1.5/s, -0.5/s, 0.5/s, 1.5/s)
	near(t, "running_mean", value(t, net, "running_mean").Floats(), 0.25)
	near(t, "running_var", value(t, net, "running_var").Floats(), 0.9+0.1*5/3)
	y = step(t, tape, net.Forward(tape, tape.Input("x", x), layers.Eval))[0]
	s = math.Sqrt(0.9 + 0.1*5/3 + 1e-5)
	near(t, "evaluation", y, 0.75/s, 1.75/s, 2.75/s, 3.75/s)
	near(t, "running_mean after evaluation", value(t, net, "running_mean").Floats(), 0.25)
}

// TestBatchNormTwice: a layer used twice in one step moves its statistics twice, one after the other.
func TestBatchNormTwice(t *testing.T) {
	net := build(t, layers.BatchNorm2D{Momentum: 0.5}, 2, 1)
	tape := newTape(t)
	a := net.Forward(tape, tape.Input("a", f64([]int{2, 1}, 1, 3)), layers.Train)
	b := net.Forward(tape, tape.Input("b", f64([]int{2, 1}, 10, 30)), layers.Train)
	step(t, tape, a, b)
	near(t, "running_mean", value(t, net, "running_mean").Floats(), 0.5*(0.5*0+0.5*2)+0.5*20)
	near(t, "running_var", value(t, net, "running_var").Floats(), 0.5*(0.5*1+0.5*2)+0.5*200)
}

// TestBatchNormShortBatch: the last batch of an epoch may have one sample. Training it is an error in words that changes no statistics;
// evaluation takes it.
func TestBatchNormShortBatch(t *testing.T) {
	net := build(t, layers.Sequential{layers.Linear{Out: 3}, layers.BatchNorm2D{}}, 10, 2)
	tape := newTape(t)
	train := func(n int, mode layers.Mode) error {
		_, err := tape.Step(ctx, net.Forward(tape, tape.Input("x", tensor.Full(tensor.SpecOf(tensor.F64, n, 2), 1)), mode))
		return err
	}
	if err := train(10, layers.Train); err != nil {
		t.Fatal(err)
	}
	before := value(t, net, "1.running_var")
	for _, n := range []int{1, 0} {
		err := train(n, layers.Train)
		var shape *tensor.ShapeError
		if !errors.As(err, &shape) || !strings.Contains(err.Error(), "variance wants two values of each channel at least") || !strings.Contains(err.Error(), " in scope 1 at layers_test.go:") {
			t.Errorf("batch of %d: %v", n, err)
		}
		if err := train(n, layers.Eval); err != nil {
			t.Errorf("evaluating a batch of %d: %v", n, err)
		}
	}
	if after := value(t, net, "1.running_var"); !after.Same(before) {
		t.Errorf("the running variance went from %v to %v", before, after)
	}
	if err := train(10, layers.Train); err != nil {
		t.Error(err)
	}
}

// TestBatchNormNoGradientThroughStatistics: an evaluation later in the same step sees the moved statistics as constants.
func TestBatchNormNoGradientThroughStatistics(t *testing.T) {
	net := build(t, layers.BatchNorm2D{}, 2, 1)
	tape := newTape(t)
	x := tape.Input("x", f64([]int{2, 1}, 1, 3))
	net.Forward(tape, x, layers.Train)
	y := net.Forward(tape, tape.Input("z", f64([]int{2, 1}, 5, 6)), layers.Eval)
	g := tape.Grad(y.Sum(), x)
	near(t, "gradient", step(t, tape, g[0])[0], 0, 0)
}

// TestEmbeddingRange: an index out of range fails the step with the index and the limit.
func TestEmbeddingRange(t *testing.T) {
	net, err := layers.Build(layers.Embedding{Rows: 3, Size: 2}, tensor.SpecOf(tensor.I64, 1), 1, tensor.F64)
	if err != nil {
		t.Fatal(err)
	}
	tape := newTape(t)
	res, err := tape.Step(ctx, net.Forward(tape, tape.Input("x", tensor.Must(tensor.From([]int64{3}))), layers.Train))
	if err == nil {
		err = res.Wait(ctx)
	}
	var index *ops.IndexError
	if !errors.As(err, &index) || index.Index != 3 || index.Limit != 3 {
		t.Error(err)
	}
}

// TestSiteBelowDeepModels: an error from deep within a model names the line that ran it, however many frames of this package lie between.
func TestSiteBelowDeepModels(t *testing.T) {
	var model layers.Module = layers.AvgPool2D{Size: 3}
	for range 12 {
		model = layers.Sequential{model}
	}
	net := build(t, model, 2, 1, 3, 3)
	tape := newTape(t)
	net.Forward(tape, tape.Input("x", tensor.New(tensor.SpecOf(tensor.F64, 2, 1, 2, 2))), layers.Eval)
	if err := tape.Err(); err == nil || !strings.Contains(err.Error(), " at layers_test.go:") {
		t.Error(err)
	}
}

// TestStatisticsOf16Bits: the running statistics of a 16-bit net come as close to those of the data as in f32, move by move, and load from 16-bit files.
func TestStatisticsOf16Bits(t *testing.T) {
	for _, d := range []tensor.DType{tensor.BF16, tensor.F16} {
		net, err := layers.Build(layers.BatchNorm1D{Momentum: 0.001}, tensor.SpecOf(d, 2, 1), 1, d)
		if err != nil {
			t.Fatal(err)
		}
		tape := newTape(t)
		x := tensor.New(tensor.SpecOf(d, 2, 1))
		x.Set(0, 2)
		x.Set(1, 4)
		for range 3000 {
			res, err := tape.Step(ctx, net.Forward(tape, tape.Input("x", x), layers.Train))
			if err != nil {
				t.Fatal(err)
			}
			res.Release()
		}
		for name, want := range map[string]float64{"running_mean": 3 * (1 - math.Pow(0.999, 3000)), "running_var": 2 - math.Pow(0.999, 3000)} {
			if got := value(t, net, name); got.DType() != tensor.F32 || math.Abs(got.At(0)-want) > 1e-3 {
				t.Errorf("%v: %s is %v, want %v", d, name, got, want)
			}
		}
		if y := net.Forward(tape, tape.Input("x", x), layers.Eval); y.DType() != d {
			t.Errorf("%v: %v, %v", d, y, tape.Err())
		}
		named, err := net.Tensors(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i := range named {
			named[i].Tensor = tensor.Full(tensor.SpecOf(d, 1), 1.5)
		}
		if err := net.Load(ctx, named); err != nil || value(t, net, "running_var").At(0) != 1.5 {
			t.Error(err)
		}
	}
}
