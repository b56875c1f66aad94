package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
	"github.com/cortado-ml/cortado/train"
)

// guess is a class with its probability.
type guess struct {
	class       int
	probability float64
}

// guesses are the classes of a row of probabilities, the likeliest first.
func guesses(p tensor.Tensor) []guess {
	list := make([]guess, p.Len())
	for i := range list {
		list[i] = guess{i, p.At(i)}
	}
	slices.SortStableFunc(list, func(a, b guess) int { return cmp.Compare(b.probability, a.probability) })
	return list
}

func predictCommand(ctx context.Context, args []string, out, _ io.Writer) error {
	f := newFlags("predict", "[-model-file F] IMAGE...", "Says what a trained model sees in pictures, PNG or JPEG. The models of Fashion-MNIST know light things on dark ground: use\n-invert for dark ones on light ground.")
	file := f.String("model-file", filepath.Join("cortado-demo", "cnn.safetensors"), "the model, as training has saved it")
	invert := f.Bool("invert", false, "turn light into dark")
	asJSON := f.Bool("json", false, "print one JSON object a line")
	if err := parse(f, args, out, true); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return usage("predict: which IMAGE?")
	}
	m, err := loadModel(ctx, *file)
	if err != nil {
		return err
	}
	eng, closeAll, err := openEngine("cpu", 0)
	if err != nil {
		return err
	}
	defer closeAll()
	for _, name := range f.Args() {
		img, err := data.OpenImage(name, m.input)
		if err != nil {
			return err
		}
		if *invert {
			if err := data.Invert(nil, img); err != nil {
				return err
			}
		}
		list, err := classify(ctx, eng, m.net, img)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if *asJSON {
			line := map[string]any{"image": name, "class": className(m.classes, list[0].class), "index": list[0].class, "probability": list[0].probability}
			if err := json.NewEncoder(out).Encode(line); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(out, "%s:", name)
		for _, g := range list[:min(3, len(list))] {
			fmt.Fprintf(out, "  %s %.1f %%", className(m.classes, g.class), 100*g.probability)
		}
		fmt.Fprintln(out)
	}
	return nil
}

// model is a trained model and what it needs to know of its input.
type model struct {
	net     *layers.Net
	input   tensor.Spec // of one image
	classes []string
}

// loadModel reads a file that training has saved.
func loadModel(ctx context.Context, path string) (m model, err error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return m, err
	}
	defer f.Close()
	meta := f.Metadata()
	r, ok := recipes[meta[metaModel]]
	if !ok || meta[metaClasses] == "" {
		return m, fmt.Errorf("%s is not a model of the demo: its metadata name the model %q", path, meta[metaModel])
	}
	var dims []int
	if err := json.Unmarshal([]byte(meta[metaClasses]), &m.classes); err != nil {
		return m, fmt.Errorf("%s: metadata %s: %w", path, metaClasses, err)
	}
	if err := json.Unmarshal([]byte(meta[metaInput]), &dims); err != nil {
		return m, fmt.Errorf("%s: metadata %s: %w", path, metaInput, err)
	}
	m.input = tensor.SpecOf(tensor.F32, dims...)
	batch := tensor.SpecOf(tensor.F32, append([]int{1}, dims...)...)
	if m.net, err = layers.Build(r.build(len(m.classes)), batch, 0, tensor.F32); err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	var named []safetensors.Named
	for _, name := range f.Names() {
		t, err := f.Tensor(name)
		if err != nil {
			return m, fmt.Errorf("%s: %w", path, err)
		}
		named = append(named, safetensors.Named{Name: name, Tensor: t})
	}
	if err := train.Load(ctx, named, m.net.State()); err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}
