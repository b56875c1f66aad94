package train_test

import (
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// TestPredict: a row for each sample in their order, whatever the batches and with or without targets; its largest elements give the accuracy.
func TestPredict(t *testing.T) {
	c := config(t)
	r := mustFit(t, c, squares(t, samples, 1))
	x, y := tensor.New(tensor.SpecOf(tensor.F32, 11, 1, 8, 8)), tensor.New(tensor.SpecOf(tensor.I64, 11))
	for i := range 11 {
		if err := c.Validation.Sample(i, x.Row(i), y.Row(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, set := range []data.Dataset{c.Validation, tensors(t, x, tensor.Tensor{})} {
		for _, size := range []int{1, 4, 11, 99} {
			got, err := train.Predict(t.Context(), c.Engine, r.report.Net, set, size)
			if err != nil || got.Spec() != tensor.SpecOf(tensor.F32, 11, 3) {
				t.Fatalf("batches of %d: %v, %v", size, got, err)
			}
			right := 0.0
			for i := range 11 {
				best := 0
				for k := range 3 {
					if got.Row(i).At(k) > got.Row(i).At(best) {
						best = k
					}
				}
				if int64(best) == y.Int(i) {
					right++
				}
			}
			if right/11 != r.report.Validation["accuracy"] {
				t.Errorf("batches of %d: %v of 11 are right, validation has %v", size, right, r.report.Validation)
			}
		}
	}
}

// TestPredictMistakes are errors in words.
func TestPredictMistakes(t *testing.T) {
	eng, set := engine(t), squares(t, 4, 1)
	sum, err := layers.Build(layers.Func(func(_ *layers.Context, x ops.Value) ops.Value { return x.Sum() }), tensor.SpecOf(tensor.F32, 1, 1, 8, 8), 1, tensor.F32)
	if err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]func() error{
		"needs an engine":     func() error { _, err := train.Predict(t.Context(), nil, sum, set, 4); return err },
		"needs an engine ":    func() error { _, err := train.Predict(t.Context(), eng, nil, set, 4); return err },
		"nothing to predict":  func() error { _, err := train.Predict(t.Context(), eng, sum, nil, 4); return err },
		"want a row for each": func() error { _, err := train.Predict(t.Context(), eng, sum, set, 4); return err },
		"train: prediction: ": func() error { _, err := train.Predict(t.Context(), eng, sum, set, 0); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
