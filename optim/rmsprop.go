package optim

import (
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
)

// RMSProp divides the gradient by a running root of its mean square. With the gradient g of a parameter p,
//
//	g = g + WeightDecay p
//	v = Alpha v + (1-Alpha) g²
//	s = sqrt(v) + Eps
//	p = p - rate g / s
//
// Centered, a = a + (1-Alpha) (g - a) and s = sqrt(v - a²) + Eps, where rounding does not take v - a² below 0. With Momentum,
// m = Momentum m + g/s and p = p - rate m. The state is "square_avg", which is v, and if they are used "momentum_buffer" and "grad_avg",
// which is a. Source: T. Tieleman and G. Hinton, "Lecture 6.5", 2012, and for the centred form A. Graves, "Generating sequences with
// recurrent neural networks", 2013, in PyTorch's form.
type RMSProp struct {
	LR          float64  // the rate; 0 means 0.01
	Schedule    Schedule // the rate of each update, instead of LR
	Alpha       float64  // 0 means 0.99
	Eps         float64  // 0 means 1e-8
	Momentum    float64  // 0 means none
	Centered    bool     // divides by a running standard deviation instead
	WeightDecay float64  // 0 means none
	state
}

// Init makes the state of new parameters.
func (o *RMSProp) Init(params ...*ops.Variable) {
	var mean, m moment // each keeps its place, whether the other is needed or not
	if o.Centered {
		mean.name = "grad_avg"
	}
	if o.Momentum != 0 {
		m.name = "momentum_buffer"
	}
	o.init(params, moment{name: "square_avg"}, mean, m)
}

// Update records one update by the gradient of the loss.
func (o *RMSProp) Update(t *autograd.Tape, loss ops.Value, params ...*ops.Variable) {
	o.update(o, t, loss, params)
}

// Apply records one update by gradients.
func (o *RMSProp) Apply(t *autograd.Tape, params []*ops.Variable, grads []ops.Value) {
	o.Init(params...)
	alpha, eps := orDefault(o.Alpha, 0.99), orDefault(o.Eps, 1e-8)
	lr, ok := o.start(t, "RMSProp", params, grads, orDefault(o.LR, 0.01), o.Schedule, within("Alpha", alpha, 0, 1), notBelow("Eps", eps),
		within("Momentum", o.Momentum, 0, 1), notBelow("WeightDecay", o.WeightDecay))
	if !ok {
		return
	}
	rate := fed(t, "rate", lr)
	o.each(t, "RMSProp", params, grads, func(k *slot, p, g ops.Value) ops.Value {
		g = decayed(p, g, o.WeightDecay)
		v := t.Var(k.moments[0]).Scale(alpha).Add(g.Mul(g).Scale(1 - alpha))
		t.Assign(k.moments[0], v)
		if o.Centered {
			a := t.Var(k.moments[1])
			a = a.Add(g.Sub(a).Scale(1 - alpha))
			t.Assign(k.moments[1], a)
			v = v.Sub(a.Mul(a)).ReLU()
		}
		g = g.Div(v.Sqrt().Shift(eps))
		if o.Momentum != 0 {
			g = t.Var(k.moments[2]).Scale(o.Momentum).Add(g)
			t.Assign(k.moments[2], g)
		}
		return p.Sub(g.Mul(rate.in(g)))
	})
}
