// Package train fits a model to data: the loop over batches and epochs, with validation, progress, checkpoints and resumption.
//
//	report, err := train.Fit(ctx, train.Config{
//		Engine: eng, Model: model, Loss: ops.CrossEntropy, Optimizer: &optim.AdamW{}, Epochs: 5, Batch: 64, Checkpoint: "run",
//	}, images)
//
// A run is a pure function of its data, its configuration and its seed: the same at any number of threads, and when it is stopped anywhere
// and resumed from its last checkpoint.
//
// The package imports autograd, data, layers, ops, optim, sched and tensor.
package train
