package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/cortado-ml/cortado/data/table"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// tableKind is rows of a CSV file, of which one column is to be learned from the others: a class or a number.
var tableKind = kind{
	name: "table",
	recipes: map[string]recipe{
		"mlp": {
			what: "two hidden layers of 64",
			build: func(outputs int) layers.Module {
				return layers.Sequential{
					layers.Linear{Out: 64}, layers.ReLU{}, layers.Linear{Out: 64}, layers.ReLU{},
					layers.Linear{Out: outputs, Init: layers.Zeros, BiasInit: layers.Zeros}, // so the first loss is that of a guess
				}
			},
			epochs: 60, batch: 32, rate: 5e-3, optimizer: "adamw", schedule: "onecycle",
		},
	},
	open: openTable,
	restore: func(meta map[string]string) (task, error) {
		t := tableTask{encoder: &table.Encoder{}}
		err := json.Unmarshal([]byte(meta[metaTable]), t.encoder)
		if err == nil {
			err = t.encoder.Check()
		}
		if err == nil && (t.encoder.Target == nil || t.encoder.Width() > maxInput) {
			err = errors.New("nothing is to be learned, or from too much")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", metaTable, err)
		}
		return t, nil
	},
}

// metaTable is the encoder of a table, as JSON: its columns, and what they were like in the rows to train on.
const metaTable = "cortado.table"

// tableTask is to tell what stands in one column.
type tableTask struct {
	encoder *table.Encoder
	usual   int // the class that most of the training rows have
}

func openTable(name string, r recipe) (corpus, error) {
	s, err := openTableFile(strings.TrimPrefix(name, csvPrefix), r.target, r.skip)
	if err != nil {
		return corpus{}, err
	}
	t := tableTask{s.encoder, s.usual}
	what := fmt.Sprintf("%q, a number", s.encoder.Target.Name)
	if t.classes() != nil {
		what = fmt.Sprintf("%q, one of %d classes", s.encoder.Target.Name, len(t.classes()))
	}
	return corpus{t, s.train, s.test, fmt.Sprintf("%s, by %d columns; %d rows to train on, %d to test", what, len(s.encoder.Inputs), s.train.Len(), s.test.Len())}, nil
}

// classes are nil where numbers are to be learned.
func (t tableTask) classes() []string { return t.encoder.Target.Classes }

func (t tableTask) input() tensor.Spec {
	x, _ := t.encoder.Specs()
	return x
}

func (t tableTask) outputs() int { return max(1, len(t.classes())) }

func (t tableTask) metadata() map[string]string {
	b, _ := json.Marshal(t.encoder) // texts and finite numbers always have JSON
	return map[string]string{metaTable: string(b)}
}

func (t tableTask) loss(predicted, y ops.Value) ops.Value {
	if t.classes() == nil {
		return ops.MSE(predicted, y)
	}
	return ops.CrossEntropy(predicted, y)
}

// metrics are told beside those of a model that has looked at no other column: it always says the class that is most usual, or the mean.
func (t tableTask) metrics() []train.Metric {
	if t.classes() != nil {
		return []train.Metric{{
			Name: "accuracy",
			Sums: func(logits, y ops.Value) ops.Value {
				usual := ops.Full(y.Recorder(), tensor.SpecOf(y.DType()), float64(t.usual))
				right := func(guess ops.Value) ops.Value { return y.Equal(guess).Cast(tensor.F64) }
				return ops.Stack(0, right(logits.ArgMax(-1)).Sum(), right(usual).Sum(), right(y).Sum())
			},
			Of:    func(sums []float64) float64 { return sums[0] / sums[2] },
			Parts: func(sums []float64) map[string]float64 { return map[string]float64{"usual": sums[1] / sums[2]} },
		}}
	}
	std := t.encoder.Target.Std
	mean := func(name string, of func(miss ops.Value) ops.Value, back func(float64) float64) train.Metric {
		return train.Metric{
			Name: name,
			Sums: func(predicted, y ops.Value) ops.Value { // standardised: the mean of the training rows is 0
				predicted, y = predicted.Cast(tensor.F64), y.Cast(tensor.F64)
				return ops.Stack(0, of(predicted.Sub(y)).Sum(), of(y).Sum(), y.Equal(y).Cast(tensor.F64).Sum())
			},
			Of: func(sums []float64) float64 { return std * back(sums[0]/sums[2]) },
			Parts: func(sums []float64) map[string]float64 {
				return map[string]float64{"mean": std * back(sums[1]/sums[2])}
			},
		}
	}
	return []train.Metric{
		mean("rmse", ops.Value.Square, math.Sqrt),
		mean("mae", ops.Value.Abs, func(x float64) float64 { return x }),
	}
}

// show tells how good the model is, beside one that has looked at no other column.
func (t tableTask) show(_ context.Context, out io.Writer, r result) error {
	v, name := r.Validation, t.encoder.Target.Name
	if t.classes() != nil {
		fmt.Fprintf(out, "%s: test accuracy %.2f %%; always %q would be right in %.2f %%\n", name, 100*v["accuracy"], className(t.classes(), t.usual), 100*v["accuracy/usual"])
	} else {
		fmt.Fprintf(out, "%s: test RMSE %.6g, MAE %.6g; always the mean, %.6g, would have RMSE %.6g, MAE %.6g\n", name, v["rmse"], v["mae"], t.encoder.Target.Mean, v["rmse/mean"], v["mae/mean"])
	}
	fmt.Fprintf(out, "on %d rows it has never seen; %.1f s\nthe model is in %s\ntry: go run ./cmd/demo predict %sROWS.csv\n", r.test.Len(), r.seconds, r.path, r.modelFlag(predictFile))
	return nil
}

// rowPrediction is a line of -json for a row: a class with its probability, or a number.
type rowPrediction struct {
	File        string   `json:"file"`
	Row         int      `json:"row"` // from 1
	Column      string   `json:"column"`
	Class       string   `json:"class,omitempty"`
	Index       *int     `json:"index,omitempty"`
	Probability *float64 `json:"probability,omitempty"`
	Value       *number  `json:"value,omitempty"`
}
