package train_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// identity is a net that gives its input back.
func identity(t *testing.T, in tensor.Spec) *layers.Net {
	t.Helper()
	net, err := layers.Build(layers.Sequential{}, in, 1, tensor.F64)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// TestWeights evaluates 10 samples with targets 0 to 9 in batches of every size: a short last batch counts less.
func TestWeights(t *testing.T) {
	x, y := tensor.New(tensor.SpecOf(tensor.F32, 10, 1)), tensor.New(tensor.SpecOf(tensor.F64, 10))
	for i := range 10 {
		y.Set(i, float64(i))
	}
	set := tensors(t, x, y)
	eng := engine(t)
	mean := func(_, y ops.Value) ops.Value { return y.Mean() }
	square := train.Mean("square", func(_, y ops.Value) ops.Value { return y.Mul(y).Mean() })
	for _, size := range []int{1, 3, 4, 9, 10, 11, math.MaxInt} {
		v, err := train.Evaluate(t.Context(), eng, identity(t, x.Spec()), set, size, mean, square)
		if err != nil || len(v) != 2 || math.Abs(v["loss"]-4.5) > 1e-14 || math.Abs(v["square"]-28.5) > 1e-13 {
			t.Errorf("batches of %d: %v, %v", size, v, err)
		}
	}
}

func TestAccuracy(t *testing.T) {
	logits := tensor.Must(tensor.From([]float32{3, 1, 2, -1, -2, -3, 0, 5, 1, 7, 7, 7}, 4, 3)) // of equal ones the first counts
	for _, c := range []struct {
		labels []int64
		want   float64
	}{{[]int64{0, 0, 1, 0}, 1}, {[]int64{0, 0, 1, 2}, 0.75}, {[]int64{1, 1, 0, 1}, 0}} {
		set := tensors(t, logits, tensor.Must(tensor.From(c.labels, 4)))
		for _, size := range []int{4, 3} {
			v, err := train.Evaluate(t.Context(), engine(t), identity(t, logits.Spec()), set, size, ops.CrossEntropy, train.Accuracy())
			if err != nil || v["accuracy"] != c.want {
				t.Errorf("labels %v: %v, %v", c.labels, v, err)
			}
		}
	}
}

// TestEvaluateTrainsNothing evaluates a net with dropout and batch-norm: its state stays, and so does the result.
func TestEvaluateTrainsNothing(t *testing.T) {
	set := squares(t, samples, 1)
	c := config(t)
	c.Epochs = 1
	net := mustFit(t, c, set).report.Net
	before, err := train.Tensors(t.Context(), net.State())
	if err != nil {
		t.Fatal(err)
	}
	a, err := train.Evaluate(t.Context(), c.Engine, net, set, batch, c.Loss)
	if err != nil {
		t.Fatal(err)
	}
	after, err := train.Tensors(t.Context(), net.State())
	if err != nil {
		t.Fatal(err)
	}
	for i := range before {
		if !before[i].Tensor.Same(after[i].Tensor) {
			t.Errorf("%s has changed", before[i].Name)
		}
	}
	if b, err := train.Evaluate(t.Context(), c.Engine, net, set, batch, c.Loss); err != nil || a["loss"] != b["loss"] {
		t.Errorf("first %v, then %v, %v", a, b, err)
	}
}

// TestEvaluateMistakes are errors in words.
func TestEvaluateMistakes(t *testing.T) {
	set := squares(t, samples, 1)
	eng, net := engine(t), identity(t, tensor.SpecOf(tensor.F32, 1, 1, 8, 8))
	loss := func(p, _ ops.Value) ops.Value { return p.Mean() }
	ctx := t.Context()
	ended, cancel := context.WithCancelCause(ctx)
	cancel(errStop)
	for want, f := range map[string]func() (map[string]float64, error){
		"needs an engine, a net and a loss": func() (map[string]float64, error) {
			return train.Evaluate(ctx, nil, net, set, 4, loss)
		},
		"the validation data are empty": func() (map[string]float64, error) { return train.Evaluate(ctx, eng, net, nil, 4, loss) },
		"a batch of 0 samples":          func() (map[string]float64, error) { return train.Evaluate(ctx, eng, net, set, 0, loss) },
		"the square of a batch of 4 samples: it is f64[4": func() (map[string]float64, error) {
			return train.Evaluate(ctx, eng, net, set, 4, loss, train.Mean("square", func(p, _ ops.Value) ops.Value { return p.Mul(p) }))
		},
		"unexpected end":           func() (map[string]float64, error) { return train.Evaluate(ctx, eng, net, broken{set, 3}, 4, loss) },
		"somebody pulled the plug": func() (map[string]float64, error) { return train.Evaluate(ended, eng, net, set, 4, loss) },
	} {
		v, err := f()
		if err == nil || v != nil || !strings.HasPrefix(err.Error(), "train: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v: want an error with %q", v, err, want)
		}
	}
	if _, err := train.Evaluate(ended, eng, net, set, 4, loss); !errors.Is(err, errStop) {
		t.Errorf("the error is %v", err)
	}
}
