package train_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// TestPrepare starts from a model in a file, of which all but the head is frozen: what is frozen keeps its bits and has no state in the optimizer, and
// a run that is resumed ends with the same bits.
func TestPrepare(t *testing.T) {
	set := squares(t, samples, 1)
	pretrained := filepath.Join(t.TempDir(), "model.safetensors")
	before := mustFit(t, config(t), set).report.Net
	if err := before.SaveFile(t.Context(), pretrained, nil); err != nil {
		t.Fatal(err)
	}
	setup := func(folder string) train.Config {
		c := config(t)
		c.Seed, c.Checkpoint, c.Resume = 9, folder, true
		c.Prepare = func(net *layers.Net) error {
			return errors.Join(train.LoadModel(t.Context(), pretrained, net), net.Freeze("0", "1"))
		}
		return c
	}
	c := setup(t.TempDir())
	whole := mustFit(t, c, set)
	for _, v := range c.Optimizer.State() {
		if n := v.Name(); strings.HasPrefix(n, "0.") || strings.HasPrefix(n, "1.") {
			t.Errorf("the optimizer has %s", n)
		}
	}
	same := 0
	for i, v := range whole.report.Net.State() {
		x, err := v.Value(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		y, err := before.State()[i].Value(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if x.Same(y) {
			same++
		} else if !strings.HasPrefix(v.Name(), "6.") && !strings.Contains(v.Name(), "running") {
			t.Errorf("%s has changed", v.Name())
		}
	}
	if same != 4 { // weights and biases of the convolution and the batch-norm
		t.Errorf("%d variables are as they were", same)
	}
	folder := t.TempDir()
	ctx, end := stopAt(t, 5)
	fit(ctx, setup(folder), set, end)
	resumed := mustFit(t, setup(folder), set)
	sameState(t, resumed.report.Net, whole.report.Net)
	if r := last[train.Resumed](resumed.events); r.Step != 5 {
		t.Errorf("resumed after step %d", r.Step)
	}
}

// TestPrepareFails ends Fit before its first step.
func TestPrepareFails(t *testing.T) {
	for want, prepare := range map[string]func(*layers.Net) error{
		"train: Config.Prepare: layers: freeze: no parameter is called": func(net *layers.Net) error { return net.Freeze("haed") },
		"train: there is nothing to train":                              func(net *layers.Net) error { return net.Freeze("*") },
	} {
		c := config(t)
		c.Prepare = prepare
		if r := fit(t.Context(), c, squares(t, samples, 1), nil); r.err == nil || !strings.HasPrefix(r.err.Error(), want) || len(r.losses) > 0 {
			t.Errorf("%v, want %s", r.err, want)
		}
	}
}

// TestLoadModel goes back to the best epoch: what it loads has the numbers of validation that this epoch had, also where these were of averages.
func TestLoadModel(t *testing.T) {
	set := squares(t, samples, 1)
	for _, average := range []bool{false, true} {
		c := config(t)
		c.Checkpoint, c.KeepBest, c.LimitBatches = t.TempDir(), true, 1
		c.Optimizer = &optim.AdamW{LR: 0.05}
		if average {
			c.Optimizer = &optim.EMA{Optimizer: c.Optimizer, Decay: 0.5}
		}
		r := mustFit(t, c, set)
		var best train.Epoch
		for _, e := range r.ends {
			if e.Step == last[train.SavedBest](r.events).Step {
				best = e
			}
		}
		net := r.report.Net
		if err := train.LoadModel(t.Context(), r.report.Best, net); err != nil {
			t.Fatal(err)
		}
		got, err := train.Evaluate(t.Context(), c.Engine, net, c.Validation, batch, c.Loss, c.Metrics...)
		if err != nil || got["loss"] != best.Validation["loss"] || got["accuracy"] != best.Validation["accuracy"] {
			t.Errorf("averages %v: %v, %v, want %v", average, got, err, best.Validation)
		}
		path := filepath.Join(t.TempDir(), "model.safetensors")
		if err := net.SaveFile(t.Context(), path, nil); err != nil {
			t.Fatal(err)
		}
		fresh, err := layers.Build(small, tensor.SpecOf(tensor.F32, 1, 1, 8, 8), 3, tensor.F32)
		if err != nil {
			t.Fatal(err)
		}
		if err := train.LoadModel(t.Context(), path, fresh); err != nil {
			t.Fatal(err)
		}
		sameState(t, fresh, net)
		if err := net.LoadFile(t.Context(), r.report.Best); err == nil || !strings.Contains(err.Error(), "it is a checkpoint") || !strings.Contains(err.Error(), "train.LoadModel") ||
			strings.Count(err.Error(), "layers:") != 1 {
			t.Errorf("LoadFile of a checkpoint: %v", err)
		}
	}
}

// TestLoadModelFails says what does not fit, once.
func TestLoadModelFails(t *testing.T) {
	c := config(t)
	c.Checkpoint = t.TempDir()
	r := mustFit(t, c, squares(t, samples, 1))
	other, err := layers.Build(layers.Sequential{layers.Flatten{}, layers.Linear{Out: 3}}, tensor.SpecOf(tensor.F32, 1, 1, 8, 8), 3, tensor.F32)
	if err != nil {
		t.Fatal(err)
	}
	var differs *layers.StateError
	err = train.LoadModel(t.Context(), r.report.Checkpoint, other)
	if !errors.As(err, &differs) || len(differs.Misfits) != 2 || len(differs.Unexpected) != 6 {
		t.Errorf("another model: %v", err)
	}
	if err := train.LoadModel(t.Context(), r.report.Checkpoint, nil); err == nil {
		t.Error("no net: no error")
	}
	if err := train.LoadModel(t.Context(), "nowhere", other); err == nil || !strings.HasPrefix(err.Error(), "train: layers: ") {
		t.Errorf("no file: %v", err)
	}
}
