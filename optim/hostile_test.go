package optim_test

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
)

// TestHostileOptimisers: fields and arguments that cannot be are errors of the recording, never a panic, and the parameters do not move.
func TestHostileOptimisers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	w := ops.NewVariable("w", tensor.Scalar[float64](1))
	ints := ops.NewVariable("ints", tensor.Scalar[int64](1))
	none := ops.NewVariable("none", tensor.Tensor{})
	for what, o := range map[string]optim.Optimizer{
		"rate NaN":            &optim.SGD{LR: nan},
		"rate -1":             &optim.SGD{LR: -1},
		"rate Inf":            &optim.AdamW{LR: inf},
		"momentum 1":          &optim.SGD{Momentum: 1},
		"momentum NaN":        &optim.SGD{Momentum: nan},
		"nesterov alone":      &optim.SGD{Nesterov: true},
		"decay NaN":           &optim.SGD{WeightDecay: nan},
		"decay Inf":           &optim.AdamW{WeightDecay: inf},
		"beta1 2":             &optim.Adam{Beta1: 2},
		"beta2 NaN":           &optim.Adam{Beta2: nan},
		"beta2 -1":            &optim.AdamW{Beta2: -1},
		"eps NaN":             &optim.Adam{Eps: nan},
		"a schedule of NaN":   &optim.Adam{Schedule: optim.Constant{LR: nan}},
		"a schedule below":    &optim.SGD{Schedule: optim.Cosine{LR: -1, Steps: 3}},
		"a cycle without end": &optim.SGD{Schedule: optim.OneCycle{Max: inf}},
	} {
		calm(t, what, func() {
			tape := autograd.New(nil)
			o.Update(tape, tape.Var(w).Mul(tape.Var(w)), w)
			if tape.Err() == nil {
				t.Errorf("%s: no error", what)
			}
		})
	}
	for what, f := range map[string]func(t *autograd.Tape, o optim.Optimizer){
		"no parameters":          func(t *autograd.Tape, o optim.Optimizer) { o.Update(t, t.Var(w)) },
		"a nil parameter":        func(t *autograd.Tape, o optim.Optimizer) { o.Update(t, t.Var(w), w, nil) },
		"no loss":                func(t *autograd.Tape, o optim.Optimizer) { o.Update(t, ops.Value{}, w) },
		"a loss of integers":     func(t *autograd.Tape, o optim.Optimizer) { o.Update(t, t.Var(ints), w) },
		"a parameter of ints":    func(t *autograd.Tape, o optim.Optimizer) { o.Update(t, t.Var(w), ints) },
		"a parameter of nothing": func(t *autograd.Tape, o optim.Optimizer) { o.Update(t, t.Var(w), none) },
		"a loss of another tape": func(t *autograd.Tape, o optim.Optimizer) { o.Update(t, autograd.New(nil).Var(w), w) },
	} {
		for _, o := range []optim.Optimizer{&optim.SGD{Momentum: 0.9}, &optim.Adam{}, &optim.AdamW{}} {
			calm(t, what, func() {
				o.Init(nil, nil)
				tape := autograd.New(nil)
				f(tape, o)
				if tape.Err() == nil {
					t.Errorf("%s: no error of %T", what, o)
				}
				_ = o.State()
			})
		}
	}
	for what, s := range map[string]optim.Schedule{
		"cosine": optim.Cosine{LR: 1, Steps: math.MaxInt, Warmup: math.MaxInt}, "backwards": optim.Cosine{LR: 1, Steps: math.MinInt, Warmup: math.MinInt},
		"one cycle": optim.OneCycle{Max: 1, Steps: math.MaxInt}, "one step": optim.OneCycle{Max: 1, Steps: 1}, "no step": optim.OneCycle{Max: 1, Steps: -1},
		"all rise": optim.OneCycle{Max: 1, Steps: 10, Rise: 1}, "more than all": optim.OneCycle{Max: 1, Steps: 10, Rise: 5},
	} {
		for _, step := range []int{0, 1, 9, 10, 11, 1e9, math.MaxInt} {
			if r := s.Rate(step); !(r >= 0 && r <= 1) {
				t.Errorf("%s at %d is %v", what, step, r)
			}
		}
	}
}

// calm turns a panic into a failure.
func calm(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if p := recover(); p != nil {
			t.Errorf("%s: panic: %v", what, p)
		}
	}()
	f()
}
