package layers_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

var ctx = context.Background()

// newTape is a tape over the reference device.
func newTape(t *testing.T) *autograd.Tape {
	t.Helper()
	return autograd.New(newEngine(t), autograd.Seed(7))
}

func newEngine(t *testing.T) *sched.Engine {
	t.Helper()
	eng, err := sched.New(acceltest.Reference("reference"))
	if err != nil {
		t.Fatal(err)
	}
	return eng
}

// build makes a float64 net for inputs of the given shape.
func build(t *testing.T, m layers.Module, dims ...int) *layers.Net {
	t.Helper()
	net, err := layers.Build(m, tensor.SpecOf(tensor.F64, dims...), 1, tensor.F64)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func f64(dims []int, x ...float64) tensor.Tensor {
	return tensor.Must(tensor.Must(tensor.From(x)).Reshape(dims...))
}

// step runs one step and returns the values of vs.
func step(t *testing.T, tape *autograd.Tape, vs ...ops.Value) [][]float64 {
	t.Helper()
	res, err := tape.Step(ctx, vs...)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Release()
	var out [][]float64
	for i := range vs {
		x, err := res.Tensor(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x.Floats())
	}
	return out
}

// value finds a variable by name.
func value(t *testing.T, net *layers.Net, name string) tensor.Tensor {
	t.Helper()
	for _, v := range net.State() {
		if v.Name() == name {
			x, err := v.Value(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
	}
	t.Fatalf("there is no %s", name)
	return tensor.Tensor{}
}

func near(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-12*max(1, math.Abs(want[i]))) {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
}

// TestNames: variables are called and ordered as in PyTorch's state dict, and have its shapes.
func TestNames(t *testing.T) {
	net := build(t, layers.Sequential{
		layers.Conv2D{Out: 4, Kernel: 3}, layers.BatchNorm2D{}, layers.Sequential{layers.Tanh{}, layers.Flatten{}}, layers.Linear{Out: 2},
	}, 1, 3, 5, 5)
	var params, state []string
	for _, v := range net.Params() {
		params = append(params, v.Name()+" "+v.Spec().String())
	}
	for _, v := range net.State() {
		state = append(state, v.Name())
	}
	if got, want := strings.Join(params, ", "), "0.weight f64[4 3 3 3], 0.bias f64[4], 1.weight f64[4], 1.bias f64[4], 3.weight f64[2 36], 3.bias f64[2]"; got != want {
		t.Errorf("parameters are %s, want %s", got, want)
	}
	if got, want := strings.Join(state, " "), "0.weight 0.bias 1.weight 1.bias 1.running_mean 1.running_var 3.weight 3.bias"; got != want {
		t.Errorf("state is %s, want %s", got, want)
	}
	if net := build(t, layers.Linear{Out: 2}, 1, 3); net.Params()[0].Name() != "weight" {
		t.Errorf("a layer alone: %s", net.Params()[0].Name())
	}
}

// TestBuildRefuses: each mistake is said in words, with the layer's place.
func TestBuildRefuses(t *testing.T) {
	image, row, steps := tensor.SpecOf(tensor.F32, 1, 3, 5, 5), tensor.SpecOf(tensor.F32, 1, 3), tensor.SpecOf(tensor.F32, 1, 4, 6)
	for _, c := range []struct {
		m     layers.Module
		in    tensor.Spec
		words string
	}{
		{layers.Linear{}, row, "layers: Linear: Out is 0: it must be at least 1"},
		{layers.Sequential{layers.ReLU{}, layers.Sequential{layers.Linear{Out: -1}}}, row, "layers: Linear: Out is -1: it must be at least 1 in scope 1/0"},
		{layers.Conv2D{Out: 2}, image, "Conv2D: Out is 2 and Kernel is 0: both must be at least 1"},
		{layers.Conv2D{Out: 2, Kernel: 3, Stride: -1}, image, "Stride is -1 and Padding is 0: neither may be negative"},
		{layers.Conv2D{Out: 2, Kernel: 3, Padding: -2}, image, "Stride is 0 and Padding is -2"},
		{layers.Conv2D{Out: 2, Kernel: 3, Stride: 2, Padding: layers.Same}, image, "Padding Same wants Stride 1, not 2"},
		{layers.Conv2D{Out: 2, Kernel: 7}, image, "window [7 7] is larger than the padded plane [5 5]"},
		{layers.Conv2D{Out: 2, Kernel: 3}, row, "images are [n, channels, height, width]"},
		{layers.Sequential{layers.MaxPool2D{}}, image, "window [0 0] with stride [0 0]: both are at least 1"},
		{layers.BatchNorm2D{Momentum: 2}, image, "Momentum is 2 and Eps is 1e-05"},
		{layers.Embedding{Rows: 3}, tensor.SpecOf(tensor.I64, 1), "Embedding: 3 rows of 0: both must be at least 1"},
		{layers.Embedding{Rows: 3, Size: 2}, row, "indices are i64 or i32, not f32"},
		{layers.Sequential{nil}, row, "the module is nil in scope 0"},
		{nil, row, "the module is nil"},
		{layers.Linear{Out: 2}, tensor.SpecOf(tensor.F64, 1, 3), "Linear: the input is f64 and the parameters are f32: Cast the input, or make the net of its type"},
		{layers.Conv2D{Out: 2, Kernel: 3}, tensor.SpecOf(tensor.U8, 1, 1, 5, 5), "Conv2D: the input is u8 and the parameters are f32"},
		{layers.Conv2D{Out: 2, Kernel: 3, Groups: 2}, image, "Conv2D: Groups is 2: it divides neither evenly the 3 channels nor Out, which is 2"},
		{layers.Conv1D{Out: 2, Kernel: 3, Dilation: -1}, steps, "Conv1D: Dilation is -1 and Groups is 0: neither may be negative"},
		{layers.Conv1D{Out: 2, Kernel: 3}, row, "Conv1D: sequences are [n, channels, length]"},
		{layers.ConvTranspose2D{Out: 2, Kernel: 3, Padding: -1}, image, "ConvTranspose2D: Padding is -1: it may not be negative"},
		{layers.ConvTranspose1D{Out: 2, Kernel: 3, Stride: 2, Extra: 2}, steps, "Extra is 2: it lies between 0 and less than Stride or Dilation, which are 2 and 1"},
		{layers.AdaptiveMaxPool1D{Size: 2}, row, "sequences are [n, channels, length]"},
		{layers.LayerNorm{Axes: 3}, row, "LayerNorm: Axes is 3: the input f32[1 3] has 2"},
		{layers.RMSNorm{Eps: -1}, row, "RMSNorm: Eps is -1: it is a number above 0"},
		{layers.GroupNorm{}, image, "GroupNorm: Groups is 0: it must be at least 1"},
		{layers.GroupNorm{Groups: 2}, image, "a multiple of 2 channels"},
		{layers.BatchNorm1D{}, tensor.SpecOf(tensor.F64, 2, 3), "BatchNorm1D: the input is f64 and the parameters are f32"},
		{layers.LSTM{}, steps, "LSTM: Hidden is 0 and Layers is 0: at least 1, and 0 to 1024"},
		{layers.GRU{Hidden: 2, Dropout: 2}, steps, "GRU: Dropout is 2: a probability lies between 0 and 1"},
		{layers.GRU{Hidden: 2}, row, "GRU: sequences are [n, steps, size] (f32[1 3])"},
		{layers.MultiHeadAttention{Heads: 4}, steps, "Heads is 4, which does not divide the size of the input f32[1 4 6]"},
		{layers.MultiHeadAttention{Heads: 6, KVHeads: 4}, steps, "Heads is 6 and KVHeads is 4: at least 1, and a number that divides Heads"},
		{layers.Positions{Max: 3}, steps, "Positions: the input has 4 steps, and Max is 3"},
		{layers.TransformerBlock{Heads: 2, Hidden: -1}, steps, "TransformerBlock: Hidden is -1: it may not be negative"},
		{layers.TransformerBlock{Heads: 4}, steps, "MultiHeadAttention: Heads is 4, which does not divide the size of the input f32[1 4 6] in scope self_attn"},
		{layers.BasicBlock{Out: 2, Stride: -1}, image, "BasicBlock: Out is 2 and Stride is -1"},
		{layers.Residual{Body: layers.Linear{Out: 1}}, row, "Residual: the body makes f32[1 1], and it is to be added to f32[1 3]: a shortcut has to make it of that shape"},
		{layers.Upsample{Factor: -2}, image, "Upsample: Factor is -2: it lies between 1 and 32768"},
		{layers.Hardtanh{Min: 2, Max: 1}, row, "Hardtanh: Min is 2 and Max is 1: nothing lies between them"},
		{layers.Sequential{layers.Name("a", layers.ReLU{}), layers.Name("a", layers.ReLU{})}, row, "two modules are called \"a\""},
		{layers.Sequential{layers.Name("a.b", layers.ReLU{})}, row, "a module cannot be called \"a.b\""},
		{layers.Dropout{P: 30}, row, "P is 30: a probability lies between 0 and 1"},
		{layers.Func(func(c *layers.Context, x ops.Value) ops.Value { return c.Param("w", tensor.Of(-1), layers.Ones) }), row, "w is [invalid]"},
		{layers.Func(func(c *layers.Context, x ops.Value) ops.Value { return c.Param("w", tensor.Of(1), nil) }), row, "and an Init"},
	} {
		_, err := layers.Build(c.m, c.in, 1, tensor.F32)
		var placed *ops.OpError
		if err == nil || !strings.Contains(err.Error(), c.words) || !errors.As(err, &placed) || !strings.HasPrefix(err.Error(), "layers: ") {
			t.Errorf("%#v of %v: %v, want %q", c.m, c.in, err, c.words)
		}
	}
	if _, err := layers.Build(layers.ReLU{}, row, 1, tensor.I64); err == nil || !strings.Contains(err.Error(), "parameters are floats, not i64") {
		t.Error(err)
	}
	for _, s := range []tensor.Spec{{}, tensor.SpecOf(tensor.F32, 1, -3)} {
		if _, err := layers.Build(layers.ReLU{}, s, 1, tensor.F32); err == nil || !strings.Contains(err.Error(), "layers: the spec of the input") {
			t.Error(err)
		}
	}
}

// TestForwardRefuses: a pass over another input than the net was built for says which parameter does not fit.
func TestForwardRefuses(t *testing.T) {
	tape := newTape(t)
	net := build(t, layers.Sequential{layers.Linear{Out: 2}}, 1, 3)
	net.Forward(tape, tape.Input("x", f64([]int{1, 4}, 1, 2, 3, 4)), layers.Eval)
	if err := tape.Err(); err == nil || !strings.Contains(err.Error(), "0.weight is [2 3], and this input wants [2 4]: the net was built for inputs of another size") {
		t.Error(err)
	}
	for _, foreign := range []ops.Value{newTape(t).Input("x", f64([]int{1, 3}, 1, 2, 3)), {}} {
		other := newTape(t)
		net.Forward(other, foreign, layers.Eval)
		if err := other.Err(); !errors.Is(err, ops.ErrMisuse) || !strings.Contains(err.Error(), "it is no value of this tape") {
			t.Error(err)
		}
	}
	late := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		if c.Mode == layers.Train {
			return c.Run("late", layers.Linear{Out: 1}, x.Add(c.Param("more", tensor.Of(3), layers.Zeros)))
		}
		return x
	})
	tape.Discard()
	net = build(t, late, 1, 3)
	net.Forward(tape, tape.Input("x", f64([]int{1, 3}, 1, 2, 3)), layers.Train)
	if err := tape.Err(); !errors.Is(err, ops.ErrMisuse) || !strings.Contains(err.Error(), "more was not there when the net was built") {
		t.Error(err)
	}
	tape.Discard()
	net = build(t, layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		if c.Mode == layers.Train {
			return c.Run("late", layers.ReLU{}, x)
		}
		return x
	}), 1, 3)
	net.Forward(tape, tape.Input("x", f64([]int{1, 3}, 1, 2, 3)), layers.Train)
	if err := tape.Err(); !errors.Is(err, ops.ErrMisuse) || !strings.Contains(err.Error(), "late was not there when the net was built") {
		t.Error(err)
	}
}

// TestSharedModule: one name used twice is one set of parameters, with the sum of both gradients, and is counted once.
func TestSharedModule(t *testing.T) {
	twice := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		m := layers.Linear{Out: 2, NoBias: true, Init: layers.Constant(2)}
		return c.Run("shared", m, c.Run("shared", m, x))
	})
	net := build(t, twice, 1, 2)
	if len(net.Params()) != 1 {
		t.Fatalf("%d parameters", len(net.Params()))
	}
	total := 0
	for _, r := range net.Summary() {
		total += r.Params
	}
	if total != 4 {
		t.Errorf("%d numbers, want 4", total)
	}
	tape := newTape(t)
	y := net.Forward(tape, tape.Input("x", f64([]int{1, 2}, 1, 3)), layers.Train).Sum()
	g := tape.Grad(y, tape.Var(net.Params()[0]))
	out := step(t, tape, y, g[0])
	near(t, "y", out[0], 64) // [1 3], then [8 8], then [32 32]
	near(t, "gradient", out[1], 12, 20, 12, 20)
}

// TestReplay: a pass recorded again is recognised, and allocates no more than its context.
func TestReplay(t *testing.T) {
	tape := newTape(t)
	net := build(t, layers.Sequential{
		layers.Conv2D{Out: 2, Kernel: 2, Padding: layers.Same}, layers.BatchNorm2D{}, layers.ReLU{}, layers.AvgPool2D{Size: 2}, layers.MaxPool2D{Size: 1},
		layers.Flatten{}, layers.Dropout{P: 0.5}, layers.Linear{Out: 3}, layers.Sigmoid{},
	}, 1, 1, 4, 4)
	x := tensor.Full(tensor.SpecOf(tensor.F64, 2, 1, 4, 4), 1)
	record := func() {
		tape.Discard()
		net.Forward(tape, tape.Input("x", x), layers.Train)
	}
	record()
	misses := tape.Misses()
	n := testing.AllocsPerRun(100, record)
	if tape.Err() != nil || tape.Misses() != misses {
		t.Errorf("%d new nodes, %v", tape.Misses()-misses, tape.Err())
	}
	if n > 1 {
		t.Errorf("%v objects a pass", n)
	}
}

// TestFirstLoss: a fresh network knows nothing, so the loss is the logarithm of the number of classes.
func TestFirstLoss(t *testing.T) {
	const classes, n = 10, 16
	for name, model := range map[string]layers.Module{
		"mlp": layers.Sequential{layers.Flatten{}, layers.Linear{Out: 32}, layers.ReLU{}, layers.Linear{Out: classes}},
		"cnn": layers.Sequential{
			layers.Conv2D{Out: 4, Kernel: 3, Padding: layers.Same}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
			layers.Conv2D{Out: 8, Kernel: 3, Padding: 1}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2}, layers.Flatten{}, layers.Linear{Out: classes},
		},
	} {
		tape := newTape(t)
		net, err := layers.Build(model, tensor.SpecOf(tensor.F32, n, 1, 12, 12), 3, tensor.F32)
		if err != nil {
			t.Fatal(err)
		}
		images, labels := tensor.New(tensor.SpecOf(tensor.F32, n, 1, 12, 12)), tensor.New(tensor.SpecOf(tensor.I64, n))
		for i := range images.Len() {
			images.Set(i, float64(i*2654435761%997)/997)
		}
		for i := range n {
			labels.SetInt(i, int64(i%classes))
		}
		logits := net.Forward(tape, tape.Input("x", images), layers.Train)
		loss := step(t, tape, ops.CrossEntropy(logits, tape.Input("y", labels)))[0][0]
		if want := math.Log(classes); math.Abs(loss-want) > 0.1*want {
			t.Errorf("%s: the first loss is %v, want %v", name, loss, want)
		}
	}
}

// TestSummaryCosts: every operation counts once, for the innermost module that recorded it; modules that only contain others have no row.
func TestSummaryCosts(t *testing.T) {
	net := build(t, layers.Sequential{
		layers.Name("a", layers.Residual{Body: layers.Sequential{layers.Linear{Out: 4, NoBias: true}, layers.ReLU{}}}),
		layers.Name("b", layers.MultiHeadAttention{Heads: 2, NoBias: true}),
	}, 2, 3, 4)
	const rows, size = 2 * 3, 4
	var names []string
	total := 0.0
	for _, r := range net.Summary() {
		names = append(names, r.Name+" "+r.Kind)
		want := map[string]float64{"a": rows * size, "a.body.0": 2 * rows * size * size, "a.body.1": rows * size, "b.out_proj": 2 * rows * size * size}[r.Name]
		if want > 0 && r.FLOPs != want || r.Bytes <= 0 {
			t.Errorf("%s: %v FLOPs and %v bytes, want %v FLOPs", r.Name, r.FLOPs, r.Bytes, want)
		}
		total += r.FLOPs
	}
	if got, want := strings.Join(names, ", "), "a Residual, a.body.0 Linear, a.body.1 ReLU, b MultiHeadAttention, b.out_proj Linear"; got != want {
		t.Errorf("rows are %s, want %s", got, want)
	}
	if s := net.String(); !strings.Contains(s, fmt.Sprintf(" 80, 640 bytes  %.0f ", total)) {
		t.Errorf("the total is not %v:\n%s", total, s)
	}
}
