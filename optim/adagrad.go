package optim

import (
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
)

// Adagrad divides the gradient by the root of the sum of its squares so far. In update t, with the gradient g of a parameter p,
//
//	g = g + WeightDecay p
//	s = s + g²
//	p = p - rate/(1 + (t-1) RateDecay) g / (sqrt(s) + Eps)
//
// The state is "sum", which is s. Source: J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods for online learning and
// stochastic optimization", 2011, in PyTorch's form.
type Adagrad struct {
	LR          float64  // the rate; 0 means 0.01
	Schedule    Schedule // the rate of each update, instead of LR
	RateDecay   float64  // 0 means none
	Initial     float64  // the first value of s
	Eps         float64  // 0 means 1e-10
	WeightDecay float64  // 0 means none
	state
}

// Init makes the state of new parameters.
func (o *Adagrad) Init(params ...*ops.Variable) { o.init(params, moment{"sum", o.Initial}) }

// Update records one update by the gradient of the loss.
func (o *Adagrad) Update(t *autograd.Tape, loss ops.Value, params ...*ops.Variable) {
	o.update(o, t, loss, params)
}

// Apply records one update by gradients.
func (o *Adagrad) Apply(t *autograd.Tape, params []*ops.Variable, grads []ops.Value) {
	o.Init(params...)
	eps := orDefault(o.Eps, 1e-10)
	lr, ok := o.start(t, "Adagrad", params, grads, orDefault(o.LR, 0.01), o.Schedule, notBelow("RateDecay", o.RateDecay), notBelow("Initial", o.Initial),
		notBelow("Eps", eps), notBelow("WeightDecay", o.WeightDecay))
	if !ok {
		return
	}
	rate := fed(t, "rate", lr)
	if o.RateDecay != 0 {
		t.Scope("optim", func() { rate.f64 = rate.f64.Div(o.now(t).Shift(-1).Scale(o.RateDecay).Shift(1)) })
	}
	o.each(t, "Adagrad", params, grads, func(k *slot, p, g ops.Value) ops.Value {
		g = decayed(p, g, o.WeightDecay)
		s := t.Var(k.moments[0]).Add(g.Mul(g))
		t.Assign(k.moments[0], s)
		return p.Sub(g.Div(s.Sqrt().Shift(eps)).Mul(rate.in(g)))
	})
}
