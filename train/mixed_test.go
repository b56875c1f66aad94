package train_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// TestHalfPrecision trains in float16 with all that goes around an optimiser, and a loss scale that is too large for the first steps, which are
// skipped: the run learns, and interrupted and resumed it writes the same last checkpoint, byte for byte.
func TestHalfPrecision(t *testing.T) {
	set := squares(t, samples, 1)
	fit := func(folder string, steps int) (*train.Report, optim.Optimizer) {
		c := config(t)
		c.DType, c.Checkpoint, c.Resume, c.Steps, c.Epochs = tensor.F16, folder, true, steps, 0
		c.Validation, c.Metrics = nil, nil
		c.Model = append(layers.Sequential{layers.Func(func(_ *layers.Context, x ops.Value) ops.Value { return x.Cast(tensor.F16) })}, small...)
		c.Loss = func(x, y ops.Value) ops.Value { return ops.CrossEntropy(x.Cast(tensor.F32), y) }
		c.Optimizer = &optim.LossScale{Scale: 1 << 20, Every: 6, Optimizer: &optim.EMA{Warmup: true, Optimizer: &optim.Clip{Norm: 1, Optimizer: optim.Groups{
			{
				Match:     func(name string) bool { return strings.HasSuffix(name, "weight") },
				Optimizer: &optim.AdamW{Schedule: optim.Warmup{Steps: 4, Then: optim.Cosine{LR: 0.02, Steps: 30}}},
			},
			{Optimizer: &optim.SGD{Momentum: 0.9, LR: 0.01}},
		}}}}
		r, err := train.Fit(t.Context(), c, set)
		if err != nil {
			t.Fatal(err)
		}
		return r, c.Optimizer
	}
	whole, opt := fit(t.TempDir(), 30)
	folder := t.TempDir()
	fit(folder, 7)
	resumed, _ := fit(folder, 30)
	a, errA := os.ReadFile(whole.Checkpoint)
	b, errB := os.ReadFile(resumed.Checkpoint)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("the checkpoints differ: %v, %v", errA, errB)
	}
	if whole.Loss > 0.9 { // log 3 is 1.1
		t.Errorf("the loss is %v", whole.Loss)
	}
	for _, v := range opt.State() {
		if v.Name() != "optim.skipped" {
			continue
		}
		if n, err := v.Value(t.Context()); err != nil || n.Int(0) == 0 {
			t.Errorf("%v steps skipped, %v", n, err)
		}
	}
}
