package main

import (
	"context"
	"fmt"
	"io"
	"math"
)

func generateCommand(ctx context.Context, args []string, out io.Writer) error {
	f := newFlags("generate", "[flags]", `Writes text by a model that has learned to, token by token. The model sees as many of the last tokens as it was trained with;
what lies further back, in a long prompt too, it has forgotten. The same flags give the same text.`)
	file := f.String("model-file", generateFile, "the model, a `file` that training has saved")
	prompt := f.String("prompt", "", "the `text` to go on from, of any characters; behind an empty one begins a paragraph")
	length := f.Int("length", 200, "tokens to write; one is two or three letters")
	temperature := f.Float64("temperature", 0.8, "how daring it is: 0 always takes the likeliest token, 1 draws as the model expects, more is wilder")
	top := f.Int("top-k", 0, "draw from that many of the likeliest tokens; 0 means from all")
	seed := f.Uint64("seed", 1, "of what is drawn")
	if err := parse(f, args, out, false); err != nil {
		return err
	}
	switch {
	case *length < 0 || *length > most:
		return usage("-length %d: want a number from 0 to %d", *length, most)
	case !(*temperature >= 0) || math.IsInf(*temperature, 0):
		return usage("-temperature %v: want 0 or a positive number", *temperature)
	case *top < 0:
		return usage("-top-k %d: want 0 or a positive number", *top)
	}
	m, err := loadModel(ctx, *file)
	if err != nil {
		return err
	}
	t, ok := m.task.(textTask)
	if !ok {
		return fmt.Errorf("%s: the model %s does not write: use demo predict", *file, m.name)
	}
	eng, closeAll, err := openEngine("cpu", 0)
	if err != nil {
		return err
	}
	defer closeAll()
	return t.author(eng, m.net, *temperature, *top, *seed).write(ctx, out, *prompt, *length)
}

// generateFile is the model that writes when no flag says otherwise.
var generateFile = usualFile("gpt")
