package train

import (
	"context"
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Fit trains a model on a data set. What can be found wrong is found before the first step: shapes, the size of the last batch, a folder
// that cannot be written to, a checkpoint of another model.
//
// When ctx is done, Fit stops after the step under way and returns an error that wraps ctx's. This and every other error but a
// *NotFiniteError leave a checkpoint behind, if there is a folder for it, and come with the report so far.
func Fit(ctx context.Context, c Config, set data.Dataset) (*Report, error) {
	if err := c.check(set); err != nil {
		return nil, err
	}
	r, err := newRun(&c, set)
	if err != nil {
		return nil, err
	}
	if c.Checkpoint != "" {
		release, err := r.openFolder(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	if err = r.loop(ctx); err != nil {
		err = r.explain(ctx, err)
	}
	r.Observe(Ended{err})
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
	seen  int           // samples of this epoch; not 0 at the start of an epoch means that the one before has not been judged
	last  float64       // the loss of the last step
	saved int           // the step of the last checkpoint
}

func newRun(c *Config, set data.Dataset) (*run, error) {
	if c.DType == tensor.None {
		c.DType = tensor.F32
	}
	if c.Observe == nil {
		c.Observe = func(Event) {}
	}
	x, _ := set.Specs()
	net, err := layers.Build(c.Model, batchOf(x, 1), c.Seed, c.DType)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	r := &run{
		Config: c, set: set, net: net, tape: autograd.New(c.Engine, autograd.Seed(int64(c.Seed))), report: Report{Net: net},
		loader: data.Loader{Data: set, Batch: min(c.Batch, set.Len()), Shuffle: !c.KeepOrder, Seed: c.Seed, Transform: c.Transform},
	}
	if err := r.rehearse(); err != nil {
		return nil, err
	}
	c.Optimizer.Init(net.Params()...)
	return r, r.checkNames()
}

// batchOf is the spec of n samples.
func batchOf(sample tensor.Spec, n int) tensor.Spec {
	return tensor.SpecOf(sample.DType, append([]int{n}, sample.Shape.Dims()...)...)
}

// rehearse records the forward pass, the loss and the metrics of a full batch and of the last one of an epoch, and runs nothing: a
// batch-norm that cannot take a last batch of one sample, or a metric for other targets, says so now, not at the end of the first epoch.
func (r *run) rehearse() error {
	x, y := r.set.Specs()
	sizes := []int{r.loader.Batch}
	if last := r.set.Len() % r.loader.Batch; last != 0 {
		sizes = append(sizes, last)
	}
	means := []Metric{{lossName, r.Loss}}
	if r.Validation != nil {
		means = append(means, r.Metrics...)
	}
	for _, n := range sizes {
		tape := autograd.New(nil)
		zeros := func(s tensor.Spec) ops.Value { return ops.Zeros(tape.Recorder(), batchOf(s, n)) }
		predicted, target := r.net.Forward(tape, zeros(x), layers.Train), zeros(y)
		if err := tape.Err(); err != nil {
			return fmt.Errorf("train: a batch of %d samples: %w", n, err)
		}
		for _, m := range means {
			mean := m.Mean(predicted, target)
			if err := tape.Err(); err != nil {
				return fmt.Errorf("train: the %s of a batch of %d samples: %w", m.Name, n, err)
			}
			if s := mean.Spec(); s.Shape.Size() != 1 || !s.DType.Float() {
				return fmt.Errorf("train: the %s of a batch of %d samples is %v: want one number, the mean over the samples", m.Name, n, s)
			}
		}
	}
	return nil
}

// checkNames makes sure that a checkpoint can hold all variables.
func (r *run) checkNames() error {
	known := map[string]bool{}
	for _, v := range r.variables() {
		if known[v.Name()] {
			return fmt.Errorf("train: two variables are called %s: does the optimizer keep the state of another model? Each run needs a new one", v.Name())
		}
		known[v.Name()] = true
	}
	return nil
}

// steps is how many steps the run has in all.
func (r *run) steps() int {
	all, each := math.MaxInt, r.loader.Len()
	if r.Epochs > 0 && r.Epochs < all/each {
		all = r.Epochs * each
	}
	if r.Steps > 0 {
		all = min(all, r.Steps)
	}
	return all
}

// finished reports whether there is nothing left to do.
func (r *run) finished() bool {
	return r.Steps > 0 && r.report.Steps >= r.Steps || r.Epochs > 0 && r.at.Epoch >= r.Epochs
}

func (r *run) loop(ctx context.Context) error {
	for {
		if r.at.Sample == 0 && r.seen > 0 { // an epoch is over, perhaps since before a resumption
			if err := r.epoch(ctx); err != nil {
				return err
			}
		}
		if r.finished() {
			return r.end(ctx)
		}
		if err := r.batches(ctx); err != nil {
			return err
		}
	}
}

// batches trains to the end of the epoch, or of the run.
func (r *run) batches(ctx context.Context) error {
	for b, err := range r.loader.Batches(ctx, r.at) {
		if err != nil {
			return fmt.Errorf("train: step %d: %w", r.report.Steps+1, err)
		}
		if err := r.step(context.WithoutCancel(ctx), b); err != nil { // a step happens whole
			return err
		}
		if err := r.due(ctx); err != nil {
			return err
		}
		if r.finished() {
			break
		}
	}
	return nil
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
	defer res.Release()
	if r.last, err = res.Float(ctx, 0); err != nil {
		return fmt.Errorf("train: step %d: %w", step, err)
	}
	if math.IsNaN(r.last) || math.IsInf(r.last, 0) {
		return &NotFiniteError{Step: step, Loss: r.last, Last: r.report.Checkpoint}
	}
	epoch := r.at.Epoch
	r.at = b.Next
	r.sum += r.last * float64(len(b.Index))
	r.seen += len(b.Index)
	r.report.Steps, r.report.Epochs = step, r.at.Epoch
	r.Observe(Step{Step: step, Epoch: epoch + 1, Of: r.steps(), Loss: r.last, Size: len(b.Index)})
	return nil
}

// judge fills the report of the epoch that is over, or of the part of it that the run has had.
func (r *run) judge(ctx context.Context) error {
	r.report.Loss = r.sum / float64(r.seen)
	if r.Validation == nil {
		return nil
	}
	v, err := Evaluate(ctx, r.Engine, r.net, r.Validation, r.Batch, r.Loss, r.Metrics...)
	if err == nil {
		r.report.Validation = v
	}
	return err
}

// epoch ends an epoch: the position is at the start of the next one.
func (r *run) epoch(ctx context.Context) error {
	if err := r.judge(ctx); err != nil {
		return err
	}
	r.sum, r.seen = 0, 0
	r.Observe(Epoch{Epoch: r.report.Epochs, Epochs: r.Epochs, Step: r.report.Steps, Loss: r.report.Loss, Validation: r.report.Validation})
	return nil
}

// end ends the run. Its last checkpoint has been written: due saw to it.
func (r *run) end(ctx context.Context) error {
	if r.Checkpoint == "" {
		if _, err := r.state(ctx); err != nil {
			return err
		}
	}
	if r.seen > 0 {
		return r.judge(ctx)
	}
	return nil
}
