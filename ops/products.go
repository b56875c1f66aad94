package ops

import "github.com/cortado-ml/cortado/tensor"

// A matrix that many steps multiply by, as the hidden weights of a recurrent layer, has a sum of products for its gradient: aᵀb of each step. With the rows of
// all a below each other, and those of all b, it is one product, which needs no sum of matrices as large as the weights.

// hold keeps a gradient of e that is such a product for settle, and reports whether it is one: its factors must be so narrow that to copy them
// costs less than to add the product.
func (d *differ) hold(e Edge, v Value) bool {
	n := d.r.path[v.id]
	if n.Op != (MatMulOp{TransA: true}) || len(n.Out[0].Shape.Dims()) != 2 {
		return false
	}
	a, b := d.factor(v, 0), d.factor(v, 1)
	if a.Rank() != 2 || b.Rank() != 2 || 2*a.Dim(0)*(a.Dim(1)+b.Dim(1)) >= 3*a.Dim(1)*b.Dim(1) {
		return false
	}
	held := d.held[e]
	if len(held) > 0 && d.factor(held[0], 0).Shape() != a.Shape() {
		return false
	}
	if d.dys[e.Node] == nil {
		d.dys[e.Node] = make([]Value, len(d.r.path[e.Node].Out))
	}
	d.held[e] = append(held, v)
	return true
}

// factor is an operand of the product v.
func (d *differ) factor(v Value, i int) Value {
	e := d.r.path[v.id].In[i]
	return Value{d.r, e.Node, d.r.gen, e.Out}
}

// settle gives what was held for the outputs of a node.
func (d *differ) settle(node uint32) {
	for i := range d.dys[node] {
		e := Edge{node, uint16(i)}
		held := d.held[e]
		delete(d.held, e)
		if len(held) == 1 {
			d.give(e, held[0])
		}
		if len(held) > 1 {
			d.give(e, MatMulT(d.below(held, 0), d.below(held, 1), true, false))
		}
	}
}

// below is factor i of all products, in the order in which they were recorded: row r of each follows row r of the one before, so that a batch axis
// stays the outermost.
func (d *differ) below(held []Value, i int) Value {
	rows := make([]Value, len(held))
	for k, v := range held {
		f := d.factor(v, i)
		rows[len(held)-1-k] = f.reshapeTo(tensor.Of(f.Dim(0), 1, f.Dim(1)))
	}
	return Concat(1, rows...).asMatrix()
}
