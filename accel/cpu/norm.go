package cpu

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
)

var (
	_ = imageKernel[ops.BatchNormOp]((*compiler).batchNorm, (*compiler).batchNorm64)
	_ = imageKernel[ops.BatchNormGradOp]((*compiler).batchNormGrad, (*compiler).batchNormGrad64)
	_ = imageKernel[ops.BatchNormInferOp]((*compiler).batchNormInfer, (*compiler).batchNormInfer64)
)

// normPlan plans batch-norm of node i, with the ReLU that follows it where nobody else reads what lies between.
func (c *compiler) normPlan(i int, eps ops.Bits) (p *conv.Norm, nodes []int, last ops.Edge, err error) {
	n := &c.g.Nodes[i]
	nodes, last = []int{i}, out(i, 0)
	relu, ok := c.reluAfter(last)
	if ok = ok && !half(n.Out[0].DType); ok {
		nodes, last = append(nodes, relu), out(relu, 0)
		c.fused[relu] = true
	}
	p, err = conv.NewNorm(c.d.level, images(n.Args[0].Shape), eps.Float(), ok)
	return p, nodes, last, err
}

// normInputs are images, and then numbers for each channel.
func (c *compiler) normInputs(pictures, channels []ops.Edge) ([]view, error) {
	in, err := views(c.image, pictures...)
	if err != nil {
		return nil, err
	}
	rest, err := views(c.needFloat, channels...)
	return append(in, rest...), err
}

// normOutputs are images e, and the numbers for each channel that outputs 1 and 2 of node i are, whether or not somebody reads them.
func (c *compiler) normOutputs(i int, e ops.Edge) (outs []view, done func() error) {
	y, round := c.makeImage(e)
	outs, rounds := []view{whole(y)}, []func() error{round}
	for k := 1; k < 3; k++ {
		v, round := c.makeFloat(out(i, k))
		outs, rounds = append(outs, whole(v)), append(rounds, round)
	}
	return outs, func() error { return each(rounds) }
}

// batchNorm emits batch-norm of a training batch.
func (c *compiler) batchNorm(i int) error {
	n := &c.g.Nodes[i]
	p, nodes, last, err := c.normPlan(i, n.Op.(ops.BatchNormOp).Eps)
	if err != nil {
		return err
	}
	in, err := c.normInputs(n.In[:1], n.In[1:])
	if err != nil {
		return err
	}
	outs, done := c.normOutputs(i, last)
	c.emit("batch-norm "+c.d.level.String(), normKernel{p}, nodes, in, outs)
	return done()
}

type normKernel struct{ *conv.Norm }

func (k normKernel) Run(pool *work.Pool, in, out [][]byte) error {
	k.Forward(pool, floats(out[0]), floats(out[1]), floats(out[2]), floats(in[0]), floats(in[1]), floats(in[2]))
	return nil
}

// batchNormInfer emits batch-norm with given statistics.
func (c *compiler) batchNormInfer(i int) error {
	n := &c.g.Nodes[i]
	p, nodes, last, err := c.normPlan(i, n.Op.(ops.BatchNormInferOp).Eps)
	if err != nil {
		return err
	}
	in, err := c.normInputs(n.In[:1], n.In[1:])
	if err != nil {
		return err
	}
	y, done := c.makeImage(last)
	c.emit("batch-norm inference "+c.d.level.String(), normInferKernel{p}, nodes, in, []view{whole(y)})
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
	in, err := c.normInputs([]ops.Edge{n.In[0], dy}, n.In[1:4])
	if err != nil {
		return err
	}
	if relu {
		v, err := c.image(y)
		if err != nil {
			return err
		}
		in = append(in, whole(v))
	}
	outs, done := c.normOutputs(i, out(i, 0))
	c.emit("batch-norm gradient "+c.d.level.String(), normGradKernel{p}, nodes, in, outs)
	return done()
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
