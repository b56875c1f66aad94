package layers_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// modules are ours for the cases of testdata/goldens/modules.py.
var modules = map[string]layers.Module{
	"relu": layers.ReLU{}, "tanh": layers.Tanh{}, "sigmoid": layers.Sigmoid{}, "logsigmoid": layers.LogSigmoid{},
	"gelu": layers.GELU{}, "gelu-tanh": layers.GELU{Tanh: true}, "silu": layers.SiLU{},
	"leakyrelu": layers.LeakyReLU{}, "leakyrelu-0.3": layers.LeakyReLU{Slope: 0.3}, "elu": layers.ELU{}, "elu-2": layers.ELU{Alpha: 2},
	"softplus": layers.Softplus{}, "hardtanh": layers.Hardtanh{}, "relu6": layers.Hardtanh{Max: 6},
	"softmax": layers.Softmax{}, "logsoftmax": layers.LogSoftmax{},
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
	"attention": layers.MultiHeadAttention{Heads: 3}, "attention-causal": layers.MultiHeadAttention{Heads: 2, NoBias: true, Causal: true},
	"encoder":         layers.TransformerBlock{Heads: 3, Hidden: 10},
	"encoder-prenorm": layers.TransformerBlock{Heads: 3, Hidden: 10, PreNorm: true, Activation: layers.GELU{}, NoBias: true},
	"encoder-causal":  layers.TransformerBlock{Heads: 3, Hidden: 10, PreNorm: true, Causal: true},
	"basicblock":      layers.BasicBlock{Out: 4}, "basicblock-stride": layers.BasicBlock{Out: 3, Stride: 2},
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

// TestGoldens: values, running statistics and gradients of every module are PyTorch's in float64, under the names of its state dict.
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
	for name, g := range all {
		t.Run(name, func(t *testing.T) { comparePyTorch(t, name, g) })
	}
}

// comparePyTorch runs one case.
func comparePyTorch(t *testing.T, name string, g map[string]tensor.Tensor) {
	net, err := layers.Build(modules[name], g["in"].Spec(), 1, tensor.F64)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range net.State() {
		w, ok := g["state/"+v.Name()]
		if !ok {
			t.Fatalf("PyTorch has no %s", v.Name())
		}
		if err := v.Set(ctx, w); err != nil {
			t.Fatal(err)
		}
		delete(g, "state/"+v.Name())
	}
	for key := range g {
		if strings.HasPrefix(key, "state/") && !strings.HasSuffix(key, ".num_batches_tracked") && key != "state/num_batches_tracked" {
			t.Errorf("we have no %s", key)
		}
	}
	mode := layers.Train
	if strings.HasSuffix(name, "-eval") {
		mode = layers.Eval
	}
	tape := newTape(t)
	x := tape.Input("x", g["in"])
	y := net.Forward(tape, x, mode)
	wrt := []ops.Value{x}
	for _, p := range net.Params() {
		wrt = append(wrt, tape.Var(p))
	}
	out := append([]ops.Value{y}, tape.Grad(y.Mul(tape.Input("dy", g["dy"])).Sum(), wrt...)...)
	got := step(t, tape, out...)
	within(t, "output", got[0], g["out"], 1e-12)
	within(t, "gradient of the input", got[1], g["dx"], 1e-11)
	for i, p := range net.Params() {
		within(t, "gradient of "+p.Name(), got[2+i], g["grad/"+p.Name()], 1e-11)
	}
	for _, v := range net.State() {
		if want, ok := g["after/"+v.Name()]; ok {
			within(t, v.Name(), value(t, net, v.Name()).Floats(), want, 1e-12)
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

// TestModuleGradients: the gradients of every module's input agree with differences.
func TestModuleGradients(t *testing.T) {
	f := golden(t, "modules.safetensors")
	for name, m := range modules {
		t.Run(name, func(t *testing.T) {
			in, err := f.Tensor(name + "/in")
			if err != nil {
				t.Fatal(err)
			}
			net, err := layers.Build(m, in.Spec(), 1, tensor.F64)
			if err != nil {
				t.Fatal(err)
			}
			loss := func(tape *autograd.Tape, in []ops.Value) ops.Value { return net.Forward(tape, in[0], layers.Train) }
			if err := autograd.CheckGrad(ctx, newEngine(t), loss, []tensor.Tensor{in}, autograd.CheckOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}
