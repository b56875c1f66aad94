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
	Loss      func(predicted, y ops.Value) ops.Value // the mean over the batch, one number: ops.CrossEntropy
	Optimizer optim.Optimizer

	Batch      int
	Epochs     int            // epochs in all, also when resuming; 0 means as many as Steps take
	Steps      int            // steps in all at most; 0 means as many as Epochs take
	Seed       uint64         // of first values, order, augmentation and dropout
	DType      tensor.DType   // of the parameters; None means F32
	KeepOrder  bool           // do not shuffle
	Transform  data.Transform // changes training inputs at random
	Metrics    []Metric       // beside the loss, on the validation data
	Validation data.Dataset   // evaluated after each epoch; nil for none

	Checkpoint      string            // folder of checkpoints; empty for none
	CheckpointEvery int               // steps between checkpoints; 0 means one at the end of each epoch
	Resume          bool              // continue from the newest checkpoint in the folder that is whole, if there is one
	Metadata        map[string]string // kept in every checkpoint

	Observe func(Event) // is told what happens, on the caller's goroutine; nil for nobody
}

// Event is what happens in a run: a Step, an Epoch, a Saved, a Resumed, a Skipped or a SetAside.
type Event interface{ event() }

// Step is the end of a training step.
type Step struct {
	Step  int     // from 1
	Epoch int     // from 1
	Of    int     // steps in the run, as far as known
	Loss  float64 // of the batch, before the update
	Size  int     // samples in the batch
}

// Epoch is the end of an epoch.
type Epoch struct {
	Epoch      int // from 1
	Epochs     int // in the run, as far as known
	Step       int // steps so far
	Loss       float64
	Validation map[string]float64 // "loss" and the metrics; nil without validation data
}

// Saved says that a checkpoint has been written.
type Saved struct {
	Path string
	Step int
}

// Resumed says that the run continues from a checkpoint.
type Resumed struct {
	Path string
	Step int
	Note string // what differs from the run that wrote it, without harm: another level of instructions gives other bits
}

// Skipped says that a checkpoint is damaged and an older one is tried.
type Skipped struct {
	Path string
	Err  error
}

// SetAside says that the folder had checkpoints of an earlier run, which now lie in another one.
type SetAside struct{ Folder string }

func (Step) event()     {}
func (Epoch) event()    {}
func (Saved) event()    {}
func (Resumed) event()  {}
func (Skipped) event()  {}
func (SetAside) event() {}

// Report is the result of a run.
type Report struct {
	Net        *layers.Net        // the trained model
	Steps      int                // in all, those before a resumption too
	Epochs     int                // complete ones
	Loss       float64            // mean training loss of the last complete epoch, or of the steps since the last one
	Validation map[string]float64 // of the last complete epoch
	Checkpoint string             // the last one written, if any
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
	case set == nil || set.Len() == 0:
		return errors.New("train: the training data are empty")
	case c.Batch < 1:
		return fmt.Errorf("train: a batch of %d samples", c.Batch)
	case c.Epochs < 0 || c.Steps < 0 || c.CheckpointEvery < 0:
		return fmt.Errorf("train: %d epochs, %d steps, a checkpoint every %d: none may be negative", c.Epochs, c.Steps, c.CheckpointEvery)
	case c.Epochs == 0 && c.Steps == 0:
		return errors.New("train: Config.Epochs or Config.Steps is needed")
	case c.Checkpoint == "" && (c.Resume || c.CheckpointEvery > 0):
		return errors.New("train: Config.Checkpoint is needed: the folder to write to and to resume from")
	case c.Validation != nil && c.Validation.Len() == 0:
		return errors.New("train: the validation data are empty")
	}
	x, y := set.Specs()
	if y == (tensor.Spec{}) {
		return errors.New("train: the training data have no targets")
	}
	if c.Validation != nil {
		if vx, vy := c.Validation.Specs(); vx != x || vy != y {
			return fmt.Errorf("train: validation samples are %v and %v, training samples %v and %v", vx, vy, x, y)
		}
	}
	return nil
}
