package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
)

// recipe is a model with the settings that it trains well with.
type recipe struct {
	what      string
	build     func(classes int) layers.Module
	epochs    int
	batch     int
	rate      float64
	optimizer string
	schedule  string
	transform data.Transform
}

// recipes are the models that the demo knows.
var recipes = map[string]recipe{
	"mlp": {
		what: "one hidden layer of 128",
		build: func(classes int) layers.Module {
			return layers.Sequential{layers.Flatten{}, layers.Linear{Out: 128}, layers.ReLU{}, layers.Linear{Out: classes}}
		},
		epochs: 5, batch: 64, rate: 1e-3, optimizer: "adam", schedule: "constant",
	},
	"cnn": {
		what: "two convolutions with batch-norm",
		build: func(classes int) layers.Module {
			return layers.Sequential{
				layers.Func(standardize),
				layers.Conv2D{Out: 32, Kernel: 3, Padding: layers.Same}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
				layers.Conv2D{Out: 32, Kernel: 3, Padding: layers.Same}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
				layers.Flatten{}, layers.Dropout{P: 0.3},
				layers.Linear{Out: classes, Init: layers.Zeros, BiasInit: layers.Zeros}, // so the first loss is that of a guess
			}
		},
		epochs: 8, batch: 32, rate: 4e-3, optimizer: "adamw", schedule: "onecycle", transform: data.FlipHorizontal,
	},
}

// standardize brings pixels from 0 to 1 to mean 0 and deviation 1, as those of Fashion-MNIST have.
func standardize(_ *layers.Context, x ops.Value) ops.Value { return x.Shift(-0.286).Scale(1 / 0.353) }

// modelNames are the known models, for messages.
func modelNames() string { return strings.Join(slices.Sorted(maps.Keys(recipes)), ", ") }

func recipeOf(model string) (recipe, error) {
	r, ok := recipes[model]
	if !ok {
		return r, usage("there is no model %q: there are %s", model, modelNames())
	}
	return r, nil
}

// scheduleOf is the rate over the steps of a run.
func scheduleOf(name string, rate float64, steps int) (optim.Schedule, error) {
	switch name {
	case "constant":
		return optim.Constant{LR: rate}, nil
	case "cosine":
		return optim.Cosine{LR: rate, Steps: steps}, nil
	case "onecycle":
		return optim.OneCycle{Max: rate, Steps: steps}, nil
	}
	return nil, usage("there is no schedule %q: there are constant, cosine, onecycle", name)
}

// optimizerOf is an optimiser with a schedule.
func optimizerOf(name string, s optim.Schedule) (optim.Optimizer, error) {
	switch name {
	case "sgd":
		return &optim.SGD{Schedule: s}, nil
	case "momentum":
		return &optim.SGD{Schedule: s, Momentum: 0.9, Nesterov: true}, nil
	case "adam":
		return &optim.Adam{Schedule: s}, nil
	case "adamw":
		return &optim.AdamW{Schedule: s}, nil
	}
	return nil, usage("there is no optimizer %q: there are sgd, momentum, adam, adamw", name)
}

// className is the name of a class, or its number.
func className(classes []string, i int) string {
	if i >= 0 && i < len(classes) {
		return classes[i]
	}
	return fmt.Sprint("class ", i)
}
