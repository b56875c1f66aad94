package layers_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// transformer is the language model of testdata/goldens/states.py.
func transformer(size, blocks int, head layers.Module) layers.Module {
	var stack layers.Sequential
	for range blocks {
		stack = append(stack, layers.TransformerBlock{Heads: 4, Hidden: 2 * size, Activation: layers.GELU{}, PreNorm: true, Causal: true})
	}
	return layers.Sequential{
		layers.Name("tok", layers.Embedding{Rows: 50, Size: size}), layers.Name("pos", layers.Positions{Max: 16}), layers.Name("blocks", stack),
		layers.Name("norm", layers.LayerNorm{}), layers.Name("head", head),
	}
}

// states are the models of testdata/goldens/states.py.
var states = map[string]layers.Module{
	"transformer": transformer(24, 2, layers.Linear{Out: 50}),
	"tied":        transformer(8, 1, layers.Tied{To: "tok.weight"}),
	"resnet": layers.Sequential{
		layers.Name("conv1", layers.Conv2D{Out: 8, Kernel: 3, Padding: 1, NoBias: true}), layers.Name("bn1", layers.BatchNorm2D{}), layers.ReLU{},
		layers.MaxPool2D{Size: 3, Stride: 2, Padding: 1},
		layers.Name("layer1", layers.Sequential{layers.BasicBlock{Out: 8}, layers.BasicBlock{Out: 8}}),
		layers.Name("layer2", layers.Sequential{layers.BasicBlock{Out: 16, Stride: 2}, layers.BasicBlock{Out: 16}}),
		layers.GlobalAvgPool{}, layers.Name("fc", layers.Linear{Out: 10}),
	},
}

// TestLoadsPyTorch: files that PyTorch saved load as they are, and give PyTorch's outputs in either mode, and its running statistics.
func TestLoadsPyTorch(t *testing.T) {
	for what, eng := range map[string]*sched.Engine{"reference": newEngine(t), "cpu": cpuEngine(t)} {
		for name, m := range states {
			run := golden(t, name+"-run.safetensors")
			get := func(name string) tensor.Tensor {
				x, err := run.Tensor(name)
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
			net, err := layers.Build(m, get("in").Spec(), 1, tensor.F32)
			if err != nil {
				t.Fatal(err)
			}
			if err := net.LoadFile(ctx, "../testdata/goldens/"+name+".safetensors"); err != nil {
				t.Fatal(err)
			}
			tape := autograd.New(eng)
			for _, mode := range []layers.Mode{layers.Eval, layers.Train} {
				of := map[layers.Mode]string{layers.Eval: "eval", layers.Train: "train"}[mode]
				got := step(t, tape, net.Forward(tape, tape.Input("x", get("in")), mode))[0]
				within(t, what+": "+name+" in "+of, got, get(of), 1e-5)
			}
			for _, key := range run.Names() {
				if v, ok := strings.CutPrefix(key, "after/"); ok {
					within(t, name+": "+v, value(t, net, v).Floats(), get(key), 1e-5)
				}
			}
		}
	}
}

// TestSavesAsPyTorch: a file of PyTorch, loaded and saved, has the same names, types, shapes and bits, which is what strict=True asks for; but a
// batch-norm counts no batches, and one of two names that are tied is enough. It needs no Python.
func TestSavesAsPyTorch(t *testing.T) {
	for name, m := range states {
		in, err := golden(t, name+"-run.safetensors").Tensor("in")
		if err != nil {
			t.Fatal(err)
		}
		net, err := layers.Build(m, in.Spec(), 1, tensor.F32)
		if err != nil {
			t.Fatal(err)
		}
		theirs, path := golden(t, name+".safetensors"), filepath.Join(t.TempDir(), "ours.safetensors")
		if err := net.LoadFile(ctx, "../testdata/goldens/"+name+".safetensors"); err != nil {
			t.Fatal(err)
		}
		if err := net.SaveFile(ctx, path, nil); err != nil {
			t.Fatal(err)
		}
		ours, err := safetensors.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer ours.Close()
		counts := 0
		for _, key := range theirs.Names() {
			if strings.HasSuffix(key, ".num_batches_tracked") {
				counts++
				continue
			}
			want, err := theirs.Tensor(key)
			if err != nil {
				t.Fatal(err)
			}
			if name == "tied" && key == "head.weight" {
				key = "tok.weight"
			}
			if got, err := ours.Tensor(key); err != nil || !got.Same(want) {
				t.Errorf("%s: %s differs: %v", name, key, err)
			}
		}
		if a, b := len(ours.Names()), len(theirs.Names())-counts; a != b {
			t.Errorf("%s: %d tensors, want %d: %v", name, a, b, ours.Names())
		}
	}
}

// TestPyTorchLoads: PyTorch loads our files with strict=True, and its outputs are ours. It needs Python with torch and safetensors.
func TestPyTorchLoads(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || testing.Short() {
		t.Skip("this starts Python with PyTorch")
	}
	dir := t.TempDir()
	for name, m := range states {
		in, err := golden(t, name+"-run.safetensors").Tensor("in")
		if err != nil {
			t.Fatal(err)
		}
		net, err := layers.Build(m, in.Spec(), 77, tensor.F32)
		if err != nil {
			t.Fatal(err)
		}
		tape := newTape(t)
		step(t, tape, net.Forward(tape, tape.Input("x", in), layers.Train)) // moves the running statistics
		out, err := tape.Eval(ctx, net.Forward(tape, tape.Input("x", in), layers.Eval))
		if err != nil {
			t.Fatal(err)
		}
		if err := net.SaveFile(ctx, filepath.Join(dir, name+".safetensors"), nil); err != nil {
			t.Fatal(err)
		}
		run := []safetensors.Named{{Name: "in", Tensor: in}, {Name: "eval", Tensor: out[0]}}
		if err := safetensors.WriteFile(filepath.Join(dir, name+"-run.safetensors"), run, nil); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(python, "-B", "../testdata/goldens/load.py", dir).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 77 {
		t.Skipf("Python has no PyTorch: %s", out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
