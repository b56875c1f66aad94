package contract

import (
	"math"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// net is an MLP with Adam in plain Go, recorded anew in each step: what layers and optimisers come down to.
type net struct {
	w, b []*ops.Variable
	m, v []*ops.Variable // Adam's moments, of the weights, then of the biases
	p    []ops.Value     // scratch
	dt   tensor.DType
	step int
	drop float64
}

func newNet(dt tensor.DType, sizes ...int) *net {
	n := &net{dt: dt}
	for i := range len(sizes) - 1 {
		n.w = append(n.w, ops.NewVariable("w", formula(dt, i, sizes[i], sizes[i+1])))
		n.b = append(n.b, ops.NewVariable("b", formula(dt, i+50, sizes[i+1])))
	}
	for _, p := range n.params() {
		n.m = append(n.m, ops.NewVariable("m", tensor.New(p.Spec())))
		n.v = append(n.v, ops.NewVariable("v", tensor.New(p.Spec())))
	}
	return n
}

func (n *net) params() []*ops.Variable { return append(append([]*ops.Variable(nil), n.w...), n.b...) }

// param is parameter i, weights first.
func (n *net) param(i int) *ops.Variable {
	if i < len(n.w) {
		return n.w[i]
	}
	return n.b[i-len(n.w)]
}

// state is everything that a step changes.
func (n *net) state() []*ops.Variable { return append(append(n.params(), n.m...), n.v...) }

func (n *net) forward(t *autograd.Tape, x ops.Value, train bool) ops.Value {
	for i := range n.w {
		x = x.MatMul(t.Var(n.w[i])).Add(t.Var(n.b[i]))
		if i < len(n.w)-1 {
			x = x.ReLU()
			if train && n.drop > 0 {
				x = ops.Dropout(x, n.drop)
			}
		}
	}
	return x
}

// adam records gradient and update: 14 nodes, 3 variables and 3 assignments for each parameter.
func (n *net) adam(t *autograd.Tape, loss ops.Value, rate float64) {
	n.step++
	n.p = n.p[:0]
	for i := range 2 * len(n.w) {
		n.p = append(n.p, t.Var(n.param(i)))
	}
	g := t.Grad(loss, n.p...)
	k := float64(n.step)
	lr, eps := t.Scalar("lr", n.dt, rate), t.Scalar("eps", n.dt, 1e-8)
	k1, k2 := t.Scalar("k1", n.dt, 1/(1-math.Pow(0.9, k))), t.Scalar("k2", n.dt, 1/(1-math.Pow(0.999, k)))
	for i, p := range n.p {
		m := t.Var(n.m[i]).Scale(0.9).Add(g[i].Scale(0.1))
		v := t.Var(n.v[i]).Scale(0.999).Add(g[i].Mul(g[i]).Scale(0.001))
		t.Assign(n.m[i], m)
		t.Assign(n.v[i], v)
		t.Assign(n.param(i), p.Sub(m.Mul(k1).Mul(lr).Div(v.Mul(k2).Sqrt().Add(eps))))
	}
}

// train records a whole step on inputs and labels.
func (n *net) train(t *autograd.Tape, x, labels tensor.Tensor, rate float64) ops.Value {
	loss := ops.CrossEntropy(n.forward(t, t.Input("x", x), true), t.Input("y", labels))
	n.adam(t, loss, rate)
	return loss
}

// classes are so many labels, below three.
func classes(n int) tensor.Tensor {
	y := make([]int64, n)
	for i := range y {
		y[i] = int64(i % 3)
	}
	return i64(y...)
}
