package train_test

import (
	"bytes"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data"
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

// TestTypes trains nets on data of other types: the loss and the metrics of 16-bit predictions have the digits of float32, in training, validation and
// evaluation, and float64 data and targets give the bits of the same numbers in float32.
func TestTypes(t *testing.T) {
	x, y := tensor.New(tensor.SpecOf(tensor.F32, 12, 3)), tensor.New(tensor.SpecOf(tensor.F32, 12, 2))
	wideX, wideY := tensor.New(tensor.SpecOf(tensor.F64, 12, 3)), tensor.New(tensor.SpecOf(tensor.F64, 12, 2))
	for i := range x.Len() {
		x.Set(i, math.Sin(float64(i)))
		wideX.Set(i, x.At(i))
	}
	for i := range y.Len() {
		y.Set(i, math.Cos(float64(i)))
		wideY.Set(i, y.At(i))
	}
	fit := func(d tensor.DType, set data.Dataset) trace {
		c := train.Config{
			Engine: engine(t), Model: layers.Linear{Out: 2}, Loss: ops.MSE, Optimizer: &optim.SGD{LR: 0.1}, DType: d, Batch: 4, Epochs: 2,
			Validation: set, Metrics: []train.Metric{train.MSE()},
		}
		r := mustFit(t, c, set)
		got, err := train.Evaluate(t.Context(), c.Engine, r.report.Net, set, 4, c.Loss, c.Metrics...)
		if err != nil || !maps.Equal(got, r.report.Validation) {
			t.Errorf("%v: evaluated %v, %v, validated %v", d, got, err, r.report.Validation)
		}
		return r
	}
	narrow, wide := fit(tensor.F32, tensors(t, x, y)), fit(tensor.F32, tensors(t, wideX, wideY))
	if !maps.Equal(narrow.losses, wide.losses) {
		t.Errorf("float64 data give %v, float32 data %v", wide.losses, narrow.losses)
	}
	for _, d := range []tensor.DType{tensor.BF16, tensor.F16} {
		r := fit(d, tensors(t, x, y))
		digits := 0
		for _, bits := range r.losses {
			loss, rounded := math.Float64frombits(bits), tensor.New(tensor.SpecOf(d, 1))
			if rounded.Set(0, loss); rounded.At(0) != loss {
				digits++
			}
		}
		if v := r.report.Validation; digits < 4 || math.Abs(v["loss"]-v["mse"]) > 1e-6*v["mse"] {
			t.Errorf("%v: %d of %d losses have more digits than 16 bits, validation %v", d, digits, len(r.losses), v)
		}
	}
}
