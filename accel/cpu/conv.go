package cpu

import (
	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var _ = kernelBy(func(_ ops.Conv2DOp, n *accel.Node) emitFunc {
	return byType(n, (*compiler).conv, (*compiler).conv64)
})

var _ = kernelBy(func(_ ops.Conv2DInputGradOp, n *accel.Node) emitFunc {
	return byType(n, (*compiler).convInputGrad, (*compiler).convInputGrad64)
})

var _ = kernelBy(func(_ ops.Conv2DWeightGradOp, n *accel.Node) emitFunc {
	return byType(n, (*compiler).convWeightGrad, (*compiler).convWeightGrad64)
})

// convShape is the convolution o of x [n, c, h, w] with weights w [out, c/groups, kh, kw].
func convShape(x, w tensor.Shape, o ops.Conv2DOp) conv.Shape {
	s := conv.Shape{
		N: x.Dim(0), Cin: x.Dim(1), H: x.Dim(2), W: x.Dim(3), Cout: w.Dim(0), Groups: max(1, o.Groups),
		Window: window([2]int{w.Dim(2), w.Dim(3)}, o.Stride, o.Pad),
	}
	s.DH, s.DW = max(1, o.Dilation[0]), max(1, o.Dilation[1])
	return s
}

// first reports whether the kernels of a first layer fit a convolution.
func first(s conv.Shape) bool { return s.Cin <= conv.MaxFirst && s.Groups == 1 }

// conv emits a convolution, with the bias, the ReLU and the 2x2 max-pool that follow it where nobody else reads what lies between. No pool
// is part of a depthwise one.
func (c *compiler) conv(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.Conv2DOp)
	s := convShape(n.Args[0].Shape, n.Args[1].Shape, o)
	nodes, last := []int{i}, out(i, 0)
	var e conv.Epilogue
	var in []view
	if !half(n.Out[0].DType) {
		fits := func(b tensor.Shape) bool { return perChannel(b, n.Out[0].Shape) }
		if add, x, ok := c.biasAfter(last, fits); ok {
			v, err := c.need(x)
			if err != nil {
				return err
			}
			in = append(in, whole(v))
			nodes, last = append(nodes, add), out(add, 0)
		}
		relu, pool, ok := c.poolAfter(last)
		if ok && !s.Depthwise() {
			e.Pool = true
			if relu >= 0 {
				e.ReLU = true
				nodes = append(nodes, relu)
			}
			nodes, last = append(nodes, pool), out(pool, 0)
		} else if relu, ok := c.reluAfter(last); ok {
			e.ReLU = true
			nodes, last = append(nodes, relu), out(relu, 0)
		}
	}
	for _, f := range nodes {
		c.fused[f] = true
	}
	w, err := c.needFloat(n.In[1])
	if err != nil {
		return err
	}
	if first(s) {
		f, err := conv.NewFirst(c.d.level, s, e)
		if err != nil {
			return err
		}
		x, err := c.needFloat(n.In[0])
		if err != nil {
			return err
		}
		return c.forward("first conv ", f, nodes, last, x, w, in, e.Pool)
	}
	x, err := c.image(n.In[0])
	if err != nil {
		return err
	}
	if s.Depthwise() {
		f, err := conv.NewDepthwise(c.d.level, s, e.ReLU)
		if err != nil {
			return err
		}
		return c.forward("depthwise conv ", f, nodes, last, x, w, in, false)
	}
	f, err := conv.NewForward(c.d.level, s, e)
	if err != nil {
		return err
	}
	return c.forward("conv ", f, nodes, last, x, w, in, e.Pool)
}

// forwardPlan is conv.Forward, conv.First or conv.Depthwise.
type forwardPlan interface {
	packer
	Scratch(threads int) int
	Run(pool *work.Pool, y []float32, win []uint8, x, weights, bias, scratch []float32)
}

// packer converts weights to the order in which a plan reads them.
type packer interface {
	WeightLen() int
	PackWeights(pool *work.Pool, dst, w []float32)
}

// pack emits the conversion of weights.
func (c *compiler) pack(node int, p packer, w *value) *value {
	v := c.scratch(4 * p.WeightLen())
	c.emit("pack weights", packKernel{p}, []int{node}, []view{whole(w)}, []view{whole(v)})
	return v
}

type packKernel struct{ packer }

func (k packKernel) Run(pool *work.Pool, in, out [][]byte) error {
	k.PackWeights(pool, floats(out[0]), floats(in[0]))
	return nil
}

// forward emits a planned convolution. bias is a view or none.
func (c *compiler) forward(name string, f forwardPlan, nodes []int, last ops.Edge, x, w *value, bias []view, pooled bool) error {
	in := append([]view{whole(x), whole(c.pack(nodes[0], f, w))}, bias...)
	y, done := c.makeImage(last)
	outs := []view{whole(y), whole(c.scratch(4 * f.Scratch(c.d.pool.Threads())))}
	if pooled {
		outs = append(outs, whole(c.makeWinners(last)))
	}
	c.emit(name+c.d.level.String(), forwardKernel{f}, nodes, in, outs)
	return done()
}

type forwardKernel struct{ forwardPlan }

func (k forwardKernel) Run(pool *work.Pool, in, out [][]byte) error {
	var bias []float32
	if len(in) > 2 {
		bias = floats(in[2])
	}
	var win []uint8
	if len(out) > 2 {
		win = out[2]
	}
	k.forwardPlan.Run(pool, floats(out[0]), win, floats(in[0]), floats(in[1]), bias, floats(out[1]))
	return nil
}

// convInputGrad emits the gradient with respect to the images.
func (c *compiler) convInputGrad(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.Conv2DInputGradOp)
	s := convShape(n.Out[0].Shape, n.Args[1].Shape, o.Conv())
	dy, err := c.image(n.In[0])
	if err != nil {
		return err
	}
	w, err := c.needFloat(n.In[1])
	if err != nil {
		return err
	}
	if s.Depthwise() {
		g, err := conv.NewDepthwiseInputGradient(c.d.level, s)
		if err != nil {
			return err
		}
		return c.forward("depthwise conv input gradient ", g, []int{i}, out(i, 0), dy, w, nil, false)
	}
	g, err := conv.NewInputGradient(c.d.level, s)
	if err != nil {
		return err
	}
	packed := c.pack(i, g, w)
	dx, done := c.makeImage(out(i, 0))
	c.emit("conv input gradient "+c.d.level.String(), inputGradKernel{g}, []int{i}, []view{whole(dy), whole(packed)}, []view{whole(dx)})
	return done()
}

type inputGradKernel struct{ *conv.InputGradient }

func (k inputGradKernel) Run(pool *work.Pool, in, out [][]byte) error {
	k.InputGradient.Run(pool, floats(out[0]), floats(in[0]), floats(in[1]))
	return nil
}

// convWeightGrad emits the gradient with respect to the weights.
func (c *compiler) convWeightGrad(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.Conv2DWeightGradOp)
	s := convShape(n.Args[0].Shape, n.Out[0].Shape, o.Conv())
	dy, err := c.image(n.In[1])
	if err != nil {
		return err
	}
	var g weightGradPlan
	var x *value
	name := "conv weight gradient "
	switch {
	case first(s):
		name = "first conv weight gradient "
		if g, err = conv.NewFirstWeightGradient(c.d.level, s); err == nil {
			x, err = c.needFloat(n.In[0])
		}
	case s.Depthwise():
		name = "depthwise conv weight gradient "
		if g, err = conv.NewDepthwiseWeightGradient(c.d.level, s); err == nil {
			x, err = c.image(n.In[0])
		}
	default:
		if g, err = conv.NewWeightGradient(c.d.level, s); err == nil {
			x, err = c.image(n.In[0])
		}
	}
	if err != nil {
		return err
	}
	dw, done := c.makeFloat(out(i, 0))
	c.emit(name+c.d.level.String(), weightGradKernel{g}, []int{i}, []view{whole(x), whole(dy)}, []view{whole(dw), whole(c.scratch(4 * g.Scratch()))})
	return done()
}

// weightGradPlan is conv.WeightGradient, conv.FirstWeightGradient or conv.DepthwiseWeightGradient.
type weightGradPlan interface {
	Scratch() int
	Run(pool *work.Pool, dw, x, dy, scratch []float32)
}

type weightGradKernel struct{ weightGradPlan }

func (k weightGradKernel) Run(pool *work.Pool, in, out [][]byte) error {
	k.weightGradPlan.Run(pool, floats(out[0]), floats(in[0]), floats(in[1]), floats(out[1]))
	return nil
}
