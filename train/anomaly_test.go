package train_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// here is the file and line of its caller, that far above.
func here(above int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file[strings.LastIndexByte(file, '/')+1:], line+above)
}

// TestAnomaly finds the operation, its call site and the step at which the first number appears that is none: in the forward pass, in the gradient, in
// the data; an infinite constant that is meant to be there, a mask, is not blamed.
func TestAnomaly(t *testing.T) {
	var site string
	mask := func(x ops.Value) ops.Value {
		low := ops.Full(x.Recorder(), tensor.SpecOf(tensor.F32), math.Inf(-1))
		return ops.Where(x.Greater(x.Scale(0).Shift(2)), low, x).Exp().Sum(-1).Reshape(-1, 1) // exp(-inf) is 0
	}
	for _, c := range []struct {
		name    string
		forward func(x, w ops.Value) ops.Value // of positive numbers, but for the bad one, and of a 1
		bad     float64                        // a number of the sixth sample
		op      string
		within  string
	}{
		{"log of a negative number", func(x, w ops.Value) ops.Value {
			site = here(1)
			return x.Log().Mul(w)
		}, -1, "log", "element 3 of f32[2 2] is NaN"},
		{"an overflow, NaN only later", func(x, w ops.Value) ops.Value {
			site = here(1)
			e := x.Mul(w).Exp()
			return e.Div(e)
		}, 1000, "exp", "element 3 of f32[2 2] is +Inf"},
		{"beside a mask", func(x, w ops.Value) ops.Value {
			m := mask(x)
			site = here(1)
			return x.Log().Mul(w).Add(m)
		}, -1, "log", "NaN"},
		{"all of a row masked", func(x, w ops.Value) ops.Value {
			low := ops.Full(x.Recorder(), tensor.SpecOf(tensor.F32), math.Inf(-1))
			masked := ops.Where(x.Sum(-1).Greater(w.Shift(9).Reshape()).Unsqueeze(-1), low, x)
			site = here(1)
			return masked.Sub(masked.MaxKeep(-1)).Exp().Mul(w)
		}, 1000, "sub", "is NaN"},
		{"a gradient", func(x, w ops.Value) ops.Value {
			site = here(1)
			return x.Mul(w).Sqrt()
		}, 0, "", "in the gradient of sqrt recorded at "},
		{"the data", func(x, w ops.Value) ops.Value {
			site = ""
			return x.Mul(w)
		}, math.Inf(-1), "input x", "element 3 of f32[2 2] is -Inf"},
	} {
		for _, accumulate := range []int{1, 2} {
			x := make([]float64, 20)
			for i := range x {
				x[i] = 1 + float64(i)/20
			}
			x[11] = c.bad
			inputs := tensor.New(tensor.SpecOf(tensor.F32, 10, 2))
			for i := range x {
				inputs.Set(i, x[i])
			}
			model := layers.Func(func(lc *layers.Context, x ops.Value) ops.Value {
				return c.forward(x, lc.Param("w", tensor.Of(1), func(w tensor.Tensor, _ layers.Draw) { w.Set(0, 1) }))
			})
			cfg := train.Config{
				Engine: engine(t), Model: model, Loss: meanPrediction, Optimizer: &optim.SGD{LR: 1e-6}, Batch: 2, Epochs: 1, KeepOrder: true, Accumulate: accumulate, DetectAnomaly: true,
			}
			r := fit(t.Context(), cfg, tensors(t, inputs, tensor.New(tensor.SpecOf(tensor.I64, 10))), nil)
			var bad *train.NotFiniteError
			var at *ops.OpError
			want := 3 // the sixth sample is in the third batch
			if accumulate == 2 {
				want = 2
			}
			if !errors.As(r.err, &bad) || bad.Step != want || !errors.As(bad.Origin, &at) {
				t.Errorf("%s: %v, want step %d", c.name, r.err, want)
				continue
			}
			text := r.err.Error()
			if c.op != "" && at.Op != c.op || !strings.Contains(text, c.within) || site != "" && !strings.Contains(text, site) {
				t.Errorf("%s: %v\nwant %s, %q and %s", c.name, r.err, c.op, c.within, site)
			}
			if len(r.losses) != want-1 {
				t.Errorf("%s: %d steps before", c.name, len(r.losses))
			}
		}
	}
}

// TestAnomalyIsNeutral: looking at each step changes no bit, and compiles nothing after the first epoch.
func TestAnomalyIsNeutral(t *testing.T) {
	set := squares(t, samples, 1)
	for _, accumulate := range []int{1, 3} {
		c := config(t)
		c.Accumulate = accumulate
		whole := mustFit(t, c, set)
		c = config(t)
		c.Accumulate, c.DetectAnomaly = accumulate, true
		compiles := map[int]int{}
		r := fit(t.Context(), c, set, func(e train.Event) {
			if e, ok := e.(train.Epoch); ok {
				compiles[e.Epoch] = c.Engine.Stats().Compiles
			}
		})
		if d := cmp.Diff(whole.losses, r.losses); d != "" || r.err != nil {
			t.Errorf("the losses differ: %s, %v", d, r.err)
		}
		compareReports(t, r.report, whole.report)
		if compiles[1] != compiles[epochs] {
			t.Errorf("graphs compiled until the end of each epoch: %v", compiles)
		}
	}
}

// TestAnomalyScaled: gradients of a scaled loss that overflow are no anomaly: the optimizer skips their step.
func TestAnomalyScaled(t *testing.T) {
	for _, accumulate := range []int{1, 2} {
		c := config(t)
		c.DetectAnomaly, c.Accumulate = true, accumulate
		c.Optimizer = &optim.LossScale{Scale: 1 << 24, Optimizer: c.Optimizer}
		c.Loss = func(p, y ops.Value) ops.Value { return ops.CrossEntropy(p, y).Scale(1e32) }
		mustFit(t, c, squares(t, samples, 1))
		skipped := 0.0
		for _, v := range c.Optimizer.State() {
			if v.Name() == "optim.skipped" {
				x, err := v.Value(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				skipped = x.At(0)
			}
		}
		if skipped == 0 {
			t.Errorf("%d batches a step: no step was skipped: the test tests nothing", accumulate)
		}
	}
}
