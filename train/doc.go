// Package train fits a model to data: the loop over batches and epochs, with validation, progress, checkpoints and resumption.
//
//	report, err := train.Fit(ctx, train.Config{
//		Engine: eng, Model: model, Loss: ops.CrossEntropy, Optimizer: &optim.AdamW{}, Epochs: 5, Batch: 64, Checkpoint: "run",
//	}, images)
//
// A run is a pure function of its data, its configuration and its seed: its losses and its model have the same bits at any number of threads,
// and when it is stopped anywhere, killed even, and resumed from its last checkpoint.
//
// Config.Observe is told what happens, as an Event: Progress makes one that writes for people. A checkpoint is a safetensors file with every
// variable of the model and the optimiser, which other programs read too.
//
// The package imports autograd, data, layers, ops, optim, sched, tensor and tensor/safetensors.
package train
