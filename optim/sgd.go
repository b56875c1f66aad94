package optim

import (
	"errors"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
)

// SGD is stochastic gradient descent. With the gradient g of a parameter p,
//
//	g = g + WeightDecay p
//	m = Momentum m + g
//	p = p - rate m
//
// and with Nesterov the last line subtracts rate (g + Momentum m). Without Momentum there is no m. The state is "momentum_buffer".
// Source: I. Sutskever and others, "On the importance of initialization and momentum in deep learning", 2013, in PyTorch's form.
type SGD struct {
	LR          float64  // the rate; 0 means 1e-3
	Schedule    Schedule // the rate of each update, instead of LR
	Momentum    float64  // 0 means none
	Nesterov    bool     // wants Momentum
	WeightDecay float64  // 0 means none
	state
}

// Init makes the state of new parameters.
func (o *SGD) Init(params ...*ops.Variable) {
	if o.Momentum == 0 {
		o.init(params)
	} else {
		o.init(params, moment{name: "momentum_buffer"})
	}
}

// Update records one update by the gradient of the loss.
func (o *SGD) Update(t *autograd.Tape, loss ops.Value, params ...*ops.Variable) {
	o.update(o, t, loss, params)
}

// Apply records one update by gradients.
func (o *SGD) Apply(t *autograd.Tape, params []*ops.Variable, grads []ops.Value) {
	o.Init(params...)
	var wrong error
	if o.Nesterov && o.Momentum == 0 {
		wrong = errors.New("Nesterov wants Momentum")
	}
	lr, ok := o.start(t, "SGD", params, grads, orDefault(o.LR, 1e-3), o.Schedule, wrong, within("Momentum", o.Momentum, 0, 1), notBelow("WeightDecay", o.WeightDecay))
	if !ok {
		return
	}
	rate := fed(t, "rate", lr)
	o.each(t, "SGD", params, grads, func(k *slot, p, g ops.Value) ops.Value {
		g = decayed(p, g, o.WeightDecay)
		if o.Momentum != 0 {
			m := t.Var(k.moments[0]).Scale(o.Momentum).Add(g)
			t.Assign(k.moments[0], m)
			if o.Nesterov {
				g = g.Add(m.Scale(o.Momentum))
			} else {
				g = m
			}
		}
		return p.Sub(g.Mul(rate.in(g)))
	})
}

// decayed is the gradient with that of the penalty decay/2 p².
func decayed(p, g ops.Value, decay float64) ops.Value {
	if decay == 0 {
		return g
	}
	return g.Add(p.Scale(decay))
}
