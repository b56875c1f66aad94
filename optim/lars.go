package optim

import (
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
)

// LARS gives every parameter, as a layer, a rate in proportion to its norm, for batches of thousands. With the gradient g of a parameter p,
//
//	local = Trust |p| / (|g| + WeightDecay |p|)
//	m     = Momentum m + rate local (g + WeightDecay p)
//	p     = p - m
//
// where local is 1 if |p| or |g| is 0. The state is "momentum_buffer". Biases and norms usually go without: give them to SGD, by [Groups].
// Source: Y. You, I. Gitman and B. Ginsburg, "Large batch training of convolutional networks", 2017, Algorithm 1.
type LARS struct {
	LR          float64  // the rate; 0 means 1, by which an update without decay is Trust times as long as its parameter
	Schedule    Schedule // the rate of each update, instead of LR
	Trust       float64  // the paper's eta; 0 means 0.001
	Momentum    float64  // 0 means none
	WeightDecay float64  // 0 means none
	state
}

// Init makes the state of new parameters.
func (o *LARS) Init(params ...*ops.Variable) {
	if o.Momentum == 0 {
		o.init(params)
	} else {
		o.init(params, moment{name: "momentum_buffer"})
	}
}

// Update records one update by the gradient of the loss.
func (o *LARS) Update(t *autograd.Tape, loss ops.Value, params ...*ops.Variable) {
	o.update(o, t, loss, params)
}

// Apply records one update by gradients.
func (o *LARS) Apply(t *autograd.Tape, params []*ops.Variable, grads []ops.Value) {
	o.Init(params...)
	trust := orDefault(o.Trust, 0.001)
	lr, ok := o.start(t, "LARS", params, grads, orDefault(o.LR, 1), o.Schedule, notBelow("Trust", trust), within("Momentum", o.Momentum, 0, 1), notBelow("WeightDecay", o.WeightDecay))
	if !ok {
		return
	}
	rate := fed(t, "rate", lr)
	o.each(t, "LARS", params, grads, func(k *slot, p, g ops.Value) ops.Value {
		long, steep := GlobalNorm(t, p), GlobalNorm(t, g)
		local := long.Scale(trust).Div(steep.Add(long.Scale(o.WeightDecay)))
		local = ops.Where(long.Equal(scalar(t, 0)).Or(steep.Equal(scalar(t, 0))), scalar(t, 1), local)
		m := decayed(p, g, o.WeightDecay).Mul(rate.f64.Mul(local).Cast(g.DType()))
		if o.Momentum != 0 {
			m = t.Var(k.moments[0]).Scale(o.Momentum).Add(m)
			t.Assign(k.moments[0], m)
		}
		return p.Sub(m)
	})
}
