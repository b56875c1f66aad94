package train_test

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// slope is a model of one parameter, p at first, that is multiplied with the input: the gradient of the mean prediction is the mean input.
func slope(p float64) layers.Module {
	return layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		w := c.Param("p", tensor.Of(1), func(w tensor.Tensor, _ layers.Draw) { w.Set(0, p) })
		return x.Mul(w)
	})
}

// inputs are samples of one number and no target to speak of.
func inputs(t testing.TB, x ...float64) data.Dataset {
	v := tensor.New(tensor.SpecOf(tensor.F32, len(x), 1))
	for i := range x {
		v.Set(i, x[i])
	}
	return tensors(t, v, tensor.New(tensor.SpecOf(tensor.I64, len(x))))
}

func meanPrediction(p, _ ops.Value) ops.Value { return p.Mean() }

// TestLastWindow: a window of batches weighs by its samples, also the last of an epoch, which is shorter, and batches that are; nothing of it gets
// into the next epoch.
func TestLastWindow(t *testing.T) {
	for _, c := range []struct {
		name              string
		x                 []float64
		batch, accumulate int
		epochs            int
		want              float64 // of a parameter that was 1
	}{
		{"five batches of one", []float64{1, 1, 1, 1, 1}, 1, 4, 1, -1},
		{"two epochs", []float64{1, 1, 1, 1, 1}, 1, 4, 2, -3},
		{"the last is another", []float64{1, 1, 1, 1, 8}, 1, 4, 1, -8},
		{"batches of 4, 4 and 1", []float64{1, 1, 1, 1, 1, 1, 1, 1, 10}, 4, 3, 1, 1 - 2},
		{"4 and 4, then 1", []float64{1, 1, 1, 1, 1, 1, 1, 1, 10}, 4, 2, 1, -10},
		{"4 and 1", []float64{1, 1, 1, 1, 6}, 4, 2, 1, 1 - 2},
		{"more than there are", []float64{1, 2, 3, 4, 5}, 2, 100, 1, 1 - 3},
	} {
		cfg := train.Config{
			Engine: engine(t), Model: slope(1), Loss: meanPrediction, Optimizer: &optim.SGD{LR: 1}, Batch: c.batch, Epochs: c.epochs, Accumulate: c.accumulate, KeepOrder: true,
		}
		r := mustFit(t, cfg, inputs(t, c.x...))
		p, err := r.report.Net.Params()[0].Value(t.Context())
		if err != nil || math.Abs(p.At(0)-c.want) > 1e-5 {
			t.Errorf("%s: the parameter is %v, want %v, %v", c.name, p, c.want, err)
		}
		windows := (len(c.x) + c.batch*c.accumulate - 1) / (c.batch * c.accumulate)
		if r.report.Steps != windows*c.epochs {
			t.Errorf("%s: %d steps, want %d", c.name, r.report.Steps, windows*c.epochs)
		}
	}
}

// TestAccumulated: three steps of Adam on batches of 3, 6 a step, are those on batches of 18 within rounding; so they are with padding, whose
// batches have different numbers of labels that count.
func TestAccumulated(t *testing.T) {
	model := layers.Sequential{layers.Linear{Out: 8}, layers.ReLU{}, layers.Linear{Out: 2}}
	run := func(size, accumulate int, loss train.Loss, set data.Dataset) trace {
		return mustFit(t, train.Config{
			Engine: engine(t), Model: model, Loss: loss, Optimizer: &optim.AdamW{LR: 0.01}, Batch: size, Epochs: 3, Accumulate: accumulate, Seed: 2,
		}, set)
	}
	padded, err := data.Pad(words(t, 18, 6), 9, data.Padding{Y: ignored})
	if err != nil {
		t.Fatal(err)
	}
	flat := pairsOf(t, 18)
	for name, c := range map[string]struct {
		loss train.Loss
		set  data.Dataset
	}{"samples": {ops.CrossEntropy, flat}, "tokens": {tokenLoss, padded}} {
		whole, parts := run(18, 1, c.loss, c.set), run(3, 6, c.loss, c.set)
		for step := 1; step <= 3; step++ {
			a, b := math.Float64frombits(whole.losses[step]), math.Float64frombits(parts.losses[step])
			if math.Abs(a-b) > 1e-5 {
				t.Errorf("%s: step %d has the loss %v, in parts %v", name, step, a, b)
			}
		}
		a, b := whole.report.Net.Params(), parts.report.Net.Params()
		for i := range a {
			x, err := a[i].Value(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			y, err := b[i].Value(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for k := range x.Len() {
				if math.Abs(x.At(k)-y.At(k)) > 1e-5 {
					t.Errorf("%s: %s is %v, in parts %v", name, a[i].Name(), x, y)
					break
				}
			}
		}
	}
}

// pairsOf is n samples of two numbers whose class is whether the first is the larger one.
func pairsOf(t testing.TB, n int) data.Dataset {
	x, y := tensor.New(tensor.SpecOf(tensor.F32, n, 2)), tensor.New(tensor.SpecOf(tensor.I64, n))
	for i := range n {
		a, b := math.Sin(float64(i)), math.Cos(float64(3*i))
		x.Set(2*i, a)
		x.Set(2*i+1, b)
		if a > b {
			y.SetInt(i, 1)
		}
	}
	return tensors(t, x, y)
}
