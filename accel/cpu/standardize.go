package cpu

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/vec"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	_ = kernelOf[ops.StandardizeOp]((*compiler).standardize)
	_ = kernelOf[ops.StandardizeGradOp]((*compiler).standardizeGrad)
)

// standardize emits rows of mean 0 and variance 1, with the scale and the bias of each column that follow.
func (c *compiler) standardize(i int) error {
	n := &c.g.Nodes[i]
	rows, size, _ := lastAxis(n.Args[0].Shape, int8(n.Args[0].Shape.Rank()-1))
	scale, bias, nodes := c.scaleAndBias(i, size)
	want := vec.Standardized{Y: c.used(out(i, 0)), Rstd: c.used(out(i, 1)), Affine: len(nodes) > 1}
	if _, only := c.onlyUser(out(i, 0)); only && want.Affine {
		want.Y = false // the scale is all that reads the rows
	}
	k, err := vec.NewStandardize(c.d.level, computed(n.Args[0].DType), rows, size, n.Op.(ops.StandardizeOp).Eps.Float(), want)
	if err != nil {
		return err
	}
	in, err := views(c.needFloat, n.In[0])
	if err != nil {
		return err
	}
	outs, done := c.makeFloats(i, 0)
	if want.Affine {
		weights, err := views(c.need, scale, bias)
		if err != nil {
			return err
		}
		in, outs = append(in, weights...), append(outs, whole(c.make(out(nodes[2], 0))))
		c.fused[nodes[1]], c.fused[nodes[2]] = true, true
	}
	if !want.Y {
		outs[0] = view{}
		delete(c.plain, out(i, 0))
	}
	c.emit("standardize "+c.d.level.String(), k, nodes, in, outs)
	return done()
}

// scaleAndBias finds the nodes that multiply what node i makes by a number for each of n columns, and add one; nodes is i alone if there are none.
func (c *compiler) scaleAndBias(i, n int) (scale, bias ops.Edge, nodes []int) {
	nodes = []int{i}
	y := out(i, 0)
	columns := func(s tensor.Shape) bool { return s.Size() == n && s.Rank() > 0 && s.Dim(-1) == n }
	if half(c.spec(y).DType) { // rounded before the bias is added
		return scale, bias, nodes
	}
	for _, u := range c.users[y] {
		m := &c.g.Nodes[u]
		if o, is := m.Op.(ops.BinaryOp); !is || o.F != ops.Mul || m.In[0] != y || m.In[1] == y || m.Out[0] != c.spec(y) {
			continue
		}
		scale = c.unexpanded(m.In[1])
		if !columns(c.spec(scale).Shape) || !c.known(scale) {
			continue
		}
		if add, x, ok := c.biasAfter(out(u, 0), columns); ok {
			return scale, x, append(nodes, u, add)
		}
	}
	return scale, bias, nodes
}

// standardizeGrad emits its gradient.
func (c *compiler) standardizeGrad(i int) error {
	n := &c.g.Nodes[i]
	rows, size, _ := lastAxis(n.Args[0].Shape, int8(n.Args[0].Shape.Rank()-1))
	k, err := vec.NewStandardizeGrad(c.d.level, computed(n.Args[0].DType), rows, size)
	if err != nil {
		return err
	}
	return c.simpleFloat(i, "standardize gradient "+c.d.level.String(), k)
}
