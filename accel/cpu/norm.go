package cpu

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
)

// batchNorm emits batch-norm of a training batch, with the ReLU that follows it where nobody else reads what lies between.
func (c *compiler) batchNorm(i int) error {
	n := &c.g.Nodes[i]
	nodes, last, relu := []int{i}, out(i, 0), false
	if r, ok := c.reluAfter(last); ok && !half(n.Out[0].DType) {
		nodes, last, relu = append(nodes, r), out(r, 0), true
		c.fused[r] = true
	}
	p, err := conv.NewNorm(c.d.level, images(n.Args[0].Shape), n.Op.(ops.BatchNormOp).Eps.Float(), relu)
	if err != nil {
		return err
	}
	x, err := c.image(n.In[0])
	if err != nil {
		return err
	}
	in := []view{all(x)}
	for _, e := range n.In[1:] {
		v, err := c.needFloat(e)
		if err != nil {
			return err
		}
		in = append(in, all(v))
	}
	y, done := c.makeImage(last)
	outs, rounds := []view{all(y)}, []func() error{done}
	for k := 1; k < 3; k++ {
		v, done, err := c.makeFloat(out(i, k))
		if err != nil {
			return err
		}
		outs, rounds = append(outs, all(v)), append(rounds, done)
	}
	c.emit("batch-norm "+c.d.level.String(), normKernel{p}, nodes, in, outs)
	return each(rounds)
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

type normKernel struct{ *conv.Norm }

func (k normKernel) Run(pool *work.Pool, in, out [][]byte) error {
	k.Forward(pool, floats(out[0]), floats(out[1]), floats(out[2]), floats(in[0]), floats(in[1]), floats(in[2]))
	return nil
}

// batchNormInfer emits batch-norm with given statistics, and the ReLU that follows it.
func (c *compiler) batchNormInfer(i int) error {
	n := &c.g.Nodes[i]
	nodes, last, relu := []int{i}, out(i, 0), false
	if r, ok := c.reluAfter(last); ok && !half(n.Out[0].DType) {
		nodes, last, relu = append(nodes, r), out(r, 0), true
		c.fused[r] = true
	}
	p, err := conv.NewNorm(c.d.level, images(n.Args[0].Shape), n.Op.(ops.BatchNormInferOp).Eps.Float(), relu)
	if err != nil {
		return err
	}
	x, err := c.image(n.In[0])
	if err != nil {
		return err
	}
	in := []view{all(x)}
	for _, e := range n.In[1:] {
		v, err := c.needFloat(e)
		if err != nil {
			return err
		}
		in = append(in, all(v))
	}
	y, done := c.makeImage(last)
	c.emit("batch-norm inference "+c.d.level.String(), normInferKernel{p}, nodes, in, []view{all(y)})
	return done()
}

type normInferKernel struct{ *conv.Norm }

func (k normInferKernel) Run(pool *work.Pool, in, out [][]byte) error {
	k.Infer(pool, floats(out[0]), floats(in[0]), floats(in[1]), floats(in[2]), floats(in[3]), floats(in[4]))
	return nil
}

// batchNormGrad emits the gradient of batch-norm from x, scale, mean, variance and dy; and the gradient of the ReLU between, where dy is that
// and nobody else reads it: then the ReLU's output tells where dy passes.
func (c *compiler) batchNormGrad(i int) error {
	n := &c.g.Nodes[i]
	dy, y := n.In[4], ops.Edge{}
	nodes, relu := []int{i}, false
	if g := &c.g.Nodes[dy.Node]; c.cluster[dy] != nil && len(c.cluster[dy].nodes) == 1 {
		if _, is := g.Op.(ops.ReLUGradOp); is && !half(n.Out[0].DType) {
			if _, only := c.onlyUser(dy); only {
				c.drop(c.cluster[dy])
				nodes, relu = []int{int(dy.Node), i}, true
				y, dy = g.In[0], g.In[1]
			}
		}
	}
	p, err := conv.NewNorm(c.d.level, images(n.Args[0].Shape), n.Op.(ops.BatchNormGradOp).Eps.Float(), relu)
	if err != nil {
		return err
	}
	var in []view
	for _, e := range []ops.Edge{n.In[0], dy} {
		v, err := c.image(e)
		if err != nil {
			return err
		}
		in = append(in, all(v))
	}
	for _, e := range n.In[1:4] {
		v, err := c.needFloat(e)
		if err != nil {
			return err
		}
		in = append(in, all(v))
	}
	if relu {
		v, err := c.image(y)
		if err != nil {
			return err
		}
		in = append(in, all(v))
	}
	dx, done := c.makeImage(out(i, 0))
	outs, rounds := []view{all(dx)}, []func() error{done}
	for k := 1; k < 3; k++ {
		v, done, err := c.makeFloat(out(i, k))
		if err != nil {
			return err
		}
		outs, rounds = append(outs, all(v)), append(rounds, done)
	}
	c.emit("batch-norm gradient "+c.d.level.String(), normGradKernel{p}, nodes, in, outs)
	return each(rounds)
}

// drop forgets a cluster whose only node another step computes.
func (c *compiler) drop(k *cluster) {
	c.forget(k)
	for _, i := range k.nodes {
		c.fused[i] = true
	}
}

type normGradKernel struct{ *conv.Norm }

func (k normGradKernel) Run(pool *work.Pool, in, out [][]byte) error {
	var y []float32
	if len(in) > 5 {
		y = floats(in[5])
	}
	k.Backward(pool, floats(out[0]), floats(out[1]), floats(out[2]), floats(in[1]), y, floats(in[0]), floats(in[2]), floats(in[3]), floats(in[4]))
	return nil
}
