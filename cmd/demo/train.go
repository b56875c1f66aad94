package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
	"github.com/cortado-ml/cortado/train"
)

// settings are the flags of training.
type settings struct {
	model, data, optimizer, schedule, out, devices string
	epochs, steps, batch, every                    int
	rate                                           float64
	seed                                           uint64
	resume, json                                   bool
}

func parseSettings(args []string, out io.Writer) (s settings, r recipe, err error) {
	f := newFlags("", "[flags]", "Trains a model on images and shows what it has learned. Without flags: a small CNN on a sample of Fashion-MNIST that\nthe program brings along. Other commands: predict, devices, summary, bench; each takes -h.")
	f.StringVar(&s.model, "model", "cnn", "the model: "+modelNames())
	f.StringVar(&s.data, "data", "fashion", "the images: fashion, or a folder with IDX files, or with one folder of pictures for each class")
	f.IntVar(&s.epochs, "epochs", 0, "passes over the data; 0 means what suits the model")
	f.IntVar(&s.steps, "steps", 0, "batches to train on at most; 0 means no limit")
	f.IntVar(&s.batch, "batch", 0, "images in a batch; 0 means what suits the model")
	f.Float64Var(&s.rate, "lr", 0, "learning rate; 0 means what suits the model")
	f.StringVar(&s.optimizer, "optimizer", "", "sgd, momentum, adam or adamw; empty means what suits the model")
	f.StringVar(&s.schedule, "schedule", "", "of the rate: constant, cosine or onecycle; empty means what suits the model")
	f.Uint64Var(&s.seed, "seed", 1, "of first values, order, augmentation and dropout")
	f.StringVar(&s.out, "out", "cortado-demo", "folder for checkpoints and the model")
	f.BoolVar(&s.resume, "resume", false, "continue from the newest checkpoint in the folder")
	f.IntVar(&s.every, "checkpoint-every", 0, "batches between checkpoints; 0 means one after each epoch")
	f.StringVar(&s.devices, "devices", "cpu", "devices to open, with commas between; the first one trains")
	f.BoolVar(&s.json, "json", false, "print one JSON object a line and nothing else")
	if err = parse(f, args, out, false); err != nil {
		return
	}
	if r, err = recipeOf(s.model); err != nil {
		return
	}
	switch {
	case s.epochs < 0 || s.steps < 0 || s.batch < 0 || s.every < 0:
		return s, r, usage("-epochs %d, -steps %d, -batch %d, -checkpoint-every %d: none may be negative", s.epochs, s.steps, s.batch, s.every)
	case s.rate < 0 || s.rate != s.rate:
		return s, r, usage("-lr %v: the rate is positive", s.rate)
	case s.out == "":
		return s, r, usage("-out is empty: want a folder")
	}
	for _, d := range []struct {
		set  *int
		to   int
		when bool
	}{{&s.epochs, r.epochs, s.epochs == 0}, {&s.batch, r.batch, s.batch == 0}} {
		if d.when {
			*d.set = d.to
		}
	}
	if s.rate == 0 {
		s.rate = r.rate
	}
	if s.optimizer == "" {
		s.optimizer = r.optimizer
	}
	if s.schedule == "" {
		s.schedule = r.schedule
	}
	return s, r, nil
}

func trainCommand(ctx context.Context, args []string, out, errOut io.Writer) error {
	start := time.Now()
	s, r, err := parseSettings(args, out)
	if err != nil {
		return err
	}
	set, err := openImages(s.data)
	if err != nil {
		return err
	}
	total := s.epochs * (data.Loader{Data: set.train, Batch: s.batch}).Len()
	if s.steps > 0 {
		total = min(total, s.steps)
	}
	schedule, err := scheduleOf(s.schedule, s.rate, total)
	if err != nil {
		return err
	}
	opt, err := optimizerOf(s.optimizer, schedule)
	if err != nil {
		return err
	}
	eng, closeAll, err := openEngine(s.devices, 0)
	if err != nil {
		return err
	}
	defer closeAll()
	c := train.Config{
		Engine: eng, Model: r.build(len(set.classes)), Loss: ops.CrossEntropy, Optimizer: opt, Batch: s.batch, Epochs: s.epochs, Steps: s.steps, Seed: s.seed,
		Transform: r.transform, Metrics: []train.Metric{train.Accuracy()}, Validation: set.test,
		Checkpoint: s.out, CheckpointEvery: s.every, Resume: s.resume, Metadata: map[string]string{"cortado.model": s.model},
	}
	if s.json {
		c.Observe = jsonEvents(out, start)
	} else {
		info := eng.Devices()[0].Info()
		x, _ := set.train.Specs()
		fmt.Fprintf(out, "%s, %s, on %d images %v; %s with %d threads of %s\n", s.model, r.what, set.train.Len(), x.Shape, info.ISA, info.Threads, info.Name)
		c.Observe = train.Progress(out)
	}
	report, err := train.Fit(ctx, c, set.train)
	if err != nil {
		return err
	}
	return finish(ctx, s, set, eng, report, start, out)
}

// finish judges the model, saves it and shows some of what it sees.
func finish(ctx context.Context, s settings, set imageSet, eng *sched.Engine, report *train.Report, start time.Time, out io.Writer) error {
	test := report.Validation
	if report.Epochs < s.epochs || test == nil { // the last epoch was cut short, or was over before a resumption
		var err error
		if test, err = train.Evaluate(ctx, eng, report.Net, set.test, s.batch, ops.CrossEntropy, train.Accuracy()); err != nil {
			return err
		}
	}
	path := filepath.Join(s.out, s.model+".safetensors")
	if err := saveModel(ctx, path, s.model, set, report.Net); err != nil {
		return err
	}
	if s.json {
		return json.NewEncoder(out).Encode(map[string]any{
			"event": "done", "model": s.model, "steps": report.Steps, "seconds": time.Since(start).Seconds(),
			"test": map[string]float64{"accuracy": test["accuracy"], "loss": test["loss"]}, "file": path,
		})
	}
	pictures, err := showSome(ctx, eng, report.Net, set)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\ntest accuracy %.2f %%, loss %.4f, on %d images that it has not trained on; %.1f s\nthe model is in %s\ntry: go run ./cmd/demo predict -model-file %s IMAGE.png\n",
		pictures, 100*test["accuracy"], test["loss"], set.test.Len(), time.Since(start).Seconds(), path, path)
	return nil
}

// Metadata of a model's file.
const (
	metaModel   = "cortado.model"
	metaClasses = "cortado.classes"
	metaInput   = "cortado.input"
)

// saveModel writes a model with what predict needs to know.
func saveModel(ctx context.Context, path, model string, set imageSet, net *layers.Net) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
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
	return safetensors.WriteFile(path, named, map[string]string{metaModel: model, metaClasses: string(classes), metaInput: string(input)})
}

// showSome draws some test images with what the model takes them for.
func showSome(ctx context.Context, eng *sched.Engine, net *layers.Net, set imageSet) (string, error) {
	const n = 4
	x, y := set.test.Specs()
	if x.Shape.Rank() != 3 || x.Shape.Dim(0) != 1 {
		return "", nil // no gray image to draw
	}
	var pictures [][]string
	var captions []string
	for i := range min(n, set.test.Len()) {
		img, label := tensor.New(x), tensor.New(y)
		if err := set.test.Sample(i*set.test.Len()/n, img, label); err != nil {
			return "", err
		}
		p, err := classify(ctx, eng, net, img)
		if err != nil {
			return "", err
		}
		mark := "ok"
		if int64(p[0].class) != label.Int(0) {
			mark = "no: " + className(set.classes, int(label.Int(0)))
		}
		pictures = append(pictures, draw(img))
		captions = append(captions, fmt.Sprintf("%s (%s)", className(set.classes, p[0].class), mark))
	}
	return beside(pictures, captions), nil
}

// classify runs a net on one image.
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

// jsonEvents prints events as JSON, one a line. A loss reads back to the same bits.
func jsonEvents(out io.Writer, start time.Time) func(train.Event) {
	enc := json.NewEncoder(out)
	return func(e train.Event) {
		line := map[string]any{"seconds": time.Since(start).Seconds()}
		switch e := e.(type) {
		case train.Step:
			line["event"], line["step"], line["epoch"], line["loss"] = "step", e.Step, e.Epoch, e.Loss
		case train.Epoch:
			line["event"], line["epoch"], line["step"], line["loss"], line["validation"] = "epoch", e.Epoch, e.Step, e.Loss, e.Validation
		case train.Saved:
			line["event"], line["step"], line["file"] = "checkpoint", e.Step, e.Path
		case train.Resumed:
			line["event"], line["step"], line["file"] = "resumed", e.Step, e.Path
			if e.Note != "" {
				line["note"] = e.Note
			}
		case train.Skipped:
			line["event"], line["file"], line["error"] = "damaged", e.Path, e.Err.Error()
		case train.SetAside:
			line["event"], line["folder"] = "set-aside", e.Folder
		}
		if err := enc.Encode(line); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		}
	}
}
