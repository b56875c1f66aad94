package optim

import (
	"math"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// LossScale multiplies the loss before its gradient is taken, so that small gradients of 16-bit parameters do not vanish, and divides the
// gradients again, in float32. It goes around all other optimisers, [Clip] too. A step with a gradient that is NaN or infinite is skipped:
// parameters, moments, averages and the number of updates stay as they are, and the scale is halved. After Every good updates in a row it
// doubles. All that happens on the device, without asking it. What the forward pass itself assigns, such as running statistics, is not
// skipped. A schedule goes on in a skipped step.
//
// [Measures] tells the scale and the steps that were skipped. The state is "optim.loss_scale", "optim.good_steps" in a row, "optim.skipped", and the optimiser's. Source: P. Micikevicius and others,
// "Mixed precision training", 2018.
type LossScale struct {
	Optimizer Optimizer
	Scale     float64 // the first scale; 0 means 32768. Powers of two round nothing
	Every     int     // 0 means 2000
	Static    bool    // keeps the scale, and still skips

	scale, good, skipped *ops.Variable
	clock                *clock // the optimiser's
	made                 int    // what the clock has counted
	known                map[*ops.Variable]bool
	params               []*ops.Variable
	guarded              []*ops.Variable // the parameters and the optimiser's state
	before               []ops.Value     // scratch: their values before the update
	grads                []ops.Value
	gradients
}

// The scale stays within 2^-24 and 2^24.
const scaleLimit = 1 << 24

// Init makes the state of new parameters.
func (o *LossScale) Init(params ...*ops.Variable) {
	if o.scale == nil {
		o.scale = ops.NewVariable("optim.loss_scale", tensor.Scalar(float32(orDefault(o.Scale, 1<<15))))
		o.good = ops.NewVariable("optim.good_steps", tensor.Scalar[int64](0))
		o.skipped = ops.NewVariable("optim.skipped", tensor.Scalar[int64](0))
		o.known = map[*ops.Variable]bool{}
		o.clock = newClock(stepName, o.skipped)
		share(o.Optimizer, o.clock)
	}
	initInner(o.Optimizer, params)
	n := len(o.params)
	for _, p := range params {
		if p != nil && !o.known[p] {
			o.known[p], o.params = true, append(o.params, p)
		}
	}
	if len(o.params) > n || o.clock.made != o.made {
		o.made = o.clock.made
		o.guarded = append(append(o.guarded[:0], o.params...), stateInner(o.Optimizer)...)
	}
}

// State is all variables: the optimiser's, then the three of the scale.
func (o *LossScale) State() []*ops.Variable {
	if o.scale == nil {
		return stateInner(o.Optimizer)
	}
	inner := stateInner(o.Optimizer)
	return append(inner[:len(inner):len(inner)], o.scale, o.good, o.skipped)
}

// Loss is the loss times the scale, in float32 at least.
func (o *LossScale) Loss(t *autograd.Tape, loss ops.Value) ops.Value {
	o.Init()
	if !missing(o.Optimizer) {
		loss = o.Optimizer.Loss(t, loss)
	}
	if !loss.DType().Float() {
		return loss // which the gradient refuses
	}
	loss = loss.Cast(work(loss.DType()))
	return loss.Mul(t.Var(o.scale).Cast(loss.DType()))
}

// Update records one update by the gradient of the loss. It is for once in a step.
func (o *LossScale) Update(t *autograd.Tape, loss ops.Value, params ...*ops.Variable) {
	o.update(o, t, loss, params)
}

// Apply records one update by gradients of the scaled loss. It is for once in a step.
func (o *LossScale) Apply(t *autograd.Tape, params []*ops.Variable, grads []ops.Value) {
	if err := first(around(o.Optimizer), within("Scale", orDefault(o.Scale, 1), 1.0/scaleLimit, 2*scaleLimit), within("Every", float64(o.Every), 0, math.Inf(1)), paired(params, grads)); err != nil {
		fail(t, "LossScale", err)
		return
	}
	o.Init(params...)
	var good ops.Value
	t.Scope("loss scale", func() {
		peak := scalar(t, 0)
		for _, g := range grads {
			peak = peak.Maximum(largest(t, g))
		}
		good = peak.IsFinite()
		o.grads = o.grads[:0]
		for _, g := range grads { // zeros in a step that is skipped, so that a Clip has nothing to refuse
			g = g.Cast(work(g.DType()))
			o.grads = append(o.grads, ops.Where(good, g.Div(t.Var(o.scale).Cast(g.DType())), ops.Zeros(t.Recorder(), tensor.Spec{DType: g.DType()})))
		}
	})
	o.before = o.before[:0]
	for _, v := range o.guarded {
		o.before = append(o.before, t.Var(v))
	}
	o.Optimizer.Apply(t, params, o.grads)
	t.Scope("loss scale", func() {
		for i, v := range o.guarded {
			if x := t.Var(v); x != o.before[i] {
				t.Assign(v, ops.Where(good, x, o.before[i]))
			}
		}
		o.adapt(t, good)
	})
}

// adapt records the next scale and what is counted for it.
func (o *LossScale) adapt(t *autograd.Tape, good ops.Value) {
	whole := func(x float64) ops.Value { return ops.Full(t.Recorder(), o.good.Spec(), x) }
	n, scale := t.Var(o.good).Add(whole(1)), t.Var(o.scale)
	every := o.Every
	if every == 0 {
		every = 2000
	}
	grow := n.GreaterEqual(whole(float64(every)))
	t.Assign(o.good, ops.Where(good, ops.Where(grow, whole(0), n), whole(0)))
	t.Assign(o.skipped, t.Var(o.skipped).Add(ops.Where(good, whole(0), whole(1))))
	if !o.Static {
		up, down := scale.Scale(2).Clip(0, scaleLimit), scale.Scale(0.5).Clip(1.0/scaleLimit, scaleLimit)
		t.Assign(o.scale, ops.Where(good, ops.Where(grow, up, scale), down))
	}
}
