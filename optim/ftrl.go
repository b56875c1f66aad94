package optim

import (
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
)

// FTRL follows the regularised leader, coordinate by coordinate: the choice for sparse linear models, since L1 makes parameters exactly 0.
// With the gradient g of a parameter p,
//
//	z = z + g - (sqrt(n + g²) - sqrt(n))/rate p
//	n = n + g²
//	p = 0 if |z| <= L1, else -(z - sign(z) L1) / ((Beta + sqrt(n))/rate + L2)
//
// The parameter follows from z and n alone, and where no gradient has come it is 0: start such a model from zeros. The state is "linear",
// which is z, and "sum", which is n. Source: H. B. McMahan and others, "Ad click prediction: a view from the trenches", 2013, Algorithm 1,
// as in Caffe2 and, where Beta is 0, in TensorFlow.
type FTRL struct {
	LR       float64  // the rate, the paper's alpha; 0 means 0.005
	Schedule Schedule // the rate of each update, instead of LR; one that falls makes old gradients count for more
	Beta     float64  // 0 means 1
	L1       float64  // 0 means none
	L2       float64  // 0 means none
	Initial  float64  // the first value of n
	state
}

// Init makes the state of new parameters.
func (o *FTRL) Init(params ...*ops.Variable) {
	o.init(params, moment{name: "linear"}, moment{"sum", o.Initial})
}

// Update records one update by the gradient of the loss.
func (o *FTRL) Update(t *autograd.Tape, loss ops.Value, params ...*ops.Variable) {
	o.update(o, t, loss, params)
}

// Apply records one update by gradients. A rate of 0 keeps everything as it is.
func (o *FTRL) Apply(t *autograd.Tape, params []*ops.Variable, grads []ops.Value) {
	o.Init(params...)
	beta := orDefault(o.Beta, 1)
	lr, ok := o.start(t, "FTRL", params, grads, orDefault(o.LR, 0.005), o.Schedule, notBelow("Beta", beta), notBelow("L1", o.L1), notBelow("L2", o.L2), notBelow("Initial", o.Initial))
	if !ok {
		return
	}
	rate := fed(t, "rate", lr)
	o.each(t, "FTRL", params, grads, func(k *slot, p, g ops.Value) ops.Value {
		z, n, rate := t.Var(k.moments[0]), t.Var(k.moments[1]), rate.in(g)
		still := rate.Equal(ops.Zeros(t.Recorder(), rate.Spec()))
		sum := n.Add(g.Mul(g))
		lin := z.Add(g).Sub(sum.Sqrt().Sub(n.Sqrt()).Div(rate).Mul(p))
		next := lin.Sub(lin.Sign().Scale(o.L1)).Neg().Div(sum.Sqrt().Shift(beta).Div(rate).Shift(o.L2))
		next = ops.Where(lin.Abs().LessEqual(ops.Full(t.Recorder(), lin.Spec(), o.L1)), ops.Zeros(t.Recorder(), lin.Spec()), next)
		t.Assign(k.moments[0], ops.Where(still, z, lin))
		t.Assign(k.moments[1], ops.Where(still, n, sum))
		return ops.Where(still, p, next)
	})
}
