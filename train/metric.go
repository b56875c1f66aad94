package train

import (
	"context"
	"fmt"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// Metric is a number that tells how good predictions are, as a mean over samples.
type Metric struct {
	Name string
	// Mean records the metric of a batch, one number of any float type.
	Mean func(predicted, y ops.Value) ops.Value
}

// Accuracy is the share of samples whose largest logit is that of the label, for logits [n, classes] and labels [n].
func Accuracy() Metric {
	return Metric{"accuracy", func(logits, y ops.Value) ops.Value {
		return logits.ArgMax(-1).Equal(y.Cast(tensor.I64)).Cast(tensor.F64).Mean()
	}}
}

// Evaluate is the mean loss and the metrics of a net over a data set, each batch weighted by its samples, without training anything.
func Evaluate(ctx context.Context, eng *sched.Engine, net *layers.Net, set data.Dataset, batch int, loss func(predicted, y ops.Value) ops.Value, metrics ...Metric) (map[string]float64, error) {
	if set == nil || set.Len() == 0 {
		return nil, fmt.Errorf("train: there are no data to evaluate on")
	}
	tape := autograd.New(eng)
	sums := make([]float64, 1+len(metrics))
	values := make([]ops.Value, 0, len(sums))
	for b, err := range (data.Loader{Data: set, Batch: batch}).Batches(ctx, data.Position{}) {
		if err != nil {
			return nil, fmt.Errorf("train: evaluation: %w", err)
		}
		y := tape.Input("y", b.Y, autograd.BatchAxis(0))
		predicted := net.Forward(tape, tape.Input("x", b.X, autograd.BatchAxis(0)), layers.Eval)
		values = append(values[:0], loss(predicted, y))
		for _, m := range metrics {
			values = append(values, m.Mean(predicted, y))
		}
		res, err := tape.Step(ctx, values...)
		if err != nil {
			return nil, fmt.Errorf("train: evaluation: %w", err)
		}
		for i := range sums {
			f, err := res.Float(ctx, i)
			if err != nil {
				return nil, fmt.Errorf("train: evaluation: %w", err)
			}
			sums[i] += f * float64(len(b.Index))
		}
		res.Release()
	}
	result := map[string]float64{"loss": sums[0] / float64(set.Len())}
	for i, m := range metrics {
		result[m.Name] = sums[1+i] / float64(set.Len())
	}
	return result, nil
}
