package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
	"github.com/cortado-ml/cortado/train"
)

// Metadata of a model's file.
const (
	metaModel   = "cortado.model"
	metaClasses = "cortado.classes" // their names, as a JSON list
	metaInput   = "cortado.input"   // the shape of an image, as a JSON list
)

// model is a trained model and what it needs to know of its input.
type model struct {
	net     *layers.Net
	input   tensor.Spec // of one image
	classes []string
}

// saveModel writes a model with what predict needs to know.
func saveModel(ctx context.Context, path, name string, set imageSet, net *layers.Net) error {
	named, err := train.Tensors(ctx, net.State())
	if err != nil {
		return err
	}
	classes, err := json.Marshal(set.classes)
	if err != nil {
		return err
	}
	x, _ := set.train.Specs()
	input, err := json.Marshal(x.Shape.Dims())
	if err != nil {
		return err
	}
	return safetensors.WriteFile(path, named, map[string]string{metaModel: name, metaClasses: string(classes), metaInput: string(input)})
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

// maxInput bounds the numbers of an image, and so the memory that a model asks for before its tensors are looked at.
const maxInput = 1 << 20

func readModel(ctx context.Context, f *safetensors.File) (m model, err error) {
	meta := f.Metadata()
	r, ok := recipes[meta[metaModel]]
	if !ok {
		return m, fmt.Errorf("it is no model of the demo: its metadata name the model %q, and there are %s", meta[metaModel], modelNames())
	}
	if err := f.Verify(); err != nil {
		return m, err
	}
	if err := json.Unmarshal([]byte(meta[metaClasses]), &m.classes); err != nil {
		return m, fmt.Errorf("it is no model of the demo, a checkpoint perhaps: metadata %s: %w", metaClasses, err)
	}
	var dims []int
	if err := json.Unmarshal([]byte(meta[metaInput]), &dims); err != nil {
		return m, fmt.Errorf("metadata %s: %w", metaInput, err)
	}
	m.input = tensor.SpecOf(tensor.F32, dims...)
	if err := m.input.Check(); err != nil || len(dims) != 3 || m.input.Shape.Size() > maxInput {
		return m, fmt.Errorf("metadata %s: %v is no shape of an image", metaInput, dims)
	}
	if m.net, err = layers.Build(r.build(len(m.classes)), tensor.SpecOf(tensor.F32, append([]int{1}, dims...)...), 0, tensor.F32); err != nil {
		return m, err
	}
	named, err := f.Tensors()
	if err != nil {
		return m, err
	}
	return m, train.Load(ctx, named, m.net.State())
}

// classify runs a net on one image and gives the probability of each class.
func classify(ctx context.Context, eng *sched.Engine, net *layers.Net, img tensor.Tensor) ([]guess, error) {
	batch, err := img.Reshape(append([]int{1}, img.Shape().Dims()...)...)
	if err != nil {
		return nil, err
	}
	tape := autograd.New(eng)
	res, err := tape.Eval(ctx, net.Forward(tape, tape.Input("x", batch), layers.Eval).Softmax(-1))
	if err != nil {
		return nil, err
	}
	return guesses(res[0]), nil
}
