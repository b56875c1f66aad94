package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// kind is a kind of data, with all that the demo does in its own way for it. Each has a file: image.go and its neighbours.
type kind struct {
	name    string            // as the metadata of a model's file have it
	data    string            // what -data names if it is left out
	recipes map[string]recipe // the models for it
	// open opens the data that -data names, cut as the recipe has it.
	open func(name string, r recipe) (corpus, error)
	// restore makes a task of the metadata that it once gave.
	restore func(meta map[string]string) (task, error)
}

// kinds are all of them. A model of a name that several have is that of the first, unless -data says otherwise.
func kinds() []*kind { return []*kind{&imageKind, &textKind, &soundKind, &tableKind} }

// task is what a model is for, as far as the model's file has to know it: the classes of images and their size, say, but no images.
type task interface {
	// input is one sample, and outputs how many numbers the last layer makes of it, or of each token.
	input() tensor.Spec
	outputs() int
	// loss is what is trained, the mean over a batch, and metrics what else is told after each epoch.
	loss(predicted, y ops.Value) ops.Value
	metrics() []train.Metric
	// metadata go into the model's file.
	metadata() map[string]string
	// show tells people what has been learned.
	show(ctx context.Context, out io.Writer, r result) error
}

// corpus is a task with the data to learn it from.
type corpus struct {
	task
	train, test data.Dataset
	what        string // how much there is, for people
}

// result is what training has come to.
type result struct {
	*train.Report
	corpus
	eng     *sched.Engine
	path    string  // of the model's file
	seconds float64 // since the program started
}

// modelFlag is the flag that names the model's file to a command, unless that is the file which it looks for anyway.
func (r result) modelFlag(usual string) string {
	if r.path == usual {
		return ""
	}
	return "-model-file " + r.path + " "
}

// usualFile is where training leaves a model when no flag says otherwise.
func usualFile(model string) string { return filepath.Join("cortado-demo", model+".safetensors") }

// predictor is a task whose models judge a file.
type predictor interface {
	// predict tells what the model makes of it.
	predict(ctx context.Context, p *predicting, file string) error
}

// recipe is a model with the settings that it trains well with.
type recipe struct {
	what      string
	build     func(outputs int) layers.Module
	epochs    int
	batch     int
	rate      float64
	optimizer string
	schedule  string
	decay     float64 // of weights, by adamw; 0 means 0.01
	transform data.Transform
	warmup    int // steps until a cosine has reached the rate

	// Of models of text:
	tokens int // kinds of tokens
	window int // tokens that the model sees
	passes int // windows that each token is in, in an epoch

	// Of models of tables:
	target string   // the column to be learned; empty means the last
	skip   []string // columns that are left out
}

// modelNames are the known models, for messages.
func modelNames() string {
	names := map[string]bool{}
	for _, k := range kinds() {
		for name := range k.recipes {
			names[name] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// recipeOf is the recipe of a model, or of what suits the data if none is named, and the kind of data that it is for.
func recipeOf(model, data string) (name string, k *kind, r recipe, err error) {
	isTable := strings.HasPrefix(data, csvPrefix)
	if name = model; name == "" {
		name = "cnn"
		if isTable {
			name = "mlp"
		}
	}
	known := false
	for _, k := range kinds() {
		r, ok := k.recipes[name]
		if ok && isTable == (k == &tableKind) {
			return name, k, r, nil
		}
		known = known || ok
	}
	if known {
		return name, nil, r, usage("the model %s is not for tables: mlp is", name)
	}
	return name, nil, r, usage("there is no model %q: there are %s", name, modelNames())
}

// recipeOfFile is the recipe of the model in a file of that metadata.
func recipeOfFile(meta map[string]string) (*kind, recipe, error) {
	for _, k := range kinds() {
		if k.name != meta[metaKind] {
			continue
		}
		if r, ok := k.recipes[meta[metaModel]]; ok {
			return k, r, nil
		}
	}
	return nil, recipe{}, fmt.Errorf("it is no model of the demo: its metadata name the model %q of kind %q, and there are %s", meta[metaModel], meta[metaKind], modelNames())
}
