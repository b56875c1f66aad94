package layers_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// modules are ours for the cases of testdata/goldens/modules.py.
var modules = map[string]layers.Module{
	"relu": layers.ReLU{}, "tanh": layers.Tanh{}, "sigmoid": layers.Sigmoid{}, "logsigmoid": layers.LogSigmoid{},
	"gelu": layers.GELU{}, "gelu-tanh": layers.GELU{Tanh: true}, "silu": layers.SiLU{},
	"leakyrelu": layers.LeakyReLU{}, "leakyrelu-0.3": layers.LeakyReLU{Slope: 0.3}, "elu": layers.ELU{}, "elu-2": layers.ELU{Alpha: 2},
	"softplus": layers.Softplus{}, "hardtanh": layers.Hardtanh{}, "relu6": layers.Hardtanh{Max: 6},
	"softmax": layers.Softmax{}, "softmax-1": layers.Softmax{Axis: 1}, "logsoftmax": layers.LogSoftmax{}, "logsoftmax-1": layers.LogSoftmax{Axis: 1},
	"linear":    layers.Linear{Out: 3},
	"layernorm": layers.LayerNorm{}, "layernorm-2": layers.LayerNorm{Axes: 2}, "layernorm-plain": layers.LayerNorm{NoAffine: true},
	"layernorm-nobias": layers.LayerNorm{NoBias: true}, "rmsnorm": layers.RMSNorm{}, "rmsnorm-2": layers.RMSNorm{Axes: 2, Eps: 1e-3},
	"groupnorm": layers.GroupNorm{Groups: 2}, "groupnorm-plain": layers.GroupNorm{Groups: 4, NoAffine: true},
	"batchnorm1d": layers.BatchNorm1D{}, "batchnorm1d-sequence": layers.BatchNorm1D{}, "batchnorm2d": layers.BatchNorm2D{Momentum: 0.3}, "batchnorm2d-eval": layers.BatchNorm2D{},
	"conv1d": layers.Conv1D{Out: 6, Kernel: 3}, "conv1d-same": layers.Conv1D{Out: 3, Kernel: 4, Padding: layers.Same, Dilation: 2},
	"conv1d-groups": layers.Conv1D{Out: 6, Kernel: 3, Stride: 2, Padding: 1, Groups: 2},
	"conv2d":        layers.Conv2D{Out: 3, Kernel: 3}, "conv2d-dilated": layers.Conv2D{Out: 2, Kernel: 3, Padding: 2, Dilation: 2, NoBias: true},
	"conv2d-depthwise":        layers.Conv2D{Out: 8, Kernel: 3, Stride: 2, Padding: 1, Groups: 4},
	"convtranspose1d":         layers.ConvTranspose1D{Out: 3, Kernel: 3, Stride: 2, Padding: 1, Extra: 1},
	"convtranspose2d":         layers.ConvTranspose2D{Out: 3, Kernel: 3},
	"convtranspose2d-groups":  layers.ConvTranspose2D{Out: 6, Kernel: 3, Stride: 2, Padding: 1, Extra: 1, Groups: 2, NoBias: true},
	"convtranspose2d-dilated": layers.ConvTranspose2D{Out: 2, Kernel: 2, Dilation: 2},
	"maxpool1d":               layers.MaxPool1D{Size: 3, Stride: 2, Padding: 1}, "maxpool2d-ceil": layers.MaxPool2D{Size: 2, Ceil: true},
	"avgpool1d": layers.AvgPool1D{Size: 2}, "avgpool2d-ceil": layers.AvgPool2D{Size: 3, Stride: 2, Padding: 1, Ceil: true},
	"adaptiveavg1d": layers.AdaptiveAvgPool1D{Size: 4}, "adaptivemax1d": layers.AdaptiveMaxPool1D{Size: 4},
	"adaptiveavg2d": layers.AdaptiveAvgPool2D{Height: 4, Width: 3}, "adaptivemax2d": layers.AdaptiveMaxPool2D{Height: 4, Width: 3},
	"globalavg": layers.GlobalAvgPool{}, "globalmax": layers.GlobalMaxPool{},
	"upsample": layers.Upsample{Factor: 2}, "upsample-bilinear": layers.Upsample{Factor: 2, Mode: ops.Bilinear},
	"upsample-aligned": layers.Upsample{Factor: 3, Mode: ops.Bilinear, Align: true}, "upsample-sequence": layers.Upsample{Factor: 2, Mode: ops.Bilinear},
	"pixelshuffle": layers.PixelShuffle{Factor: 2}, "pixelunshuffle": layers.PixelUnshuffle{Factor: 2},
	"zeropad": layers.ConstantPad2D{Left: 1, Right: 2, Top: 3}, "constantpad": layers.ConstantPad2D{Left: 1, Right: 2, Top: 3, X: 0.5},
	"reflectpad": layers.Pad2D{Left: 1, Right: 2, Top: 3}, "replicatepad": layers.Pad2D{Mode: ops.Replicate, Left: 1, Right: 2, Top: 3},
	"circularpad": layers.Pad2D{Mode: ops.Circular, Left: 1, Right: 2, Top: 3},
	"lstm":        layers.LSTM{Hidden: 4}, "lstm-nobias": layers.LSTM{Hidden: 3, NoBias: true}, "lstm-deep": layers.LSTM{Hidden: 3, Layers: 2, Bidirectional: true},
	"gru": layers.GRU{Hidden: 4}, "gru-deep": layers.GRU{Hidden: 3, Layers: 2, Bidirectional: true},
	"lstm-lengths": lengths25(layers.LSTM{Hidden: 3, Layers: 2, Bidirectional: true}), "gru-lengths": lengths25(layers.GRU{Hidden: 3, Bidirectional: true}),
	"encoder-lengths": lengths25(layers.TransformerBlock{Heads: 3, Hidden: 10}),
	"attention":       layers.MultiHeadAttention{Heads: 3}, "attention-causal": layers.MultiHeadAttention{Heads: 2, NoBias: true, Causal: true},
	"encoder":         layers.TransformerBlock{Heads: 3, Hidden: 10},
	"encoder-prenorm": layers.TransformerBlock{Heads: 3, Hidden: 10, PreNorm: true, Activation: layers.GELU{}, NoBias: true},
	"encoder-causal":  layers.TransformerBlock{Heads: 3, Hidden: 10, PreNorm: true, Causal: true},
	"basicblock":      layers.BasicBlock{Out: 4}, "basicblock-stride": layers.BasicBlock{Out: 3, Stride: 2},
}

// lengths25 is m on two sequences, of which the first ends after two steps and the second after five.
func lengths25(m layers.Module) layers.Module {
	return layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		number := func(n float64) ops.Value { return ops.Full(c.Tape.Recorder(), tensor.Spec{DType: tensor.I64}, n) }
		c.Lengths = ops.Iota(c.Tape.Recorder(), tensor.SpecOf(tensor.I64, 2), 0).Mul(number(3)).Add(number(2))
		if x.Dim(0) == 0 {
			c.Lengths = c.Lengths.Narrow(0, 0, 0)
		}
		return m.Forward(c, x)
	})
}

// golden reads a file of testdata/goldens.
func golden(t *testing.T, name string) *safetensors.File {
	t.Helper()
	f, err := safetensors.Open("../testdata/goldens/" + name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestGoldens: values, running statistics and gradients of every module are PyTorch's, under the names of its state dict: in float64 on the
// reference, and in float32 on the CPU driver, which runs all of them itself.
func TestGoldens(t *testing.T) {
	all := map[string]map[string]tensor.Tensor{}
	named, err := golden(t, "modules.safetensors").Tensors()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range named {
		name, rest, _ := strings.Cut(n.Name, "/")
		if all[name] == nil {
			all[name] = map[string]tensor.Tensor{}
		}
		all[name][rest] = n.Tensor
	}
	if want := slices.Sorted(maps.Keys(all)); !slices.Equal(slices.Sorted(maps.Keys(modules)), want) {
		t.Errorf("we have %v, and the goldens %v", slices.Sorted(maps.Keys(modules)), want)
	}
	eng := cpuEngine(t)
	eng.NoFallback = true
	for name, g := range all {
		t.Run(name, func(t *testing.T) {
			comparePyTorch(t, name, g, newTape(t), tensor.F64, 1e-11)
			comparePyTorch(t, name, g, autograd.New(eng), tensor.F32, 5e-5)
		})
	}
}

// cpuEngine is an engine on the CPU driver.
func cpuEngine(t *testing.T) *sched.Engine {
	t.Helper()
	dev, err := cpu.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	eng, err := sched.New(dev)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	return eng
}

// comparePyTorch runs one case.
func comparePyTorch(t *testing.T, name string, g map[string]tensor.Tensor, tape *autograd.Tape, d tensor.DType, bound float64) {
	net, err := layers.Build(modules[name], tensor.Spec{DType: d, Shape: g["in"].Shape()}, 1, d)
	if err != nil {
		t.Fatal(err)
	}
	var state []safetensors.Named
	for key, x := range g {
		if key, ok := strings.CutPrefix(key, "state/"); ok {
			state = append(state, safetensors.Named{Name: key, Tensor: x})
		}
	}
	if err := net.Load(ctx, state); err != nil {
		t.Fatal(err)
	}
	mode := layers.Train
	if strings.HasSuffix(name, "-eval") {
		mode = layers.Eval
	}
	x := tape.Input("x", g["in"]).Cast(d)
	y := net.Forward(tape, x, mode)
	wrt := []ops.Value{x}
	for _, p := range net.Params() {
		wrt = append(wrt, tape.Var(p))
	}
	out := append([]ops.Value{y}, tape.Grad(y.Mul(tape.Input("dy", g["dy"]).Cast(d)).Sum(), wrt...)...)
	got := step(t, tape, out...)
	within(t, "output", got[0], g["out"], bound)
	within(t, "gradient of the input", got[1], g["dx"], bound)
	for i, p := range net.Params() {
		within(t, "gradient of "+p.Name(), got[2+i], g["grad/"+p.Name()], bound)
	}
	for _, v := range net.State() {
		if want, ok := g["after/"+v.Name()]; ok {
			within(t, v.Name(), value(t, net, v.Name()).Floats(), want, bound)
		}
	}
}

// within compares relative to numbers above 1.
func within(t *testing.T, what string, got []float64, want tensor.Tensor, bound float64) {
	t.Helper()
	if len(got) != want.Len() {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), want.Len())
	}
	for i, x := range got {
		if d := x - want.At(i); !(max(d, -d) <= bound*max(1, want.At(i), -want.At(i))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, x, want.At(i))
		}
	}
}

// moduleOf is a net of one module, with the input of its case.
func moduleOf(t *testing.T, m layers.Module, name string) (*layers.Net, tensor.Tensor) {
	t.Helper()
	in, err := golden(t, "modules.safetensors").Tensor(name + "/in")
	if err != nil {
		t.Fatal(err)
	}
	return build(t, m, in.Shape().Dims()...), in
}

// TestModuleGradients: the gradients of every module's input agree with differences.
func TestModuleGradients(t *testing.T) {
	for name, m := range modules {
		t.Run(name, func(t *testing.T) {
			net, in := moduleOf(t, m, name)
			loss := func(tape *autograd.Tape, in []ops.Value) ops.Value { return net.Forward(tape, in[0], layers.Train) }
			if err := autograd.CheckGrad(ctx, newEngine(t), loss, []tensor.Tensor{in}, autograd.CheckOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestModulesReplay: every module is recognised when it is recorded again, and compiled once.
func TestModulesReplay(t *testing.T) {
	for name, m := range modules {
		net, in := moduleOf(t, m, name)
		eng := newEngine(t)
		tape, misses, compiles := autograd.New(eng), 0, 0
		for i := range 3 {
			for _, mode := range []layers.Mode{layers.Train, layers.Eval} {
				x := tape.Input("x", in)
				y := net.Forward(tape, x, mode)
				step(t, tape, append(tape.Grad(y.Sum(), x), y)...)
			}
			if i == 0 {
				misses, compiles = tape.Misses(), eng.Stats().Compiles
			}
		}
		if n, c := tape.Misses()-misses, eng.Stats().Compiles-compiles; n != 0 || c != 0 {
			t.Errorf("%s: %d nodes and %d programs more", name, n, c)
		}
	}
}

// TestNarrowModules: in 16 bits every module computes about what it does in 64, and nothing of another type comes out.
func TestNarrowModules(t *testing.T) {
	for name, m := range modules {
		_, in := moduleOf(t, m, name)
		tape := newTape(t)
		var out [3][]float64
		for i, d := range []tensor.DType{tensor.F64, tensor.BF16, tensor.F16} {
			net, err := layers.Build(m, tensor.Spec{DType: d, Shape: in.Shape()}, 1, d)
			if err != nil {
				t.Errorf("%s in %v: %v", name, d, err)
				continue
			}
			y := net.Forward(tape, tape.Input(d.String(), in).Cast(d), layers.Train)
			if y.DType() != d {
				t.Errorf("%s in %v gives %v", name, d, y.DType())
			}
			out[i] = step(t, tape, y)[0]
		}
		for i, y := range out[0] {
			if b, h := out[1][i], out[2][i]; !(math.Abs(b-y) <= 0.1*max(1, math.Abs(y))) || !(math.Abs(h-y) <= 0.02*max(1, math.Abs(y))) {
				t.Errorf("%s: element %d is %v, in bf16 %v and in f16 %v", name, i, y, b, h)
				break
			}
		}
	}
}

// TestNoSamples: a batch of none goes through every module in evaluation.
func TestNoSamples(t *testing.T) {
	for name, m := range modules {
		net, in := moduleOf(t, m, name)
		tape := newTape(t)
		y := net.Forward(tape, tape.Input("x", in.Rows(0, 0)), layers.Eval)
		got, want := y.Shape(), net.Forward(tape, tape.Input("all", in), layers.Eval).Shape().With(0, 0)
		if n := len(step(t, tape, y)[0]); n != 0 || got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
