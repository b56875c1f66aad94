package train

import (
	"context"
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
)

// limit is how many batches an epoch has at most, 0 for all.
func (r *run) limit() int { return max(r.LimitBatches, r.OverfitBatches) }

// window is how many batches make a step.
func (r *run) window() int { return max(1, r.Accumulate) }

// steps is how many steps the run has in all, 0 if nobody knows.
func (r *run) steps() int {
	each := r.layout.Len() // 0 if nobody knows
	if limit := r.limit(); limit > 0 && each > 0 {
		each = min(each, limit)
	}
	each = (each + r.window() - 1) / r.window()
	all := 0
	switch {
	case r.Epochs > 0 && each > 0 && r.Epochs < math.MaxInt/each:
		all = r.Epochs * each
	case each > 0:
		all = math.MaxInt
	}
	if r.Steps > 0 && (all == 0 || r.Steps < all) {
		all = r.Steps
	}
	return all
}

// finished reports whether there is nothing left to do.
func (r *run) finished() bool {
	return r.Steps > 0 && r.report.Steps >= r.Steps || r.Epochs > 0 && r.at.Epoch >= r.Epochs
}

func (r *run) loop(ctx context.Context) error {
	for {
		if r.at.Sample == 0 && r.taken > 0 { // an epoch is over, perhaps since before a resumption
			if err := r.epoch(ctx); err != nil {
				return err
			}
		}
		if err := r.heed(); err != nil {
			return err
		}
		if r.finished() || r.report.Stopped != "" {
			return r.end(ctx)
		}
		if err := r.train(ctx); err != nil {
			return err
		}
	}
}

// train trains to the end of the epoch, or of the run.
func (r *run) train(ctx context.Context) error {
	from := r.at
	if r.OverfitBatches > 0 {
		from.Epoch = 0
	}
	w := window{at: r.at, taken: r.taken}
	for b, err := range r.batches.Batches(ctx, from) {
		if err != nil {
			return fmt.Errorf("train: step %d: %w", r.report.Steps+1, err)
		}
		w.taken++
		over := b.Next.Epoch != from.Epoch || w.taken == r.limit()
		w.at = data.Position{Epoch: r.at.Epoch, Sample: b.Next.Sample}
		if over {
			w.at = data.Position{Epoch: r.at.Epoch + 1}
		}
		if err := r.batch(context.WithoutCancel(ctx), &w, b, over || w.batches+1 == r.window()); err != nil {
			return err
		}
		if w.batches < r.window() && !over {
			continue
		}
		r.commit(&w)
		if err := r.due(ctx); err != nil {
			return err
		}
		if over || r.finished() || r.told != nil {
			return nil
		}
		w = window{at: r.at, taken: r.taken}
	}
	return fmt.Errorf("train: step %d: the batches of an epoch have ended without one that says so: its Next is not the start of another epoch", r.report.Steps+1)
}

// window is the batches of a step under way.
type window struct {
	batches, samples int
	loss             float64       // the mean, while there is one batch
	sum, weight      float64       // of the losses, each times its weight
	at               data.Position // behind the last batch
	taken            int           // batches of the epoch
	measures         map[string]float64
}

// mean is the loss of the step, 0 where nothing counts.
func (w *window) mean() float64 {
	switch {
	case w.batches == 1:
		return w.loss
	case w.weight == 0:
		return 0
	}
	return w.sum / w.weight
}

// batch records and runs one batch, which starts a step or goes on with it, and ends it if it is the last.
func (r *run) batch(ctx context.Context, w *window, b data.Batch, last bool) error {
	step := r.report.Steps + 1
	fail := func(err error) error { return fmt.Errorf("train: step %d: %w", step, cause(err)) }
	m := r.record(b, w.batches == 0, last)
	results := []ops.Value{m.value, m.count}
	var measures []optim.Measure
	if last {
		measures = optim.Measures(r.tape, r.Optimizer)
	}
	for _, m := range measures {
		results = append(results, m.Value)
	}
	if r.DetectAnomaly {
		if err := r.inspect(ctx, m.value); err != nil {
			r.tape.Discard()
			return err
		}
	}
	res, err := r.tape.Step(ctx, results...)
	if err != nil {
		return fail(err)
	}
	defer res.Release()
	if w.loss, err = res.Float(ctx, 0); err != nil {
		return fail(err)
	}
	weight, err := res.Float(ctx, 1)
	if err != nil {
		return fail(err)
	}
	if math.IsNaN(w.loss) || math.IsInf(w.loss, 0) {
		return &NotFiniteError{Step: step, Loss: w.loss, Last: r.report.Checkpoint}
	}
	for i, m := range measures {
		x, err := res.Float(ctx, 2+i)
		if err != nil {
			return fail(err)
		}
		if w.measures == nil {
			w.measures = map[string]float64{}
		}
		w.measures[m.Name] = x
	}
	w.batches++
	w.samples += len(b.Index)
	w.sum += w.loss * weight
	w.weight += weight
	return nil
}

// commit ends a step.
func (r *run) commit(w *window) {
	epoch := r.at.Epoch
	r.at, r.taken, r.recorded = w.at, w.taken, r.tape.StepCount()
	r.last = w.mean()
	r.sum += w.sum
	r.weight += w.weight
	r.report.Steps++
	r.report.Epochs = r.at.Epoch
	r.tell(Step{Step: r.report.Steps, Epoch: epoch + 1, Of: r.steps(), Loss: r.last, Weight: w.weight, Size: w.samples, Rate: optim.RateOf(r.Optimizer), Measures: w.measures})
}

// judge fills the report of the epoch that is over, or of the part of it that the run has had.
func (r *run) judge(ctx context.Context) error {
	r.report.Loss = quotient([]float64{r.sum, r.weight})
	if r.valid == nil {
		return nil
	}
	e := evaluation{autograd.New(r.Engine), r.net, r.valid, r.LimitValidation, append([]Metric{Mean(lossName, r.Loss)}, r.Metrics...)}
	evaluate := func() error {
		v, err := e.run(ctx)
		if err == nil {
			r.report.Validation = v
		}
		return err
	}
	if average := optim.AverageOf(r.Optimizer); average != nil {
		return average.With(ctx, evaluate)
	}
	return evaluate()
}

// epoch ends an epoch: the position is at the start of the next one. Where the run ends too, the checkpoint is of the time before: so a run that is
// resumed judges the epoch again, and comes to the same end.
func (r *run) epoch(ctx context.Context) error {
	before := r.monitor
	if err := r.judge(ctx); err != nil {
		return err
	}
	if err := r.keepBest(ctx); err != nil {
		return err
	}
	if err := r.wait(); err != nil {
		return err
	}
	r.tell(Epoch{Epoch: r.report.Epochs, Epochs: r.Epochs, Step: r.report.Steps, Loss: r.report.Loss, Validation: r.report.Validation})
	if r.told != nil || r.report.Stopped != "" {
		r.monitor = before
		return nil
	}
	r.sum, r.weight, r.taken = 0, 0, 0
	return nil
}

// end ends the run, with a checkpoint if that is not written yet.
func (r *run) end(ctx context.Context) error {
	if r.Checkpoint == "" {
		if _, err := r.state(ctx); err != nil {
			return err
		}
	}
	if err := r.save(ctx); err != nil {
		return err
	}
	if r.at.Sample == 0 { // the epoch has been judged
		return nil
	}
	if err := r.judge(ctx); err != nil {
		return err
	}
	return r.keepBest(ctx)
}
