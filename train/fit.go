package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/internal/background"
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
	if set == nil || set.Len() == 0 {
		return nil, errEmpty("training")
	}
	if c.Batch < 1 {
		return nil, fmt.Errorf("train: Config.Batch is %d: a batch has one sample at least", c.Batch)
	}
	batches := data.Loader{Data: set, Batch: min(c.Batch, set.Len()), Shuffle: !c.KeepOrder, Seed: c.Seed, Transform: c.Transform}
	return fit(ctx, &c, batches)
}

// FitBatches is Fit on batches: of Buckets, of a Stream, of a Loader with other settings. Their order and their seed are their own; Config.Seed
// remains that of first values and dropout, and Config.Batch is the size of batches of Config.Validation alone.
//
// Of batches whose shapes nobody knows before they are read the first is looked at before the model is built. A run is resumed to the bit where the
// batches give from a position what they would have given: see data.Stream for what that means for a source that cannot be read twice.
func FitBatches(ctx context.Context, c Config, batches data.Batches) (*Report, error) {
	switch {
	case c.KeepOrder || c.Transform != nil:
		return nil, errors.New("train: Config.KeepOrder and Config.Transform are for Fit: the batches have an order and a Transform of their own")
	case c.Validation != nil && c.Batch < 1:
		return nil, fmt.Errorf("train: Config.Batch is %d: a batch of validation has one sample at least", c.Batch)
	}
	return fit(ctx, &c, batches)
}

func fit(ctx context.Context, c *Config, batches data.Batches) (*Report, error) {
	ctx = background.Or(ctx)
	if err := c.check(); err != nil {
		return nil, err
	}
	source := &source{batches: batches}
	defer source.close()
	r, err := newRun(ctx, c, source)
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
	if err := r.openLogs(); err != nil {
		return nil, err
	}
	if err = r.loop(ctx); err != nil {
		err = r.explain(ctx, err)
	}
	r.told = nil
	r.tell(Ended{err, r.report.Stopped})
	if err == nil && r.told != nil && !errors.Is(r.told, ErrStop) {
		err = r.told
	}
	if e := r.logs.close(); e != nil {
		err = errors.Join(err, e)
	}
	return &r.report, err
}

// run is a run of Fit under way.
type run struct {
	*Config
	batches *source
	layout  data.Layout
	valid   data.Batches // to be evaluated, or nil
	net     *layers.Net
	tape    *autograd.Tape
	sums    *accumulator // of gradients; nil where each batch makes a step
	report  Report

	// Where the run is, at the end of a step.
	at       data.Position // of the next batch
	taken    int           // batches of this epoch
	sum      float64       // of this epoch's losses, each times its weight
	weight   float64       // the sum of the weights
	recorded int64         // steps of the tape
	last     float64       // the loss of the last step
	saved    int           // the step of the last checkpoint
	monitor

	logs logs
	told error // what a callback or a log has said
}

// tell tells of an event.
func (r *run) tell(e Event) {
	r.Observe(e)
	if err := r.logs.write(e); err != nil && r.told == nil {
		r.told = err
	}
	for _, f := range r.Callbacks {
		if err := f(e); err != nil && r.told == nil {
			r.told = fmt.Errorf("train: a callback: %w", err)
		}
	}
}

// heed does what a callback has said.
func (r *run) heed() error {
	switch {
	case r.told == nil:
		return nil
	case !errors.Is(r.told, ErrStop):
		return r.told
	}
	r.report.Stopped = "a callback has asked for it"
	return nil
}

func newRun(ctx context.Context, c *Config, from *source) (*run, error) {
	if c.DType == tensor.None {
		c.DType = tensor.F32
	}
	if c.Observe == nil {
		c.Observe = func(Event) {}
	}
	layout, err := from.layout(ctx)
	if err != nil {
		return nil, err
	}
	r := &run{Config: c, batches: from, layout: layout, valid: c.validation(c.Batch), monitor: newMonitor(), tape: autograd.New(c.Engine, autograd.Seed(int64(c.Seed)))}
	in := layout.Shapes[0].X
	if in.DType.Float() {
		in.DType = c.DType
	}
	if r.net, err = layers.Build(c.Model, in, c.Seed, c.DType); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	r.report.Net = r.net
	if c.Prepare != nil {
		if err := c.Prepare(r.net); err != nil {
			return nil, fmt.Errorf("train: Config.Prepare: %w", err)
		}
	}
	if len(r.net.Params()) == 0 {
		return nil, errors.New("train: there is nothing to train: the model has no parameters, or Config.Prepare has frozen them all")
	}
	if err := r.rehearse(layers.Train, layout.Shapes, nil); err != nil {
		return nil, err
	}
	if r.valid != nil {
		v, err := layoutOf("validation", r.valid)
		if err != nil {
			return nil, err
		}
		if err := r.rehearse(layers.Eval, v.Shapes, c.Metrics); err != nil {
			return nil, fmt.Errorf("%w, in validation", err)
		}
	}
	c.Optimizer.Init(r.net.Params()...)
	if c.Accumulate > 1 {
		r.sums = newAccumulator(r.net.Params())
	}
	return r, r.checkNames()
}

// rehearse records the forward pass, the loss and the metrics of each kind of batch, and runs nothing: a batch-norm that cannot take a last batch of
// one sample, or a metric for other targets, says so now, not at the end of the first epoch.
func (r *run) rehearse(mode layers.Mode, shapes []data.BatchShape, metrics []Metric) error {
	metrics = append([]Metric{Mean(lossName, r.Loss)}, metrics...)
	for _, s := range shapes {
		tape := autograd.New(nil)
		zeros := func(s tensor.Spec) ops.Value { return ops.Zeros(tape.Recorder(), s) }
		var lengths ops.Value
		if s.Lengths != (tensor.Spec{}) {
			lengths = zeros(s.Lengths)
		}
		predicted, y := forwardIn(tape, r.net, zeros(s.X), zeros(s.Y), lengths, mode)
		if err := tape.Err(); err != nil {
			return fmt.Errorf("train: a batch of %d samples: %w", s.X.Shape.Dim(0), err)
		}
		if _, err := recordSums(tape, predicted, y, metrics); err != nil {
			return fmt.Errorf("train: %w", err)
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
