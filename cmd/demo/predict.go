package main

import (
	"context"
	"fmt"
	"io"

	"github.com/cortado-ml/cortado/sched"
)

// predicting is a run of the command: what it goes by, for each file.
type predicting struct {
	model
	eng    *sched.Engine
	out    io.Writer
	json   bool
	invert bool
	begun  bool // the head of a table has been printed
}

// predictFile is the model that is asked when no flag says otherwise.
var predictFile = usualFile("cnn")

func predictCommand(ctx context.Context, args []string, out io.Writer) error {
	f := newFlags("predict", "[flags] FILE...", "Says what a trained model makes of files: what it sees in pictures, PNG or JPEG, or hears in sounds, WAV; for\nrows of a table, CSV, it prints a table of predictions. Models of Fashion-MNIST know light things on dark ground: use -invert for dark ones on light ground.")
	p := predicting{out: out}
	file := f.String("model-file", predictFile, "the model, a `file` that training has saved")
	f.BoolVar(&p.invert, "invert", false, "turn light into dark, in pictures")
	f.BoolVar(&p.json, "json", false, "print one JSON object a line")
	if err := parse(f, args, out, true); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return usage("predict: which FILE?")
	}
	var err error
	if p.model, err = loadModel(ctx, *file); err != nil {
		return err
	}
	t, ok := p.task.(predictor)
	if !ok {
		return fmt.Errorf("%s: it is a model of text, which writes: use demo generate", *file)
	}
	if _, ok := t.(imageTask); p.invert && !ok {
		return usage("-invert is for pictures, and %s is no model of them", *file)
	}
	eng, closeAll, err := openEngine("cpu", 0)
	if err != nil {
		return err
	}
	defer closeAll()
	p.eng = eng
	for _, name := range f.Args() {
		if err := t.predict(ctx, &p, name); err != nil {
			return err
		}
	}
	return nil
}
