package optim

import (
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Adam adapts the step to each number. In update t, with the gradient g of a parameter p,
//
//	g = g + WeightDecay p
//	m = m + (1-Beta1) (g - m)
//	v = Beta2 v + (1-Beta2) g²
//	p = p - rate/(1-Beta1^t) m / (sqrt(v)/sqrt(1-Beta2^t) + Eps)
//
// The state is "exp_avg", which is m, and "exp_avg_sq", which is v. Source: D. P. Kingma and J. Ba, "Adam", 2015, in PyTorch's form.
type Adam struct {
	LR          float64  // the rate; 0 means 1e-3
	Schedule    Schedule // the rate of each update, instead of LR
	Beta1       float64  // 0 means 0.9
	Beta2       float64  // 0 means 0.999
	Eps         float64  // 0 means 1e-8
	WeightDecay float64  // 0 means none
	state
}

// AdamW is Adam with decoupled weight decay: instead of changing g it first takes p = p - rate WeightDecay p. Source: I. Loshchilov and
// F. Hutter, "Decoupled weight decay regularization", 2019.
type AdamW struct {
	LR          float64  // the rate; 0 means 1e-3
	Schedule    Schedule // the rate of each update, instead of LR
	Beta1       float64  // 0 means 0.9
	Beta2       float64  // 0 means 0.999
	Eps         float64  // 0 means 1e-8
	WeightDecay float64  // 0 means 0.01; for none take Adam, which is AdamW then
	state
}

// Init makes the state of new parameters.
func (o *Adam) Init(params ...*ops.Variable) { o.initAdam(params) }

// Init makes the state of new parameters.
func (o *AdamW) Init(params ...*ops.Variable) { o.initAdam(params) }

func (s *state) initAdam(params []*ops.Variable) {
	s.init(params, moment{name: "exp_avg"}, moment{name: "exp_avg_sq"})
}

// Update records one update by the gradient of the loss.
func (o *Adam) Update(t *autograd.Tape, loss ops.Value, params ...*ops.Variable) {
	o.update(o, t, loss, params)
}

// Update records one update by the gradient of the loss.
func (o *AdamW) Update(t *autograd.Tape, loss ops.Value, params ...*ops.Variable) {
	o.update(o, t, loss, params)
}

// Apply records one update by gradients.
func (o *Adam) Apply(t *autograd.Tape, params []*ops.Variable, grads []ops.Value) {
	o.adam(t, "Adam", params, grads, o.Schedule, moments{lr: o.LR, beta1: o.Beta1, beta2: o.Beta2, eps: o.Eps, decay: o.WeightDecay})
}

// Apply records one update by gradients.
func (o *AdamW) Apply(t *autograd.Tape, params []*ops.Variable, grads []ops.Value) {
	decay := orDefault(o.WeightDecay, 0.01)
	o.adam(t, "AdamW", params, grads, o.Schedule, moments{lr: o.LR, beta1: o.Beta1, beta2: o.Beta2, eps: o.Eps, decay: decay, decoupled: true})
}

// moments are the hyper-parameters of both.
type moments struct {
	lr, beta1, beta2, eps, decay float64
	decoupled                    bool
}

// adam records the update of both. The corrections 1-Beta^t are computed from the device's count, which a skipped update does not move.
func (s *state) adam(t *autograd.Tape, name string, params []*ops.Variable, grads []ops.Value, by Schedule, h moments) {
	s.initAdam(params)
	h.beta1, h.beta2, h.eps = orDefault(h.beta1, 0.9), orDefault(h.beta2, 0.999), orDefault(h.eps, 1e-8)
	lr, ok := s.start(t, name, params, grads, orDefault(h.lr, 1e-3), by, within("Beta1", h.beta1, 0, 1), within("Beta2", h.beta2, 0, 1),
		notBelow("Eps", h.eps), notBelow("WeightDecay", h.decay))
	if !ok {
		return
	}
	var step, root, keep number
	t.Scope("optim", func() {
		n := s.now(t)
		step.f64 = t.Scalar("rate", tensor.F64, lr).Div(scalar(t, h.beta1).Pow(n).Neg().Shift(1))
		root.f64 = scalar(t, 1).Div(scalar(t, h.beta2).Pow(n).Neg().Shift(1).Sqrt())
		if h.decay != 0 && h.decoupled {
			keep = fed(t, "decay", 1-lr*h.decay)
		}
	})
	s.each(t, name, params, grads, func(k *slot, p, g ops.Value) ops.Value {
		if h.decoupled && h.decay != 0 {
			p = p.Mul(keep.in(p))
		} else {
			g = decayed(p, g, h.decay)
		}
		m, v := t.Var(k.moments[0]), t.Var(k.moments[1])
		m = m.Add(g.Sub(m).Scale(1 - h.beta1))
		v = v.Scale(h.beta2).Add(g.Mul(g).Scale(1 - h.beta2))
		t.Assign(k.moments[0], m)
		t.Assign(k.moments[1], v)
		return p.Sub(m.Div(v.Sqrt().Mul(root.in(v)).Shift(h.eps)).Mul(step.in(m)))
	})
}
