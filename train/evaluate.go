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
	"github.com/cortado-ml/cortado/sched"
)

// Evaluate is the mean loss, as "loss", and the metrics of a net over a data set, without training anything. Their numbers depend on the size of
// batches in the last bits only. Floats are cast as in Fit: see Config.DType.
func Evaluate(ctx context.Context, eng *sched.Engine, net *layers.Net, set data.Dataset, batch int, loss Loss, metrics ...Metric) (map[string]float64, error) {
	if set == nil || set.Len() == 0 {
		return nil, errEmpty("validation")
	}
	return EvaluateBatches(ctx, eng, net, data.Loader{Data: set, Batch: min(batch, set.Len())}, loss, metrics...)
}

// EvaluateBatches is Evaluate over the first epoch of some batches: a Stream or Buckets.
func EvaluateBatches(ctx context.Context, eng *sched.Engine, net *layers.Net, batches data.Batches, loss Loss, metrics ...Metric) (map[string]float64, error) {
	if eng == nil || net == nil || loss == nil {
		return nil, errors.New("train: evaluation needs an engine, a net and a loss")
	}
	if _, err := layoutOf("validation", batches); err != nil {
		return nil, err
	}
	if err := checkMetrics(metrics); err != nil {
		return nil, err
	}
	return evaluation{autograd.New(eng), net, batches, 0, append([]Metric{Mean(lossName, loss)}, metrics...)}.run(background.Or(ctx))
}

// evaluation is one of Evaluate.
type evaluation struct {
	tape    *autograd.Tape
	net     *layers.Net
	batches data.Batches
	limit   int // of batches; 0 for all
	metrics []Metric
}

func (e evaluation) run(ctx context.Context) (map[string]float64, error) {
	sums, err := e.sums(ctx)
	if err != nil {
		return nil, fmt.Errorf("train: evaluation: %w", err)
	}
	numbers := map[string]float64{}
	for i, m := range e.metrics {
		numbers[m.Name] = m.Of(sums[i])
		if m.Parts == nil {
			continue
		}
		for name, x := range m.Parts(sums[i]) {
			numbers[m.Name+"/"+name] = x
		}
	}
	return numbers, nil
}

// sums adds up the sums of all batches.
func (e evaluation) sums(ctx context.Context) ([][]float64, error) {
	sums := make([][]float64, len(e.metrics))
	n := 0
	for b, err := range e.batches.Batches(ctx, data.Position{}) {
		if err == nil {
			if err = e.add(ctx, b, sums); err != nil {
				err = fmt.Errorf("batch %d: %w", n+1, cause(err))
			}
		}
		if err != nil {
			return nil, err
		}
		if n++; n == e.limit {
			break
		}
	}
	if n == 0 {
		return nil, errors.New("there are no batches")
	}
	return sums, nil
}

// add adds the sums of a batch.
func (e evaluation) add(ctx context.Context, b data.Batch, sums [][]float64) error {
	if b.Y.IsNone() {
		return errors.New("the batches have no targets")
	}
	values, err := e.record(b)
	if err != nil {
		return err
	}
	res, err := e.tape.Step(ctx, values...)
	if err != nil {
		return err
	}
	defer res.Release()
	for i, m := range e.metrics {
		x, err := res.Tensor(ctx, i)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, cause(err))
		}
		if sums[i] == nil {
			sums[i] = make([]float64, x.Len())
		}
		if len(sums[i]) != x.Len() {
			return fmt.Errorf("%s: a batch gives %d sums, the one before gave %d", m.Name, x.Len(), len(sums[i]))
		}
		for k := range sums[i] {
			sums[i][k] += x.At(k)
		}
	}
	return nil
}

// record records the sums of a batch.
func (e evaluation) record(b data.Batch) ([]ops.Value, error) {
	predicted, y := forward(e.tape, e.net, b, layers.Eval)
	return recordSums(e.tape, predicted, y, e.metrics)
}

// recordSums records the sums of all metrics. An error names the metric.
func recordSums(tape *autograd.Tape, predicted, y ops.Value, metrics []Metric) ([]ops.Value, error) {
	if err := tape.Err(); err != nil {
		return nil, err
	}
	values := make([]ops.Value, len(metrics))
	for i, m := range metrics {
		v := m.Sums(predicted, y)
		err := tape.Err()
		switch {
		case err != nil:
		case v.Recorder() != tape.Recorder():
			err = fmt.Errorf("%w: it gives no value of this recording: what never changes is an ops.Variable, which predicted.Recorder().Var reads", ops.ErrMisuse)
		case !v.DType().Float():
			err = fmt.Errorf("its sums are %v: want floats", v.Spec())
		}
		if err != nil {
			return nil, fmt.Errorf("the %s of a batch of %d samples: %w", m.Name, y.Dim(0), err)
		}
		values[i] = v
	}
	return values, nil
}
