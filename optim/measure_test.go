package optim_test

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// TestMeasures: the norm is that before the limit, whether it is reached or not, of gradients that are not scaled, 0 where all are 0 or the step is skipped;
// scale and count are those after the step. A recording without an update has no norm.
func TestMeasures(t *testing.T) {
	eng, err := sched.New(acceltest.Reference("reference"))
	if err != nil {
		t.Fatal(err)
	}
	tape := autograd.New(eng)
	v, w := ops.NewVariable("v", tensor.Must(tensor.From([]float64{1, 2}))), ops.NewVariable("w", tensor.Must(tensor.From([]float64{3})))
	opt := &optim.LossScale{Scale: 8, Every: 2, Optimizer: &optim.EMA{Optimizer: &optim.Clip{Norm: 5, Optimizer: &optim.SGD{LR: 0.1}}}}
	if m := optim.Measures(tape, opt); len(m) != 0 {
		t.Errorf("before the first update there are %v", m)
	}
	for i, c := range []struct{ factor, norm, scale, skipped float64 }{
		{1, math.Sqrt(3), 8, 0}, {4, 4 * math.Sqrt(3), 16, 0}, {0, 0, 16, 0}, {math.Inf(1), 0, 8, 1}, {1e200, 1e200 * math.Sqrt(3), 8, 1},
	} {
		loss := tape.Var(v).Sum().Add(tape.Var(w).Sum()).Scale(c.factor)
		opt.Update(tape, loss, v, w)
		got := map[string]ops.Value{}
		for _, m := range optim.Measures(tape, opt) {
			got[m.Name] = m.Value
		}
		res, err := tape.Step(t.Context(), got["gradient_norm"], got["loss_scale"], got["skipped"])
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range []float64{c.norm, c.scale, c.skipped} {
			if x, err := res.Float(t.Context(), k); err != nil || !(math.Abs(x-want) <= 1e-12*want) {
				t.Errorf("update %d: number %d is %v, want %v, %v", i, k, x, want, err)
			}
		}
		res.Release()
		if m := optim.Measures(tape, opt); len(m) != 2 {
			t.Errorf("a recording without an update has %v", m)
		}
		tape.Discard()
	}
}

// TestRateOfGroups is the largest: what is frozen comes first often.
func TestRateOfGroups(t *testing.T) {
	tape, params, loss := newExample()
	opt := &optim.EMA{Optimizer: optim.Groups{
		{Match: func(name string) bool { return name == "bias" }, Optimizer: &optim.SGD{Schedule: optim.Constant{}}},
		{Optimizer: &optim.Adam{LR: 0.25}},
	}}
	l := loss()
	opt.Update(tape, l, params...)
	if rate := optim.RateOf(opt); rate != 0.25 {
		t.Errorf("the rate is %v", rate)
	}
}
