package main

import "github.com/cortado-ml/cortado/optim"

// scheduleOf is the rate over the steps of a run.
func scheduleOf(name string, rate float64, steps, warmup int) (optim.Schedule, error) {
	switch name {
	case "constant":
		return optim.Constant{LR: rate}, nil
	case "cosine":
		return optim.Cosine{LR: rate, Steps: steps, Warmup: min(warmup, steps/10)}, nil
	case "onecycle":
		return optim.OneCycle{Max: rate, Steps: steps}, nil
	}
	return nil, usage("there is no schedule %q: there are constant, cosine, onecycle", name)
}

// optimizerOf is an optimiser with a schedule, and with the decay of weights if it is adamw; 0 is the usual one.
func optimizerOf(name string, s optim.Schedule, decay float64) (optim.Optimizer, error) {
	switch name {
	case "sgd":
		return &optim.SGD{Schedule: s}, nil
	case "momentum":
		return &optim.SGD{Schedule: s, Momentum: 0.9, Nesterov: true}, nil
	case "adam":
		return &optim.Adam{Schedule: s}, nil
	case "adamw":
		return &optim.AdamW{Schedule: s, WeightDecay: decay}, nil
	}
	return nil, usage("there is no optimizer %q: there are sgd, momentum, adam, adamw", name)
}
