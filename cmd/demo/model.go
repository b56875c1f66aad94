package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
	"github.com/cortado-ml/cortado/train"
)

// Metadata of a model's file, beside those of its task.
const (
	metaKind  = "cortado.kind"
	metaModel = "cortado.model"
)

// model is a trained model and what it is for.
type model struct {
	task
	name string
	net  *layers.Net
}

// saveModel writes a model with what other commands need to know.
func saveModel(ctx context.Context, path string, k *kind, name string, t task, net *layers.Net) error {
	named, err := train.Tensors(ctx, net.State())
	if err != nil {
		return err
	}
	meta := t.metadata()
	meta[metaKind], meta[metaModel] = k.name, name
	return safetensors.WriteFile(path, named, meta)
}

// loadModel reads a file that saveModel has written.
func loadModel(ctx context.Context, path string) (m model, err error) {
	f, err := safetensors.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("there is no model %s: train one first, or name another with -model-file", path)
	}
	if err != nil {
		return m, err
	}
	defer f.Close()
	if m, err = readModel(ctx, f); err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// maxInput bounds the numbers of a sample, and so the memory that a model asks for before its tensors are looked at.
const maxInput = 1 << 20

func readModel(ctx context.Context, f *safetensors.File) (m model, err error) {
	meta := f.Metadata()
	k, r, err := recipeOfFile(meta)
	if err != nil {
		return m, err
	}
	if err := f.Verify(); err != nil {
		return m, err
	}
	if m.task, err = k.restore(meta); err != nil {
		return m, fmt.Errorf("it is no model of the demo, a checkpoint perhaps: metadata %w", err)
	}
	m.name = meta[metaModel]
	named, err := f.Tensors()
	if err != nil {
		return m, err
	}
	dtype := tensor.F32
	for i, n := range named { // all parameters are of one type; running statistics may be of a wider one
		if d := n.Tensor.DType(); i == 0 || d.Size() < dtype.Size() {
			dtype = d
		}
	}
	if m.net, err = build(m.task, r, dtype); err != nil {
		return m, err
	}
	return m, train.Load(ctx, named, m.net.State())
}

// build makes the recipe's net for a task.
func build(t task, r recipe, dtype tensor.DType) (*layers.Net, error) {
	x := t.input()
	return layers.Build(inType(r.build(t.outputs()), dtype), tensor.SpecOf(x.DType, append([]int{1}, x.Shape.Dims()...)...), 0, dtype)
}

// inType is a module whose layers compute in a type other than that of the data, which the loss has.
func inType(m layers.Module, dtype tensor.DType) layers.Module {
	if dtype == tensor.F32 {
		return m
	}
	return layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		if x.DType().Float() {
			x = x.Cast(dtype)
		}
		return m.Forward(c, x).Cast(tensor.F32)
	})
}
