package cpu

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/vec"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// biasAfter is the node that adds to e a value known by now whose shape fits, if nobody else reads e.
func (c *compiler) biasAfter(e ops.Edge, fits func(tensor.Shape) bool) (node int, bias ops.Edge, ok bool) {
	u, ok := c.onlyUser(e)
	if !ok {
		return 0, ops.Edge{}, false
	}
	n := &c.g.Nodes[u]
	if o, is := n.Op.(ops.BinaryOp); !is || o.F != ops.Add || n.Out[0] != c.spec(e) || n.In[0] == n.In[1] {
		return 0, ops.Edge{}, false
	}
	x := n.In[0]
	if x == e {
		x = n.In[1]
	}
	x = c.unexpanded(x)
	return u, x, fits(c.spec(x).Shape) && c.known(x)
}

// unexpanded is the value that an Expand repeats.
func (c *compiler) unexpanded(e ops.Edge) ops.Edge {
	for {
		n := &c.g.Nodes[e.Node]
		if _, ok := n.Op.(ops.ExpandOp); !ok {
			return e
		}
		e = n.In[0]
	}
}

// known reports whether a value can be had from the steps so far.
func (c *compiler) known(e ops.Edge) bool {
	_, constant := c.consts[e]
	if c.plain[e] != nil || c.blocked[e] != nil || constant {
		return true
	}
	if _, ok := c.g.Nodes[e.Node].Op.(ops.ReshapeOp); ok && !c.fused[e.Node] { // of a parameter, not come to yet
		in := c.g.Nodes[e.Node].In[0]
		if c.plain[in] != nil {
			c.plain[e] = c.plain[in]
			c.fused[e.Node] = true
			return true
		}
	}
	return false
}

// reluAfter is the ReLU of e, if nobody else reads e.
func (c *compiler) reluAfter(e ops.Edge) (node int, ok bool) {
	u, ok := c.onlyUser(e)
	if !ok {
		return 0, false
	}
	o, is := c.g.Nodes[u].Op.(ops.UnaryOp)
	return u, is && o.F == ops.ReLU
}

// needFloat is a value in the type in which kernels compute it: a 16-bit one is converted to float32.
func (c *compiler) needFloat(e ops.Edge) (*value, error) {
	v, err := c.need(e)
	spec := c.spec(e)
	if err != nil || !half(spec.DType) {
		return v, err
	}
	f := c.scratch(4 * spec.Shape.Size())
	return f, c.convert(int(e.Node), v, f, spec.Shape, spec.DType, tensor.F32)
}

// makeFloat is memory in which a kernel makes e, in the type in which it computes. done is called when the kernel is emitted: it rounds a
// 16-bit value.
func (c *compiler) makeFloat(e ops.Edge) (v *value, done func() error) {
	y, spec := c.make(e), c.spec(e)
	if !half(spec.DType) {
		return y, func() error { return nil }
	}
	f := c.scratch(4 * spec.Shape.Size())
	return f, func() error { return c.convert(int(e.Node), f, y, spec.Shape, tensor.F32, spec.DType) }
}

// makeFloats is makeFloat for the outputs of node i from the first one on; those that nobody uses are none.
func (c *compiler) makeFloats(i, first int) (outs []view, done func() error) {
	var rounds []func() error
	for k := first; k < len(c.g.Nodes[i].Out); k++ {
		if !c.used(out(i, k)) {
			outs = append(outs, view{})
			continue
		}
		v, round := c.makeFloat(out(i, k))
		outs, rounds = append(outs, whole(v)), append(rounds, round)
	}
	return outs, func() error { return each(rounds) }
}

// each calls the functions until one fails.
func each(fs []func() error) error {
	for _, f := range fs {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// convert emits a cast.
func (c *compiler) convert(node int, from, to *value, s tensor.Shape, a, b tensor.DType) error {
	p := vec.Program{Shape: tensor.Of(s.Size())}
	p.Outputs = []vec.Reg{p.Cast(p.Input(a, p.Shape), b)}
	chain, err := vec.Compile(c.d.level, &p)
	if err != nil {
		return err
	}
	c.emit("chain", chain, []int{node}, []view{whole(from)}, []view{whole(to)})
	return nil
}
