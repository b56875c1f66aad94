package optim_test

import (
	"fmt"
	"math"
	"strings"
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
		"a schedule of none":  &optim.SGD{Schedule: optim.Warmup{Steps: 3}},
		"an empty chain":      &optim.SGD{Schedule: optim.Chain{}},
		"alpha 1":             &optim.RMSProp{Alpha: 1},
		"momentum -1":         &optim.RMSProp{Momentum: -1},
		"eps Inf":             &optim.RMSProp{Eps: inf},
		"rate decay NaN":      &optim.Adagrad{RateDecay: nan},
		"initial -1":          &optim.Adagrad{Initial: -1},
		"initial NaN":         &optim.FTRL{Initial: nan},
		"beta -1":             &optim.FTRL{Beta: -1},
		"l1 -1":               &optim.FTRL{L1: -1},
		"l2 Inf":              &optim.FTRL{L2: inf},
		"trust -1":            &optim.LARS{Trust: -1},
		"decay -1":            &optim.LARS{WeightDecay: -1},
		"clip by nothing":     &optim.Clip{Optimizer: &optim.SGD{}},
		"clip NaN":            &optim.Clip{Norm: nan, Optimizer: &optim.SGD{}},
		"clip -1":             &optim.Clip{Norm: 1, Value: -1, Optimizer: &optim.SGD{}},
		"clip Inf":            &optim.Clip{Value: inf, Optimizer: &optim.SGD{}},
		"clip of none":        &optim.Clip{Norm: 1},
		"scale NaN":           &optim.LossScale{Scale: nan, Optimizer: &optim.SGD{}},
		"scale -1":            &optim.LossScale{Scale: -1, Optimizer: &optim.SGD{}},
		"scale 1e30":          &optim.LossScale{Scale: 1e30, Optimizer: &optim.SGD{}},
		"every -1":            &optim.LossScale{Every: -1, Optimizer: &optim.SGD{}},
		"scale of none":       &optim.LossScale{},
		"scale of scale":      &optim.LossScale{Optimizer: &optim.LossScale{Optimizer: &optim.SGD{}}},
		"average of scale":    &optim.EMA{Optimizer: &optim.LossScale{Optimizer: &optim.SGD{}}},
		"clip of a nil":       &optim.Clip{Norm: 1, Optimizer: (*optim.SGD)(nil)},
		"scale of a nil":      &optim.LossScale{Optimizer: (*optim.AdamW)(nil)},
		"average of a nil":    &optim.EMA{Optimizer: (*optim.Clip)(nil)},
		"a group of a nil":    optim.Groups{{Optimizer: (*optim.Adam)(nil)}},
		"average of none":     &optim.EMA{},
		"average 1":           &optim.EMA{Decay: 1, Optimizer: &optim.SGD{}},
		"average NaN":         &optim.EMA{Decay: nan, Warmup: true, Optimizer: &optim.SGD{}},
		"no groups":           optim.Groups{},
		"nil groups":          optim.Groups(nil),
		"a group of none":     optim.Groups{{}},
	} {
		calm(t, what, func() {
			tape := autograd.New(nil)
			o.Init(w)
			o.Update(tape, tape.Var(w).Mul(tape.Var(w)), w)
			_, _, _ = o.State(), optim.RateOf(o), optim.AverageOf(o)
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
		opts := []optim.Optimizer{everything(), optim.Groups{{Optimizer: &optim.SGD{}}}}
		for _, fresh := range golden {
			opts = append(opts, fresh())
		}
		for _, o := range opts {
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

// TestFieldsChange: a field that changes while a model trains, as a momentum that sets in late, finds the state that it needs and never another's, and
// a LossScale keeps that too as it was in a step that it skips.
func TestFieldsChange(t *testing.T) {
	momentum := func(on bool) float64 {
		if on {
			return 0.9
		}
		return 0
	}
	sgd, lars, rms, centre, both, centred := &optim.SGD{}, &optim.LARS{}, &optim.RMSProp{}, &optim.RMSProp{}, &optim.RMSProp{Momentum: 0.9}, &optim.RMSProp{Centered: true}
	for _, c := range []struct {
		o      optim.Optimizer
		state  string // what is needed once the field is set
		change func(on bool)
	}{
		{sgd, "w.momentum_buffer", func(on bool) { sgd.Momentum = momentum(on) }},
		{lars, "w.momentum_buffer", func(on bool) { lars.Momentum = momentum(on) }},
		{rms, "w.momentum_buffer", func(on bool) { rms.Momentum = momentum(on) }},
		{centre, "w.grad_avg", func(on bool) { centre.Centered = on }},
		{both, "w.grad_avg", func(on bool) { both.Centered = on }},
		{centred, "w.momentum_buffer", func(on bool) { centred.Momentum = momentum(on) }},
	} {
		o := &optim.LossScale{Optimizer: c.o}
		w := ops.NewVariable("w", tensor.Must(tensor.From([]float32{1, -2}, 2)))
		tape := newTape(t)
		state := func() map[string]string { // after a step
			list := map[string]string{"w": fmt.Sprint(values(t, w))}
			for _, v := range o.State() {
				list[v.Name()] = fmt.Sprint(values(t, v))
			}
			return list
		}
		step := func(times float64) map[string]string {
			t.Helper()
			x := tape.Var(w)
			o.Update(tape, x.Mul(x).Sum().Mul(tape.Scalar("times", tensor.F32, times)), w)
			if _, err := tape.Step(ctx, x); err != nil {
				t.Fatalf("%T: %v", c.o, err)
			}
			return state()
		}
		if _, there := step(1)[c.state]; there {
			t.Errorf("%T has %s without need", c.o, c.state)
		}
		c.change(true)
		first := step(1)
		c.change(false)
		if second := step(1); first[c.state] == "" || second[c.state] != first[c.state] {
			t.Errorf("%T: %s is %s, then, where it is not needed, %s", c.o, c.state, first[c.state], second[c.state])
		}
		c.change(true)
		before, after := state(), step(math.Inf(1))
		for name := range after {
			if !strings.HasPrefix(name, "optim.") && after[name] != before[name] {
				t.Errorf("%T: a step that was skipped changed %s", c.o, name)
			}
		}
		if after["optim.skipped"] != "[1]" || after["optim.step"] != before["optim.step"] {
			t.Errorf("%T: %v skipped, %v updates", c.o, after["optim.skipped"], after["optim.step"])
		}
	}
}
