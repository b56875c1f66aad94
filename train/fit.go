package train

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/tensor"
)

// NotFiniteError ends a run whose loss is NaN or infinite. The model is of no use from that step on.
type NotFiniteError struct {
	Step int
	Loss float64
	Last string // the last good checkpoint, if there is one
}

func (e *NotFiniteError) Error() string {
	s := fmt.Sprintf("train: the loss is %v at step %d: lower the learning rate, or look for such values in the data", e.Loss, e.Step)
	if e.Last != "" {
		s += "; the last good checkpoint is " + e.Last
	}
	return s
}

// Fit trains a model on a data set. When ctx is done it stops after the step under way, writes a checkpoint if there is a folder for it, and
// returns ctx's error with the report so far.
func Fit(ctx context.Context, c Config, set data.Dataset) (*Report, error) {
	if err := c.check(set); err != nil {
		return nil, err
	}
	r, err := newRun(ctx, &c, set)
	if err != nil {
		return nil, err
	}
	err = r.loop(ctx)
	if stopped := context.Cause(ctx); err != nil && stopped != nil && errors.Is(err, stopped) {
		err = r.interrupted(ctx, err)
	}
	return &r.report, err
}

// run is a run of Fit under way.
type run struct {
	*Config
	set    data.Dataset
	loader data.Loader
	net    *layers.Net
	tape   *autograd.Tape
	report Report

	at    data.Position // of the next batch
	sum   float64       // of this epoch's losses, each times its samples
	seen  int           // samples of this epoch
	saved int           // the step of the last checkpoint
}

func newRun(ctx context.Context, c *Config, set data.Dataset) (*run, error) {
	if c.DType == tensor.None {
		c.DType = tensor.F32
	}
	if c.Observe == nil {
		c.Observe = func(Event) {}
	}
	x, _ := set.Specs()
	net, err := layers.Build(c.Model, tensor.SpecOf(x.DType, append([]int{c.Batch}, x.Shape.Dims()...)...), c.Seed, c.DType)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	c.Optimizer.Init(net.Params()...)
	r := &run{
		Config: c, set: set, net: net, tape: autograd.New(c.Engine, autograd.Seed(int64(c.Seed))), saved: -1,
		loader: data.Loader{Data: set, Batch: c.Batch, Shuffle: !c.KeepOrder, Seed: c.Seed, Transform: c.Transform},
	}
	r.report.Net = net
	if c.Checkpoint == "" {
		return r, nil
	}
	if c.Resume {
		return r, r.resume(ctx)
	}
	if err := r.setAside(); err != nil {
		return nil, fmt.Errorf("train: checkpoint: %w", err)
	}
	return r, nil
}

// steps is how many steps the run has in all.
func (r *run) steps() int {
	n := r.Epochs * r.loader.Len()
	if r.Epochs == 0 || r.Steps > 0 && r.Steps < n {
		n = r.Steps
	}
	return n
}

// finished reports whether there is nothing left to do.
func (r *run) finished() bool {
	return r.Steps > 0 && r.report.Steps >= r.Steps || r.Epochs > 0 && r.at.Epoch >= r.Epochs
}

func (r *run) loop(ctx context.Context) error {
	for !r.finished() {
		for b, err := range r.loader.Batches(ctx, r.at) {
			if err != nil {
				return fmt.Errorf("train: step %d: %w", r.report.Steps+1, err)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := r.step(context.WithoutCancel(ctx), b); err != nil { // a step happens whole
				return err
			}
			if r.at.Sample == 0 {
				if err := r.epoch(ctx); err != nil {
					return err
				}
			}
			if err := r.due(ctx); err != nil {
				return err
			}
			if r.finished() {
				break
			}
		}
	}
	if err := r.tape.Wait(ctx); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	if r.seen > 0 {
		r.report.Loss = r.sum / float64(r.seen)
	}
	return r.save(ctx)
}

// step trains on one batch.
func (r *run) step(ctx context.Context, b data.Batch) error {
	step := r.report.Steps + 1
	x, y := r.tape.Input("x", b.X, autograd.BatchAxis(0)), r.tape.Input("y", b.Y, autograd.BatchAxis(0))
	loss := r.Loss(r.net.Forward(r.tape, x, layers.Train), y)
	r.Optimizer.Update(r.tape, loss, r.net.Params()...)
	res, err := r.tape.Step(ctx, loss)
	if err != nil {
		return fmt.Errorf("train: step %d: %w", step, err)
	}
	l, err := res.Float(ctx, 0)
	if err != nil {
		return fmt.Errorf("train: step %d: %w", step, err)
	}
	res.Release()
	if math.IsNaN(l) || math.IsInf(l, 0) {
		return &NotFiniteError{Step: step, Loss: l, Last: r.report.Checkpoint}
	}
	r.report.Steps = step
	epoch := r.at.Epoch
	r.at = b.Next
	r.sum += l * float64(len(b.Index))
	r.seen += len(b.Index)
	r.Observe(Step{Step: step, Epoch: epoch + 1, Of: r.steps(), Loss: l, Size: len(b.Index)})
	return nil
}

// epoch ends an epoch: the position is at the start of the next one.
func (r *run) epoch(ctx context.Context) error {
	r.report.Epochs = r.at.Epoch
	r.report.Loss = r.sum / float64(r.seen)
	r.sum, r.seen = 0, 0
	if r.Validation != nil {
		v, err := Evaluate(ctx, r.Engine, r.net, r.Validation, r.Batch, r.Loss, r.Metrics...)
		if err != nil {
			return err
		}
		r.report.Validation = v
	}
	r.Observe(Epoch{Epoch: r.report.Epochs, Epochs: r.Epochs, Step: r.report.Steps, Loss: r.report.Loss, Validation: r.report.Validation})
	return nil
}

// due writes a checkpoint when it is time for one.
func (r *run) due(ctx context.Context) error {
	if r.CheckpointEvery > 0 && r.report.Steps%r.CheckpointEvery == 0 || r.CheckpointEvery == 0 && r.at.Sample == 0 {
		return r.save(ctx)
	}
	return nil
}

// interrupted writes a last checkpoint and says what has happened.
func (r *run) interrupted(ctx context.Context, cause error) error {
	if err := r.save(context.WithoutCancel(ctx)); err != nil {
		return errors.Join(cause, err)
	}
	err := fmt.Errorf("train: stopped after step %d: %w", r.report.Steps, context.Cause(ctx))
	if r.report.Checkpoint != "" {
		err = fmt.Errorf("%w; resume from %s", err, r.report.Checkpoint)
	}
	return err
}
