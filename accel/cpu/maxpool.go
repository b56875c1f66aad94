package cpu

import (
	"fmt"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
)

var (
	_ = imageKernel[ops.MaxPool2DGradOp]((*compiler).maxPoolGrad, (*compiler).maxPoolGradByIndex)
	_ = kernelOf[ops.MaxPool2DGatherOp]((*compiler).maxPoolGather)
)

var _ = kernelBy(func(o ops.MaxPool2DOp, n *accel.Node) emitFunc {
	if o.Size[0]*o.Size[1] > conv.MaxTaps {
		return byType(n, (*compiler).wideMaxPool, (*compiler).maxPool64)
	}
	return byType(n, (*compiler).maxPool, (*compiler).maxPool64)
})

// A blocked max-pool keeps which pixel of its window won, in one byte for each value. The operation's own form, the index in the plane, is
// made from that where somebody other than its gradient reads it.

// makeWinners is memory for the winners of the max-pool whose values are e.
func (c *compiler) makeWinners(e ops.Edge) *value {
	v := c.scratch(images(c.spec(e).Shape).Len())
	c.winners[out(int(e.Node), 1)] = v
	return v
}

// poolAfter is the 2x2 max-pool of e, and the ReLU before it or -1, if nobody else reads e but, where there is a ReLU, its gradient behind the
// max-pool's, which then is one step: a pixel that won passes the gradient on if it is positive.
func (c *compiler) poolAfter(e ops.Edge) (relu, pool int, ok bool) {
	relu = -1
	if r, is := c.reluAfter(e); is {
		relu, e = r, out(r, 0)
	}
	if _, is := c.outs[e]; is {
		return 0, 0, false
	}
	pool = -1
	var masks []int
	for _, u := range c.users[e] {
		switch o := c.g.Nodes[u].Op.(type) {
		case ops.MaxPool2DOp:
			s := c.spec(e).Shape
			if pool >= 0 || o.Size != [2]int{2, 2} || o.Stride != o.Size || o.Pad != [4]int{} || s.Dim(2)%2+s.Dim(3)%2 > 0 {
				return 0, 0, false
			}
			pool = u
		case ops.ReLUGradOp:
			if c.g.Nodes[u].In[0] != e || relu < 0 {
				return 0, 0, false
			}
			masks = append(masks, u)
		default:
			return 0, 0, false
		}
	}
	if pool < 0 {
		return 0, 0, false
	}
	for _, u := range masks { // each behind the gradient of this pool, and nowhere else
		dy := c.g.Nodes[u].In[1]
		g := &c.g.Nodes[dy.Node]
		if _, is := g.Op.(ops.MaxPool2DGradOp); !is || g.In[1] != out(pool, 1) {
			return 0, 0, false
		}
		if _, only := c.onlyUser(dy); !only {
			return 0, 0, false
		}
	}
	for _, u := range masks {
		c.masks[c.g.Nodes[u].In[1].Node] = u
	}
	return relu, pool, true
}

// poolPlan plans a max-pool.
func (c *compiler) poolPlan(o ops.MaxPool2DOp, x ops.Edge) (*conv.Pool, error) {
	return conv.NewMaxPool(c.d.level, images(c.spec(x).Shape), window(o.Size, o.Stride, o.Pad))
}

// maxPool emits a max-pool.
func (c *compiler) maxPool(i int) error {
	n := &c.g.Nodes[i]
	p, err := c.poolPlan(n.Op.(ops.MaxPool2DOp), n.In[0])
	if err != nil {
		return err
	}
	x, err := c.image(n.In[0])
	if err != nil {
		return err
	}
	y, done := c.makeImage(out(i, 0))
	c.emit("max-pool "+c.d.level.String(), maxPoolKernel{p}, []int{i}, []view{whole(x)}, []view{whole(y), whole(c.makeWinners(out(i, 0)))})
	return done()
}

type maxPoolKernel struct{ *conv.Pool }

func (k maxPoolKernel) Run(pool *work.Pool, in, out [][]byte) error {
	k.Max(pool, floats(out[0]), out[1], floats(in[0]), false)
	return nil
}

// maxPoolGrad emits the gradient of a max-pool of this program, with the mask of the ReLU before it if that was fused; for indices that come
// from elsewhere, or that are taken for those of another plane, plain loops.
func (c *compiler) maxPoolGrad(i int) error {
	n := &c.g.Nodes[i]
	win, pool := c.winners[n.In[1]], &c.g.Nodes[n.In[1].Node]
	if win == nil || pool.Args[0] != n.Out[0] {
		return c.maxPoolGradByIndex(i)
	}
	p, err := c.poolPlan(pool.Op.(ops.MaxPool2DOp), pool.In[0])
	if err != nil {
		return err
	}
	dy, err := c.image(n.In[0])
	if err != nil {
		return err
	}
	nodes, last := []int{i}, out(i, 0)
	mask, relu := c.masks[uint32(i)]
	if relu {
		nodes, last = append(nodes, mask), out(mask, 0)
		c.fused[mask] = true
	}
	dx, done := c.makeImage(last)
	c.emit("max-pool gradient "+c.d.level.String(), maxPoolGradKernel{p, relu}, nodes, []view{whole(dy), whole(win)}, []view{whole(dx)})
	return done()
}

type maxPoolGradKernel struct {
	*conv.Pool
	relu bool
}

func (k maxPoolGradKernel) Run(pool *work.Pool, in, out [][]byte) error {
	k.MaxGradient(pool, floats(out[0]), floats(in[0]), in[1], k.relu)
	return nil
}

// plainWinners makes the indices of a blocked max-pool.
func (c *compiler) plainWinners(e ops.Edge) (*value, error) {
	n := &c.g.Nodes[e.Node]
	o, ok := n.Op.(ops.MaxPool2DOp)
	if !ok {
		return nil, fmt.Errorf("cpu: winners of %s", n.Op.Name())
	}
	k := &winnersKernel{op: o, in: images(n.Args[0].Shape), out: images(n.Out[0].Shape)}
	v := c.make(e)
	c.emit("indices of winners", k, []int{int(e.Node)}, []view{whole(c.winners[e])}, []view{whole(v)})
	return v, nil
}

// winnersKernel turns the number of a window's pixel into the index in the plane.
type winnersKernel struct {
	op      ops.MaxPool2DOp
	in, out conv.Tensor
}

func (k *winnersKernel) Run(pool *work.Pool, in, out [][]byte) error {
	win, idx, y := in[0], ints(out[0]), k.out
	for n := range y.N {
		for c := range y.C {
			for p := range y.H * y.W {
				tap := conv.Winner(win[c/conv.Block*y.Plane()+(n*y.H*y.W+p)*conv.Block+c%conv.Block])
				tap = max(tap, 0) // a fused ReLU made all of the window zero: the first is the maximum
				row := p/y.W*k.op.Stride[0] - k.op.Pad[0] + tap/k.op.Size[1]
				col := p%y.W*k.op.Stride[1] - k.op.Pad[2] + tap%k.op.Size[1]
				idx[(n*y.C+c)*y.H*y.W+p] = int32(row*k.in.W + col)
			}
		}
	}
	return nil
}
