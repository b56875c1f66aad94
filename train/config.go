package train

import (
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// Config says how to train. Engine, Model, Loss, Optimizer, Batch and Epochs or Steps are needed.
type Config struct {
	Engine    *sched.Engine
	Model     layers.Module
	Loss      func(predicted, y ops.Value) ops.Value // the mean over the batch, one number: ops.CrossEntropy. For a loss by Sub y has the shape of predicted: [n 1] minus [n] is [n n]
	Optimizer optim.Optimizer                        // a new one, which has trained nothing yet

	Batch      int            // samples in a batch; beyond the data, each epoch is one short batch
	Epochs     int            // epochs in all, also when resuming; 0 means as many as Steps take
	Steps      int            // steps in all at most; 0 means as many as Epochs take
	Seed       uint64         // of first values, order, augmentation and dropout
	DType      tensor.DType   // of the parameters; None means F32
	KeepOrder  bool           // do not shuffle
	Transform  data.Transform // changes training inputs at random
	Metrics    []Metric       // beside the loss, on the validation data
	Validation data.Dataset   // evaluated after each epoch and at the end; nil for none

	Checkpoint      string            // folder of checkpoints, of which the newest three are kept; empty for none
	CheckpointEvery int               // steps between checkpoints; 0 means one at the end of each epoch. The end of the run has one in any case
	Resume          bool              // continue from the newest checkpoint in the folder that is whole, if there is one
	Metadata        map[string]string // kept in every checkpoint; what differs when a run is resumed is told in the event Resumed

	Observe func(Event) // is told what happens, on the caller's goroutine; nil for nobody
}

// Report is the result of a run.
type Report struct {
	Net        *layers.Net        // the trained model
	Steps      int                // in all, those before a resumption too
	Epochs     int                // complete ones
	Loss       float64            // mean training loss of the last epoch, whether it was complete or not
	Validation map[string]float64 // "loss" and the metrics, at the end of that epoch; nil without validation data
	Checkpoint string             // the last one written or resumed from, if any
}

// check names what is missing or makes no sense.
func (c *Config) check(set data.Dataset) error {
	switch {
	case c.Engine == nil:
		return errors.New("train: Config.Engine is needed: sched.New(device)")
	case c.Model == nil:
		return errors.New("train: Config.Model is needed")
	case c.Loss == nil:
		return errors.New("train: Config.Loss is needed: ops.CrossEntropy, say")
	case c.Optimizer == nil:
		return errors.New("train: Config.Optimizer is needed: &optim.AdamW{}, say")
	case c.Batch < 1:
		return fmt.Errorf("train: Config.Batch is %d: a batch has one sample at least", c.Batch)
	case c.Epochs < 0 || c.Steps < 0 || c.CheckpointEvery < 0:
		return fmt.Errorf("train: Config has %d Epochs, %d Steps, CheckpointEvery %d: none may be negative", c.Epochs, c.Steps, c.CheckpointEvery)
	case c.Epochs == 0 && c.Steps == 0:
		return errors.New("train: Config.Epochs or Config.Steps is needed")
	case c.Checkpoint == "" && (c.Resume || c.CheckpointEvery > 0):
		return errors.New("train: Config.Checkpoint is needed: the folder to write to and to resume from")
	}
	if err := checkData("training", set); err != nil {
		return err
	}
	if c.Validation == nil {
		return nil
	}
	if err := checkData("validation", c.Validation); err != nil {
		return err
	}
	if err := checkMetrics(c.Metrics); err != nil {
		return err
	}
	x, y := set.Specs()
	if vx, vy := c.Validation.Specs(); vx != x || vy != y {
		return fmt.Errorf("train: validation samples are %v and %v, training samples %v and %v", vx, vy, x, y)
	}
	return nil
}

// checkData refuses data that nothing can be learned from.
func checkData(what string, set data.Dataset) error {
	if set == nil || set.Len() == 0 {
		return fmt.Errorf("train: the %s data are empty", what)
	}
	if _, y := set.Specs(); y == (tensor.Spec{}) {
		return fmt.Errorf("train: the %s data have no targets", what)
	}
	return nil
}
