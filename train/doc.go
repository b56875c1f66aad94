// Package train fits a model to data: the loop over batches and epochs, with validation, progress, checkpoints and resumption.
//
//	report, err := train.Fit(ctx, train.Config{
//		Engine: eng, Model: model, Loss: ops.CrossEntropy, Optimizer: &optim.AdamW{}, Epochs: 5, Batch: 64, Checkpoint: "run",
//	}, images)
//
// [FitBatches] takes batches of other kinds: data.Buckets of sequences that are padded, a data.Stream of what is larger than memory. A nil context
// counts as context.Background.
//
// A run is a pure function of its data, its configuration and its seed: its losses and its model have the same bits at any number of threads,
// and when it is stopped anywhere, killed even, and resumed from its last checkpoint.
//
// # Padding
//
// A [Loss] over padded batches sees by the targets what is padding: data.Padding fills them with a label that it ignores, and it says by [MeanOf] how
// many labels have counted, as [CrossEntropy] does. Epochs, accumulated gradients and validation then weigh batches by what counts in them. A
// batch of which nothing counts has no gradient and no weight. The layers see by layers.Context.Lengths, which is data.Batch.Lengths, where the samples
// of such a batch end.
//
// # Fine-tuning
//
// Config.Prepare loads a pretrained model into the net, and freezes what is not to be trained. [LoadModel] takes the model from a checkpoint, from
// Report.Best say; layers.Net.LoadFile takes PyTorch's.
//
// # Accumulation
//
// With Config.Accumulate K batches make one step: it takes the mean of all their samples, as one batch of them would. The last step of an epoch has
// the batches that are left, and weighs by them alone. Checkpoints are written between steps. A program is compiled for each shape of batch at
// each place: first, between, last.
//
// # Metrics
//
// A [Metric] is computed over the whole validation set: [Accuracy], [TopK], [F1], [Confusion], [Perplexity], [MSE], [MAE] and any [Mean].
// [Evaluate] computes them for a net of any origin, and [Predict] what the net says of each sample.
//
// # Stopping
//
// Config.EarlyStopping ends a run that gets no better, Config.KeepBest keeps the checkpoint of its best epoch. A callback that returns ErrStop ends it
// after the step under way; so does the end of the context, which is an error. Without KeepBest the best model is lost: Report.Net is the last one.
//
// # Averages
//
// Where Config.Optimizer has an optim.EMA, validation and with it KeepBest are of the averages, and Report.Net has the values of the last step. What was
// evaluated is saved so, or loaded from a checkpoint by [LoadModel]:
//
//	err := optim.AverageOf(optimizer).With(ctx, func() error { return report.Net.SaveFile(ctx, path, nil) })
//
// # Logs
//
// Config.Log is a file of JSON lines and Config.TensorBoard a folder of event files with the numbers of each step and each epoch. A run that is resumed
// goes on with them, without a step twice.
//
// Config.Observe is told what happens, as an Event: Progress makes one that writes for people. A checkpoint is a safetensors file with every
// variable of the model and the optimiser, which other programs read too.
//
// The package imports autograd, data, layers, ops, optim, sched, tensor, tensor/safetensors,
// train/jsonl and train/tensorboard.
package train
