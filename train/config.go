package train

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// Config says how to train. Engine, Model, Loss, Optimizer and Epochs or Steps are needed, and for Fit Batch.
type Config struct {
	Engine    *sched.Engine
	Model     layers.Module
	Loss      Loss            // ops.CrossEntropy, say
	Optimizer optim.Optimizer // a new one, which has trained nothing yet. Where there is an optim.EMA its averages are what is evaluated

	// Prepare is given the net when it has its first values: to load those of a pretrained model, by LoadModel or layers.Net.Load, and to take
	// parameters out of training, by layers.Net.Freeze. What is frozen then has no state in the optimizer. A run that is resumed is prepared too, before it
	// takes its values from the checkpoint: it must freeze the same. Nil does nothing; an error ends Fit.
	Prepare func(net *layers.Net) error

	Batch     int            // samples in a batch; beyond the data, each epoch is one short batch
	KeepOrder bool           // do not shuffle
	Transform data.Transform // changes training inputs at random
	// Batch, KeepOrder and Transform are for Fit alone: the batches of FitBatches have their own.

	Epochs     int    // epochs in all, also when resuming; 0 means as many as Steps take
	Steps      int    // steps in all at most; 0 means as many as Epochs take
	Seed       uint64 // of first values, order, augmentation and dropout
	Accumulate int    // batches whose gradients make one step; 0 means 1. See package documentation

	// DType is the type of the parameters and of what layers compute; None means F32. Inputs that are floats of another type are cast to it. The loss and
	// the metrics are computed in float32 at least: predictions of 16 bits are cast before, and targets that are floats to the type of the predictions.
	DType tensor.DType

	Metrics           []Metric     // beside the loss, on the validation data
	Validation        data.Dataset // evaluated after each epoch and at the end, in batches of Batch samples; nil for none
	ValidationBatches data.Batches // instead of Validation; their first epoch counts, each time

	LimitBatches    int // batches in an epoch at most, of its order; 0 means all
	LimitValidation int // batches that are evaluated at most; 0 means all
	OverfitBatches  int // train on the first batches of the first epoch alone, again and again: a model that cannot learn those by heart has a fault; 0 means all

	Checkpoint      string            // folder of checkpoints; empty for none
	CheckpointEvery int               // steps between checkpoints; 0 means one at the end of each epoch. The end of the run has one in any case
	Keep            int               // how many of the newest checkpoints are kept; 0 means 3
	Resume          bool              // continue from the newest checkpoint in the folder that is whole, if there is one
	Metadata        map[string]string // kept in every checkpoint; what differs when a run is resumed is told in the event Resumed

	// Monitor names the number that tells whether the model gets better, by KeepBest and EarlyStopping: one of the validation, or without that the
	// loss of training. Empty means "loss". Less is better, unless Metric.Maximize says otherwise, as it does of Accuracy, TopK, F1 and Confusion.
	Monitor       string
	KeepBest      bool           // keep the checkpoint of the best epoch as best.safetensors, which LoadModel loads, with its averages where there is an optim.EMA
	EarlyStopping *EarlyStopping // ends the run when it gets no better; nil for never. Report.Net is the last model then: KeepBest keeps the best

	// Observe is told what happens, on the caller's goroutine; nil for nobody. Callbacks are told the same, after it, and may end the run by an error,
	// which Fit returns; ErrStop ends it as its last step would. What they do cannot change the numbers of a run: they get no hold of it.
	Observe   func(Event)
	Callbacks []func(Event) error

	Log         string // file for a line of JSON for each step and each epoch (package jsonl); empty for none
	TensorBoard string // folder for an event file that TensorBoard shows; empty for none

	// DetectAnomaly looks at each step before it happens, and where the loss or a variable would be no number, it finds the operation where that
	// begins: see NotFiniteError.Origin. It changes no bit of the run, and takes about twice the time; at the failing step it holds all values of
	// the step in memory.
	DetectAnomaly bool
}

// Report is the result of a run.
type Report struct {
	Net        *layers.Net        // the trained model, as the last step has left it: not the best, and not the averages of an optim.EMA. See Best
	Steps      int                // in all, those before a resumption too
	Epochs     int                // complete ones
	Loss       float64            // mean training loss of the last epoch, whether it was complete or not
	Validation map[string]float64 // "loss" and the metrics, at the end of that epoch; nil without validation data
	Checkpoint string             // the last one written or resumed from, if any: LoadModel takes the model from it
	Best       string             // the checkpoint of the best epoch, if Config.KeepBest: LoadModel(ctx, report.Best, report.Net) goes back to that model
	Stopped    string             // why the run ended before its last step: no improvement, or ErrStop; empty if it did not
}

// check names what is missing or makes no sense.
func (c *Config) check() error {
	switch {
	case c.Engine == nil:
		return errors.New("train: Config.Engine is needed: sched.New(device)")
	case c.Model == nil:
		return errors.New("train: Config.Model is needed")
	case c.Loss == nil:
		return errors.New("train: Config.Loss is needed: ops.CrossEntropy, say")
	case c.Optimizer == nil || reflect.ValueOf(c.Optimizer).Kind() == reflect.Pointer && reflect.ValueOf(c.Optimizer).IsNil():
		return errors.New("train: Config.Optimizer is needed: &optim.AdamW{}, say")
	case c.Epochs == 0 && c.Steps == 0:
		return errors.New("train: Config.Epochs or Config.Steps is needed")
	case c.Checkpoint == "" && (c.Resume || c.CheckpointEvery > 0):
		return errors.New("train: Config.Checkpoint is needed: the folder to write to and to resume from")
	case c.Validation != nil && c.ValidationBatches != nil:
		return errors.New("train: Config has both Validation and ValidationBatches: want one of them")
	case c.LimitBatches > 0 && c.OverfitBatches > 0:
		return errors.New("train: Config has both LimitBatches and OverfitBatches: want one of them")
	}
	if err := c.checkMonitor(); err != nil {
		return err
	}
	for i, f := range c.Callbacks {
		if f == nil {
			return fmt.Errorf("train: Config.Callbacks[%d] is nil", i)
		}
	}
	for _, f := range []struct {
		name string
		n    int
	}{
		{"Epochs", c.Epochs}, {"Steps", c.Steps}, {"CheckpointEvery", c.CheckpointEvery}, {"Accumulate", c.Accumulate}, {"Keep", c.Keep},
		{"LimitBatches", c.LimitBatches}, {"LimitValidation", c.LimitValidation}, {"OverfitBatches", c.OverfitBatches},
	} {
		if f.n < 0 {
			return fmt.Errorf("train: Config.%s is %d: it may not be negative", f.name, f.n)
		}
	}
	return checkMetrics(c.Metrics)
}

// validation is what is to be evaluated, nil for nothing.
func (c *Config) validation(batch int) data.Batches {
	if c.Validation == nil {
		return c.ValidationBatches
	}
	return data.Loader{Data: c.Validation, Batch: min(batch, max(1, c.Validation.Len()))}
}

func errEmpty(what string) error { return fmt.Errorf("train: the %s data are empty", what) }

// layoutOf is what is known of batches, and refuses those that nothing can be learned from.
func layoutOf(what string, b data.Batches) (data.Layout, error) {
	if b == nil {
		return data.Layout{}, errEmpty(what)
	}
	if l, ok := b.(data.Loader); ok && (l.Data == nil || l.Data.Len() == 0) {
		return data.Layout{}, errEmpty(what)
	}
	layout, err := b.Layout()
	if err != nil {
		return layout, fmt.Errorf("train: the %s data: %w", what, err)
	}
	for _, s := range layout.Shapes {
		if s.Y == (tensor.Spec{}) {
			return layout, fmt.Errorf("train: the %s data have no targets", what)
		}
	}
	return layout, nil
}
