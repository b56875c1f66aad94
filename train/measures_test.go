package train_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// TestMeasures: the norm of the gradients, the scale of the loss and the skipped steps are in the events and in both logs, also where batches are
// accumulated, and nothing is compiled after the first epoch. The rate is that of the group that moves.
func TestMeasures(t *testing.T) {
	for _, accumulate := range []int{1, 2} {
		c := logged(t, t.TempDir())
		c.Accumulate, c.KeepOrder, c.Epochs = accumulate, true, 2
		c.Optimizer = &optim.LossScale{Scale: 1 << 10, Every: 2, Optimizer: &optim.Clip{Norm: 1e6, Optimizer: optim.Groups{
			{Match: func(name string) bool { return name == "6.bias" }, Optimizer: &optim.SGD{Schedule: optim.Constant{}}},
			{Optimizer: &optim.SGD{LR: 0.5}},
		}}}
		compiles := map[int]int64{}
		r := fit(t.Context(), c, squares(t, samples, 1), func(e train.Event) {
			if e, ok := e.(train.Epoch); ok {
				compiles[e.Epoch] = int64(c.Engine.Stats().Compiles)
			}
		})
		if r.err != nil || compiles[1] == 0 || compiles[1] != compiles[2] {
			t.Errorf("compiles after each epoch: %v, %v", compiles, r.err)
		}
		scale := float64(1 << 10)
		var want []string
		for _, e := range r.events {
			e, ok := e.(train.Step)
			if !ok {
				continue
			}
			if e.Step%2 == 0 {
				scale *= 2
			}
			m := e.Measures
			if len(m) != 3 || !(m["gradient_norm"] > 0 && m["gradient_norm"] < 100) || m["loss_scale"] != scale || m["skipped"] != 0 {
				t.Errorf("step %d has %v, want the scale %v", e.Step, m, scale)
			}
			if e.Rate != 0.5 {
				t.Errorf("the rate is %v: of the group that stands still", e.Rate)
			}
			want = append(want, "gradient_norm")
		}
		text := strings.Join(lines(t, c.Log), "\n")
		if n := strings.Count(text, "gradient_norm:"); n != len(want) || strings.Count(text, "loss_scale:") != n || strings.Count(text, "skipped:") != n {
			t.Errorf("the log is %s", text)
		}
		if n := len(charts(t, filepath.Clean(c.TensorBoard))["train/gradient_norm"]); n != len(want) {
			t.Errorf("TensorBoard has %d norms, want %d", n, len(want))
		}
	}
}

// TestSkippedMeasures counts the steps that overflow.
func TestSkippedMeasures(t *testing.T) {
	c := config(t)
	c.DType, c.Steps = tensor.F16, 4
	c.Optimizer = &optim.LossScale{Scale: 1 << 24, Optimizer: &optim.Clip{Norm: 1, Optimizer: &optim.SGD{LR: 0.1}}}
	r := mustFit(t, c, squares(t, samples, 1))
	m := last[train.Step](r.events).Measures
	if !(m["skipped"] >= 1) || m["loss_scale"] != math.Ldexp(1, 24-int(m["skipped"])) {
		t.Errorf("%v", m)
	}
}

// TestErrorsHaveOneStep: an error of a step has one number, from 1, whatever the tape counts.
func TestErrorsHaveOneStep(t *testing.T) {
	x, y := tensor.New(tensor.SpecOf(tensor.F32, 6, 2)), tensor.New(tensor.SpecOf(tensor.I64, 6))
	y.SetInt(5, 2)
	c := train.Config{
		Engine: engine(t), Model: layers.Linear{Out: 2}, Loss: train.CrossEntropy(ops.ClassLoss{}), Optimizer: &optim.SGD{}, Batch: 2, KeepOrder: true,
		Epochs: 1, Accumulate: 2,
	}
	_, err := train.Fit(t.Context(), c, tensors(t, x, y))
	if err == nil || !strings.HasPrefix(err.Error(), "train: step 2: ") || strings.Count(err.Error(), "step ") != 1 || strings.Contains(err.Error(), "autograd") {
		t.Errorf("training: %v", err)
	}
	net, e := layers.Build(c.Model, x.Spec(), 0, tensor.F32)
	if e != nil {
		t.Fatal(e)
	}
	_, err = train.Evaluate(t.Context(), c.Engine, net, tensors(t, x, y), 2, c.Loss)
	if err == nil || !strings.HasPrefix(err.Error(), "train: evaluation: batch 3: ") || strings.Contains(err.Error(), "step ") {
		t.Errorf("evaluation: %v", err)
	}
}
