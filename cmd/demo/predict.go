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
	"github.com/cortado-ml/cortado/tensor"
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

// prediction is a line of -json.
type prediction struct {
	Image       string  `json:"image"`
	Class       string  `json:"class"`
	Index       int     `json:"index"`
	Probability float64 `json:"probability"`
}

// defaultModel is what training leaves when no flag says otherwise.
var defaultModel = filepath.Join("cortado-demo", "cnn.safetensors")

func predictCommand(ctx context.Context, args []string, out io.Writer) error {
	f := newFlags("predict", "[flags] IMAGE...", "Says what a trained model sees in pictures, PNG or JPEG. Models of Fashion-MNIST know light things on dark ground: use\n-invert for dark ones on light ground.")
	file := f.String("model-file", defaultModel, "the model, a `file` that training has saved")
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
			if err := json.NewEncoder(out).Encode(prediction{name, className(m.classes, list[0].class), list[0].class, list[0].probability}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(out, "%s:", name)
		for i, g := range list[:min(3, len(list))] {
			if i > 0 {
				fmt.Fprint(out, ",")
			}
			fmt.Fprintf(out, " %s %.1f %%", className(m.classes, g.class), 100*g.probability)
		}
		fmt.Fprintln(out)
	}
	return nil
}
