package layers_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// block is a small model with names like a transformer's.
var block = layers.Sequential{
	layers.Name("blocks", layers.Sequential{layers.TransformerBlock{Heads: 1, Hidden: 3}}), layers.Name("norm", layers.BatchNorm1D{}), layers.Name("head", layers.Linear{Out: 2}),
}

// edit changes a state: entries without a tensor go, others come or are replaced.
func edit(named []safetensors.Named, by map[string]tensor.Tensor) (list []safetensors.Named) {
	for _, n := range named {
		if t, ok := by[n.Name]; ok {
			n.Tensor = t
			delete(by, n.Name)
		}
		if !n.Tensor.IsNone() {
			list = append(list, n)
		}
	}
	for name, t := range by {
		list = append(list, safetensors.Named{Name: name, Tensor: t})
	}
	return list
}

// TestLoadTellsAll: everything that does not fit is in one error, near misses too, and nothing is set.
func TestLoadTellsAll(t *testing.T) {
	net := build(t, block, 2, 4, 4)
	named, err := net.Tensors(ctx)
	if err != nil {
		t.Fatal(err)
	}
	none := tensor.Tensor{}
	vec := func(x float64, n ...int) tensor.Tensor { return tensor.Full(tensor.SpecOf(tensor.F64, n...), x) }
	before := value(t, net, "head.weight")
	for what, c := range map[string]struct {
		by    map[string]tensor.Tensor
		words string
	}{
		"another name": {map[string]tensor.Tensor{"blocks.0.norm1.weight": none, "blocks.0.ln1.weight": vec(1, 4)},
			"layers: the state is of another model: missing: blocks.0.norm1.weight (the file has blocks.0.ln1.weight); unexpected: blocks.0.ln1.weight"},
		"one in front": {map[string]tensor.Tensor{"head.bias": none, "module.head.bias": vec(1, 2)}, "missing: head.bias (the file has module.head.bias)"},
		"a near name of another shape": {map[string]tensor.Tensor{"head.bias": none, "head.bais": vec(1, 3)},
			"missing: head.bias; unexpected: head.bais"},
		"a far name": {map[string]tensor.Tensor{"head.bias": none, "x": vec(1, 2)}, "missing: head.bias; unexpected: x"},
		"all at once": {map[string]tensor.Tensor{"head.bias": none, "more": vec(1, 9), "head.weight": vec(1, 4, 2)},
			"missing: head.bias; unexpected: more; mis-shaped: head.weight is f64[4 2] in the file, f64[2 4] in the model"},
		"integers":         {map[string]tensor.Tensor{"head.bias": tensor.New(tensor.SpecOf(tensor.I64, 2))}, "mis-shaped: head.bias is i64[2] in the file, f64[2] in the model"},
		"a count of none":  {map[string]tensor.Tensor{"head.num_batches_tracked": vec(1)}, "unexpected: head.num_batches_tracked"},
		"a count alone":    {map[string]tensor.Tensor{"num_batches_tracked": vec(1)}, "unexpected: num_batches_tracked"},
		"a count too many": {map[string]tensor.Tensor{"norm.batches": vec(1)}, "unexpected: norm.batches"},
	} {
		err := net.Load(ctx, edit(named, c.by))
		var state *layers.StateError
		if err == nil || !strings.Contains(err.Error(), c.words) || !errors.As(err, &state) {
			t.Errorf("%s: %v, want %q", what, err, c.words)
		}
	}
	if err := net.Load(ctx, append(named, named[0])); err == nil || !strings.Contains(err.Error(), "is there twice") {
		t.Error(err)
	}
	if !value(t, net, "head.weight").Same(before) {
		t.Error("a refused state was set")
	}
	if err := net.Load(ctx, edit(named, map[string]tensor.Tensor{"norm.num_batches_tracked": tensor.Scalar[int64](7), "head.weight": vec(3, 2, 4)})); err != nil {
		t.Error(err)
	}
	near(t, "head.weight", value(t, net, "head.weight").Floats(), 3, 3, 3, 3, 3, 3, 3, 3)
}

// TestLoadConverts: floats of other types are converted by the rule that is documented.
func TestLoadConverts(t *testing.T) {
	types := []tensor.DType{tensor.F64, tensor.F32, tensor.BF16, tensor.F16}
	for _, model := range types {
		for _, file := range types {
			net, err := layers.Build(layers.Linear{Out: 1, NoBias: true}, tensor.SpecOf(model, 1, 4), 1, model)
			if err != nil {
				t.Fatal(err)
			}
			w, want := tensor.New(tensor.SpecOf(file, 1, 4)), tensor.New(tensor.SpecOf(model, 1, 4))
			for i, x := range []float64{1. / 3, math.Inf(-1), math.NaN(), -5000.7} {
				w.Set(i, x)
				want.Set(i, w.At(i))
			}
			if err := net.Load(ctx, []safetensors.Named{{Name: "weight", Tensor: w}}); err != nil {
				t.Errorf("%v to %v: %v", file, model, err)
			}
			if got := value(t, net, "weight"); got.String() != want.String() {
				t.Errorf("%v to %v: %v, want %v", file, model, got, want)
			}
		}
	}
	net, err := layers.Build(layers.Linear{Out: 1, NoBias: true}, tensor.SpecOf(tensor.F32, 1, 2), 1, tensor.F32)
	if err != nil {
		t.Fatal(err)
	}
	far := []safetensors.Named{{Name: "weight", Tensor: f64([]int{1, 2}, 1, 1e39)}}
	if err := net.Load(ctx, far); err == nil || !strings.Contains(err.Error(), "weight has 1e+39 at element 1, which is beyond f32") {
		t.Error(err)
	}
	if err := layers.Load(ctx, []safetensors.Named{{Name: "weight", Tensor: f64([]int{1, 2}, 1, 2)}}, net.Params()); err == nil || !strings.Contains(err.Error(), "weight is f64[1 2] in the file, f32[1 2] in the model") {
		t.Errorf("Load of variables: %v", err)
	}
	for _, vars := range [][]*ops.Variable{{nil}} {
		if err := layers.Load(ctx, nil, vars); err == nil || !strings.Contains(err.Error(), "layers: variable 0 is nil") {
			t.Error(err)
		}
		if _, err := layers.Tensors(ctx, vars); err == nil || !strings.Contains(err.Error(), "layers: variable 0 is nil") {
			t.Error(err)
		}
	}
}

// TestFiles: what SaveFile writes, LoadFile reads, bit for bit; errors name the file.
func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	a, b := build(t, block, 2, 4, 4), build(t, block, 2, 4, 4)
	for _, v := range a.State() {
		x := tensor.New(v.Spec())
		layers.Normal(1, 2)(x, layers.Draw{})
		if err := v.Set(ctx, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.SaveFile(ctx, path, map[string]string{"who": "me"}); err != nil {
		t.Fatal(err)
	}
	if err := b.LoadFile(ctx, path); err != nil {
		t.Fatal(err)
	}
	for _, v := range a.State() {
		if x := value(t, b, v.Name()); !x.Same(value(t, a, v.Name())) {
			t.Errorf("%s came back as %v", v.Name(), x)
		}
	}
	if err := build(t, layers.Linear{Out: 1}, 1, 1).LoadFile(ctx, path); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if err := a.LoadFile(ctx, path+".not"); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "layers: ") {
		t.Error(err)
	}
	if err := a.SaveFile(ctx, filepath.Join(path, "b"), nil); err == nil || !strings.HasPrefix(err.Error(), "layers: ") {
		t.Error(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.LoadFile(ctx, path); !errors.Is(err, safetensors.ErrFormat) || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	v := a.Params()[0]
	if err := v.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Tensors(done); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	v.Unlock()
}

// TestLoadFindsRenamed: names of PyTorch's nn.TransformerEncoder, whose blocks lie below "layers", are found one for one, by their last elements; the text
// names the first of many, the error has all.
func TestLoadFindsRenamed(t *testing.T) {
	blocks := layers.Sequential{}
	for range 5 {
		blocks = append(blocks, layers.TransformerBlock{Heads: 1, Hidden: 3})
	}
	net := build(t, layers.Sequential{layers.Name("encoder", append(blocks, layers.Name("final", layers.LayerNorm{}))), layers.Name("head", layers.Linear{Out: 2})}, 2, 4, 4)
	named, err := net.Tensors(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range named {
		if rest, ok := strings.CutPrefix(n.Name, "encoder.final."); ok {
			named[i].Name = "encoder.norm." + rest
		} else if rest, ok := strings.CutPrefix(n.Name, "encoder."); ok {
			named[i].Name = "encoder.layers." + rest
		}
	}
	err = net.Load(ctx, named)
	var state *layers.StateError
	if !errors.As(err, &state) || len(state.Missing) != 62 || len(state.Unexpected) != 62 {
		t.Fatal(err)
	}
	if got := strings.Count(err.Error(), ", and 57 more"); got != 2 {
		t.Errorf("%d lists end early: %v", got, err)
	}
	all := strings.Count(err.Error(), "(the file has ")
	for _, name := range state.Missing[:5] {
		if want := name + " (the file has encoder.layers." + strings.TrimPrefix(name, "encoder.") + ")"; !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if all != 5 {
		t.Errorf("%d suggestions: %v", all, err)
	}
	few := &layers.StateError{Missing: state.Missing[:5]}
	if strings.Contains(few.Error(), "more") {
		t.Error(few)
	}
	last := net.Load(ctx, named[:len(named)-2]) // without the head, which is like no name that is left
	if last == nil || strings.Contains(last.Error(), "head.bias (") {
		t.Error(last)
	}
}
