package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// lossName is the name that the loss has among the metrics.
const lossName = "loss"

// Metric is a number that tells how good predictions are, as a mean over samples.
type Metric struct {
	Name string // any but "loss"
	// Mean records the metric of a batch, one number of any float type.
	Mean func(predicted, y ops.Value) ops.Value
}

// Accuracy is the share of samples whose largest logit is that of the label, for logits [n, classes] and labels [n].
func Accuracy() Metric { return Metric{"accuracy", accuracy} }

// accuracy has a name of its own: a function literal inlined into the caller would count as the caller's line in errors.
func accuracy(logits, y ops.Value) ops.Value {
	return logits.ArgMax(-1).Equal(y.Cast(tensor.I64)).Cast(tensor.F64).Mean()
}

// checkMetrics wants a name of its own for each, and something to compute.
func checkMetrics(metrics []Metric) error {
	known := map[string]bool{lossName: true}
	for i, m := range metrics {
		switch {
		case m.Mean == nil || m.Name == "":
			return fmt.Errorf("train: metric %d, %q, needs a name and a Mean", i, m.Name)
		case known[m.Name]:
			return fmt.Errorf("train: two metrics are called %q", m.Name)
		}
		known[m.Name] = true
	}
	return nil
}

// Evaluate is the mean loss, as "loss", and the metrics of a net over a data set, without training anything. Batches count by their samples,
// so the result does not depend on their size but in the last bits.
func Evaluate(ctx context.Context, eng *sched.Engine, net *layers.Net, set data.Dataset, batch int, loss func(predicted, y ops.Value) ops.Value, metrics ...Metric) (map[string]float64, error) {
	if eng == nil || net == nil || loss == nil {
		return nil, errors.New("train: evaluation needs an engine, a net and a loss")
	}
	if err := checkData("validation", set); err != nil {
		return nil, err
	}
	if err := checkMetrics(metrics); err != nil {
		return nil, err
	}
	metrics = append([]Metric{{lossName, loss}}, metrics...)
	sums, err := sumMetrics(ctx, autograd.New(eng), net, data.Loader{Data: set, Batch: min(batch, set.Len())}, metrics)
	if err != nil {
		return nil, fmt.Errorf("train: evaluation: %w", err)
	}
	means := map[string]float64{}
	for i, m := range metrics {
		means[m.Name] = sums[i] / float64(set.Len())
	}
	return means, nil
}

// sumMetrics adds the metrics of all samples up.
func sumMetrics(ctx context.Context, tape *autograd.Tape, net *layers.Net, loader data.Loader, metrics []Metric) ([]float64, error) {
	sums, values := make([]float64, len(metrics)), make([]ops.Value, len(metrics))
	for b, err := range loader.Batches(ctx, data.Position{}) {
		if err != nil {
			return nil, err
		}
		y := tape.Input("y", b.Y, autograd.BatchAxis(0))
		predicted := net.Forward(tape, tape.Input("x", b.X, autograd.BatchAxis(0)), layers.Eval)
		for i, m := range metrics {
			values[i] = m.Mean(predicted, y)
		}
		res, err := tape.Step(ctx, values...)
		if err != nil {
			return nil, err
		}
		for i, m := range metrics {
			mean, err := res.Float(ctx, i)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			sums[i] += mean * float64(len(b.Index))
		}
		res.Release()
	}
	return sums, nil
}
