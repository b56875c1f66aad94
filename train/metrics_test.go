package train_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// predictions are those of testdata/metrics.py: logits of 50 samples and 4 classes, of which the last is predicted and never right, and labels.
func predictions() (logits, labels tensor.Tensor) {
	const n, classes = 50, 4
	logits, labels = tensor.New(tensor.SpecOf(tensor.F64, n, classes)), tensor.New(tensor.SpecOf(tensor.I64, n))
	for i := range n {
		for k := range classes {
			logits.Set(classes*i+k, math.Sin(float64(3*i+k*k)+0.5*float64(i/7)))
		}
		labels.SetInt(i, int64((i*i+i/3)%3))
		if i%11 == 5 {
			labels.SetInt(i, ignored)
		}
	}
	return logits, labels
}

// columns are some of the logits.
func columns(logits tensor.Tensor, first, n int) tensor.Tensor {
	rows := logits.Shape().Dim(0)
	x := tensor.New(tensor.SpecOf(tensor.F64, rows, n))
	for i := range rows {
		for k := range n {
			x.Set(n*i+k, logits.At(logits.Shape().Dim(1)*i+first+k))
		}
	}
	return x
}

// TestMetrics compares with scikit-learn, by batches of any size: an F1 score or a perplexity is no mean of those of batches.
func TestMetrics(t *testing.T) {
	logits, labels := predictions()
	second := tensor.New(labels.Spec()) // whether the label is 1
	for i := range labels.Len() {
		switch labels.Int(i) {
		case 1, ignored:
			second.SetInt(i, labels.Int(i))
		}
	}
	eng := engine(t)
	eng.NoFallback = true
	none := train.CrossEntropy(ops.ClassLoss{Ignore: true, Ignored: ignored})
	zero := func(p, _ ops.Value) ops.Value { return p.Mean().Scale(0) }
	for _, c := range []struct {
		predicted, y tensor.Tensor
		loss         train.Loss
		metrics      []train.Metric
		want         map[string]float64
	}{
		{logits, labels, none, []train.Metric{
			train.Accuracy(ignored), train.TopK(2, ignored), train.TopK(3, ignored), train.F1(4, train.Macro, ignored), train.Perplexity(none), train.Confusion(4, ignored),
		}, map[string]float64{
			"loss": math.Log(4.966945698611721), "perplexity": 4.966945698611721, "accuracy": 0.26666666666666666, "top-2": 0.4666666666666667, "top-3": 0.8444444444444444,
			"f1": 0.22285714285714284, "confusion": 0.26666666666666666,
		}},
		{logits, labels, none, []train.Metric{train.F1(4, train.Micro, ignored)}, map[string]float64{"loss": math.Log(4.966945698611721), "f1": 0.26666666666666666}},
		{columns(logits, 0, 2), second, none, []train.Metric{train.F1(2, train.Binary, ignored)}, map[string]float64{"loss": math.NaN(), "f1": 0.45}},
		{columns(logits, 0, 2), columns(logits, 2, 2), zero, []train.Metric{train.MSE(), train.MAE()}, map[string]float64{"loss": 0, "mse": 1.2707608427701906, "mae": 0.9863649929400713}},
	} {
		if c.want["confusion"] != 0 {
			for i, row := range [][]float64{{4, 4, 4, 2}, {4, 4, 6, 3}, {3, 3, 4, 4}, {0, 0, 0, 0}} {
				for k, n := range row {
					c.want[fmt.Sprintf("confusion/%d/%d", i, k)] = n
				}
			}
		}
		for _, size := range []int{1, 7, 49, 50, 1000} {
			got, err := train.Evaluate(t.Context(), eng, identity(t, c.predicted.Spec()), tensors(t, c.predicted, c.y), size, c.loss, c.metrics...)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			for name, want := range c.want {
				if x := got[name]; !(math.Abs(x-want) < 1e-12) && !math.IsNaN(want) {
					t.Errorf("batches of %d: %s is %v, want %v", size, name, x, want)
				}
			}
		}
	}
}

// TestMetricsOfSequences takes labels of two axes, as of tokens, and gives what it gives for one.
func TestMetricsOfSequences(t *testing.T) {
	logits, labels := predictions()
	long, err := logits.Reshape(10, 5, 4)
	if err != nil {
		t.Fatal(err)
	}
	longLabels, err := labels.Reshape(10, 5)
	if err != nil {
		t.Fatal(err)
	}
	loss := train.CrossEntropy(ops.ClassLoss{Ignore: true, Ignored: ignored})
	metrics := []train.Metric{train.Accuracy(ignored), train.TopK(2, ignored), train.F1(4, train.Macro, ignored), train.Confusion(4, ignored), train.Perplexity(loss)}
	eng := engine(t)
	flat, err := train.Evaluate(t.Context(), eng, identity(t, logits.Spec()), tensors(t, logits, labels), 50, loss, metrics...)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{3, 10} {
		got, err := train.Evaluate(t.Context(), eng, identity(t, long.Spec()), tensors(t, long, longLabels), size, loss, metrics...)
		if err != nil || len(got) != len(flat) {
			t.Fatal(got, err)
		}
		for name, want := range flat {
			if math.Abs(got[name]-want) > 1e-12 {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
	}
}

// TestMetricsOfNothing: where nothing counts means are NaN, which no early stopping takes for good, and an F1 is 0.
func TestMetricsOfNothing(t *testing.T) {
	logits, labels := predictions()
	labels = tensor.Full(labels.Spec(), ignored)
	loss := train.CrossEntropy(ops.ClassLoss{Ignore: true, Ignored: ignored})
	got, err := train.Evaluate(t.Context(), engine(t), identity(t, logits.Spec()), tensors(t, logits, labels), 20, loss,
		train.Accuracy(ignored), train.F1(4, train.Macro, ignored), train.Perplexity(loss), train.Confusion(4, ignored))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"loss": math.NaN(), "accuracy": math.NaN(), "perplexity": math.NaN(), "confusion": math.NaN(), "f1": 0, "confusion/1/2": 0} {
		if x := got[name]; x != want && !(math.IsNaN(x) && math.IsNaN(want)) {
			t.Errorf("%s is %v, want %v", name, x, want)
		}
	}
}

// TestMetricNaN: a prediction that is no number makes the metric none.
func TestMetricNaN(t *testing.T) {
	p, y := tensor.Full(tensor.SpecOf(tensor.F32, 3, 1), 1), tensor.Full(tensor.SpecOf(tensor.F32, 3, 1), 2)
	p.Set(1, math.NaN())
	got, err := train.Evaluate(t.Context(), engine(t), identity(t, p.Spec()), tensors(t, p, y), 2, ops.MSE, train.MSE(), train.MAE())
	if err != nil || !math.IsNaN(got["mse"]) || !math.IsNaN(got["mae"]) || !math.IsNaN(got["loss"]) {
		t.Errorf("%v, %v: want NaN", got, err)
	}
}

// TestMetricMistakes are errors in words that name the metric.
func TestMetricMistakes(t *testing.T) {
	logits, labels := predictions()
	bad := labels.Clone()
	bad.SetInt(3, 4)
	below := labels.Clone()
	below.SetInt(3, -1)
	loss := func(p, _ ops.Value) ops.Value { return p.Mean() }
	for want, c := range map[string]struct {
		y tensor.Tensor
		m train.Metric
	}{
		"the top-0 of a batch of 50 samples: the 0 largest of the logits: want 1 at least":    {labels, train.TopK(0)},
		"the top-5 of a batch of 50 samples: top-k":                                           {labels, train.TopK(5)},
		"the f1 of a batch of 50 samples: the logits are f64[50 4]: want 3 classes":           {labels, train.F1(3, train.Macro)},
		"the f1 of a batch of 50 samples: a binary F1 has 2 classes, not 4":                   {labels, train.F1(4, train.Binary)},
		"the f1 of a batch of 50 samples: there is no average 9":                              {labels, train.F1(4, 9)},
		"the confusion of a batch of 50 samples: the logits are f64[50 4]: want -1 classes":   {labels, train.Confusion(-1)},
		"the mse of a batch of 50 samples: predicted is f64[50 4] and y is i64[50]: want one": {labels, train.MSE()},
		"index 4 out of range [0,4)":                                                          {bad, train.F1(4, train.Macro, ignored)},
		"index -1 out of range [0,4)":                                                         {below, train.F1(4, train.Macro, ignored)},
		"out of range [0,16)":                                                                 {bad, train.Confusion(4, ignored)},
		`metric 0, "odd", needs a Name`:                                                       {labels, train.Mean("odd", nil)},
		"the odd of a batch of 50 samples: its sums are i64[50]: want floats":                 {labels, train.Metric{Name: "odd", Sums: func(_, y ops.Value) ops.Value { return y }, Of: func([]float64) float64 { return 0 }}},
		"the odd of a batch of 50 samples: misuse: it gives no value of this recording": {labels, train.Mean("odd", func(p, y ops.Value) ops.Value {
			return ops.Full(ops.NewRecorder(), tensor.SpecOf(tensor.F64, 4), 1).Gather(0, y).Mean()
		})},
		"the odd of a batch of 50 samples: misuse: it gives no value":      {labels, train.Mean("odd", func(p, y ops.Value) ops.Value { return ops.Value{} })},
		"the odd of a batch of 50 samples: train: a mean is of two floats": {labels, train.Mean("odd", func(p, y ops.Value) ops.Value { return train.MeanOf(p, y) })},
	} {
		_, err := train.Evaluate(t.Context(), engine(t), identity(t, logits.Spec()), tensors(t, logits, c.y), 50, loss, c.m)
		if err == nil || !strings.HasPrefix(err.Error(), "train: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestMatrix makes a matrix of the numbers of Confusion, and nothing of others.
func TestMatrix(t *testing.T) {
	values := map[string]float64{"loss": 1, "confusion": 0.5, "confusion/0/0": 1, "confusion/0/1": 2, "confusion/1/0": 3, "confusion/1/1": 4}
	if got := train.Matrix(values, "confusion"); !cmp.Equal(got, [][]float64{{1, 2}, {3, 4}}) {
		t.Error(got)
	}
	delete(values, "confusion/1/1")
	for _, name := range []string{"confusion", "loss", ""} {
		if got := train.Matrix(values, name); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
