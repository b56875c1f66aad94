package sched

import (
	"math"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// fold simplifies an operation whose inputs are canonical. It returns a value to use in its place, or rewrites n to a constant. It never
// changes a bit of a result: x+0 stays, since -0+0 is 0.
func (m *canonicaliser) fold(n *node) (ops.Edge, bool) {
	switch o := n.op.(type) {
	case ops.StopGradientOp:
		return n.in[0], true
	case ops.UnaryOp:
		if o.F == ops.Identity {
			return n.in[0], true
		}
	case ops.ReshapeOp, ops.ExpandOp, ops.CastOp:
		if m.spec(n.in[0]) == n.out[0] {
			return n.in[0], true
		}
	case ops.ScaleOp:
		if o.By.Float() == 1 {
			return n.in[0], true
		}
	case ops.BinaryOp:
		for i, e := range n.in {
			other := n.in[1-i]
			x, ok := m.constant(e)
			if ok && x == 1 && (o.F == ops.Mul || o.F == ops.Div && i == 1) && m.spec(other) == n.out[0] {
				return other, true
			}
		}
	}
	m.foldConstant(n)
	return ops.Edge{}, false
}

// foldConstant rewrites n to a constant if all its inputs are, and each element of its output depends on one element of each input.
func (m *canonicaliser) foldConstant(n *node) {
	if len(n.in) == 0 || len(n.out) != 1 {
		return
	}
	in := make([]tensor.Tensor, len(n.in))
	for i, e := range n.in {
		x, ok := m.constant(e)
		if !ok {
			return
		}
		in[i] = tensor.Full(tensor.Spec{DType: m.spec(e).DType}, x)
	}
	switch n.op.(type) {
	case ops.ReshapeOp, ops.ExpandOp, ops.TransposeOp, ops.SliceOp:
		n.op = ops.FillOp{Spec: n.out[0], X: ops.F(in[0].At(0))}
	case ops.BinaryOp, ops.UnaryOp, ops.ReLUGradOp, ops.ScaleOp, ops.ShiftOp, ops.CastOp, ops.CompareOp, ops.WhereOp:
		y := tensor.New(tensor.Spec{DType: n.out[0].DType})
		if err := n.op.Ref([]tensor.Tensor{y}, in); err != nil {
			return
		}
		x := y.At(0)
		if y.DType() == tensor.I64 && int64(x) != y.Int(0) || math.IsNaN(x) { // the attribute is a float64, and a NaN keeps its payload
			return
		}
		n.op = ops.FillOp{Spec: n.out[0], X: ops.F(x)}
	default:
		return
	}
	n.in = nil
}

// constant is the number that every element of e is, if it is a constant.
func (m *canonicaliser) constant(e ops.Edge) (float64, bool) {
	if e.Node&isParam != 0 {
		return 0, false
	}
	f, ok := m.body[e.Node].op.(ops.FillOp)
	if !ok {
		return 0, false
	}
	// as the type holds it
	return tensor.Full(tensor.Spec{DType: f.Spec.DType}, f.X.Float()).At(0), true
}

func (m *canonicaliser) spec(e ops.Edge) tensor.Spec {
	if e.Node&isParam != 0 {
		return m.params[e.Node&^isParam].out[e.Out]
	}
	return m.body[e.Node].out[e.Out]
}
