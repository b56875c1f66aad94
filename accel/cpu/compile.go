package cpu

import (
	"context"
	"fmt"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/internal/background"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	_ = kernelOf[ops.ReshapeOp]((*compiler).reshape)
	_ = kernelOf[ops.BarrierOp]((*compiler).barrier)
)

// compiler turns a graph into steps, in one pass over its nodes.
//
// Elementwise nodes gather in clusters, and a cluster becomes one step when somebody outside of it asks for a value of it. A value may lie
// in memory in two forms, plain and blocked; who asks for one that is not there gets a step that converts.
type compiler struct {
	d *Device
	g *accel.Graph
	p *program

	users   map[ops.Edge][]int // nodes that read a value
	outs    map[ops.Edge]int   // output that a value is
	fused   []bool             // nodes that an earlier step computes too
	plain   map[ops.Edge]*value
	blocked map[ops.Edge]*value
	winners map[ops.Edge]*value // of max-pools: which pixel of the window won
	consts  map[ops.Edge]ops.FillOp
	open    []*cluster
	cluster map[ops.Edge]*cluster // the open cluster that makes a value
	masks   map[uint32]int        // gradients of max-pools, with the ReLU gradient behind that they do too
}

// Supports is nil where there is a kernel.
func (d *Device) Supports(n *accel.Node) error {
	_, err := d.emitter(n)
	return err
}

// Compile makes a program.
func (d *Device) Compile(ctx context.Context, g *accel.Graph) (accel.Program, error) {
	if background.Or(ctx).Err() != nil {
		return nil, context.Cause(ctx)
	}
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("cpu: %s: %w", d.id, accel.ErrClosed)
	}
	c := &compiler{
		d: d, g: g, p: &program{d: d, g: g, outputs: make([]*value, len(g.Outs)), inPlace: make([]bool, len(g.Outs)), spares: make([]*block, len(g.Outs))},
		users: map[ops.Edge][]int{}, outs: map[ops.Edge]int{}, fused: make([]bool, len(g.Nodes)),
		plain: map[ops.Edge]*value{}, blocked: map[ops.Edge]*value{}, winners: map[ops.Edge]*value{}, consts: map[ops.Edge]ops.FillOp{},
		cluster: map[ops.Edge]*cluster{}, masks: map[uint32]int{},
	}
	if err := c.fitValues(); err != nil {
		return nil, err
	}
	for i := range g.Nodes {
		for _, e := range g.Nodes[i].In {
			c.users[e] = append(c.users[e], i)
		}
	}
	for j, e := range g.Outs {
		c.outs[e] = j
		c.p.outputs[j] = &value{kind: inOutput, index: j, bytes: c.spec(e).Bytes()}
	}
	for i := range g.Params {
		v := &value{kind: inParam, index: i, bytes: g.Nodes[i].Out[0].Bytes()}
		c.p.params = append(c.p.params, v)
		c.plain[ops.Edge{Node: uint32(i)}] = v
	}
	for i := g.Params; i < len(g.Nodes); i++ {
		if c.fused[i] {
			continue
		}
		if err := c.node(i); err != nil {
			return nil, &accel.NodeError{Node: i, Err: err}
		}
	}
	for len(c.open) > 0 {
		if err := c.close(c.open[0]); err != nil {
			return nil, err
		}
	}
	for j, e := range g.Outs {
		if err := c.deliver(j, e); err != nil {
			return nil, &accel.NodeError{Node: int(e.Node), Err: err}
		}
	}
	c.donate()
	c.layOut()
	if err := c.fitProgram(); err != nil {
		return nil, err
	}
	return c.p, nil
}

// node emits one node.
func (c *compiler) node(i int) error {
	emit, err := c.d.emitter(&c.g.Nodes[i])
	if err != nil {
		return err
	}
	return emit(c, i)
}

// deliver sees to it that an output lies in its own memory.
func (c *compiler) deliver(j int, e ops.Edge) error {
	v, err := c.need(e)
	if err != nil {
		return err
	}
	if v != c.p.outputs[j] {
		c.emit("copy", moveKernel{}, []int{int(e.Node)}, []view{whole(v)}, []view{whole(c.p.outputs[j])})
	}
	return nil
}

// spec of a value.
func (c *compiler) spec(e ops.Edge) tensor.Spec { return c.g.Nodes[e.Node].Out[e.Out] }

// used reports whether anybody reads a value, or it is an output.
func (c *compiler) used(e ops.Edge) bool {
	_, out := c.outs[e]
	return out || len(c.users[e]) > 0
}

// onlyUser is the one node that reads a value, if there is one only and the value is no output.
func (c *compiler) onlyUser(e ops.Edge) (int, bool) {
	if _, out := c.outs[e]; out || len(c.users[e]) != 1 {
		return 0, false
	}
	return c.users[e][0], true
}

// need is a value in plain memory, computed by the steps so far.
func (c *compiler) need(e ops.Edge) (*value, error) {
	if k := c.cluster[e]; k != nil {
		if err := c.close(k); err != nil {
			return nil, err
		}
	}
	if v := c.plain[e]; v != nil {
		return v, nil
	}
	if f, ok := c.consts[e]; ok {
		v := c.make(e)
		return v, c.fill(int(e.Node), v, f)
	}
	if w := c.winners[e]; w != nil {
		return c.plainWinners(e)
	}
	if c.blocked[e] != nil {
		return c.unblock(e)
	}
	return nil, fmt.Errorf("cpu: value %d.%d has not been computed", e.Node, e.Out)
}

// make is new plain memory for a value: that of the output if it is one.
func (c *compiler) make(e ops.Edge) *value {
	v := c.scratch(c.spec(e).Bytes())
	if j, ok := c.outs[e]; ok {
		v = c.p.outputs[j]
	}
	c.plain[e] = v
	return v
}

// scratch is memory in the arena.
func (c *compiler) scratch(bytes int) *value {
	return &value{kind: inArena, bytes: bytes, first: -1}
}

// whole is all of a value.
func whole(v *value) view { return view{value: v, bytes: v.bytes} }

// emit appends a step.
func (c *compiler) emit(name string, k kernel, nodes []int, in, out []view) {
	c.p.steps = append(c.p.steps, step{
		kernel: k, name: name, nodes: nodes, in: in, out: out, args: make([][]byte, len(in)), outs: make([][]byte, len(out)),
	})
}

// views are values, each got the same way, as operands.
func views(get func(ops.Edge) (*value, error), list ...ops.Edge) ([]view, error) {
	all := make([]view, len(list))
	for i, e := range list {
		v, err := get(e)
		if err != nil {
			return nil, err
		}
		all[i] = whole(v)
	}
	return all, nil
}

// simple emits a step whose operands are the node's, in plain memory. Outputs that nobody uses are none.
func (c *compiler) simple(i int, name string, k kernel) error {
	n := &c.g.Nodes[i]
	in, err := views(c.need, n.In...)
	if err != nil {
		return err
	}
	outs := make([]view, len(n.Out))
	for x := range n.Out {
		if e := out(i, x); c.used(e) {
			outs[x] = whole(c.make(e))
		}
	}
	c.emit(name, k, []int{i}, in, outs)
	return nil
}

// reshape makes the output of a node the plain memory of its input.
func (c *compiler) reshape(i int) error {
	v, err := c.need(c.g.Nodes[i].In[0])
	c.plain[out(i, 0)] = v
	return err
}

// barrier makes the output of a node its first input, in the form in which that is. The second input needs nothing done: the order of
// steps is that of the nodes.
func (c *compiler) barrier(i int) error {
	e := c.g.Nodes[i].In[0]
	if k := c.cluster[e]; k != nil {
		if err := c.close(k); err != nil {
			return err
		}
	}
	if b := c.blocked[e]; b != nil && c.plain[e] == nil {
		c.blocked[out(i, 0)] = b
		return nil
	}
	return c.reshape(i)
}

// simpleFloat is simple for kernels that take no 16-bit floats: they are converted.
func (c *compiler) simpleFloat(i int, name string, k kernel) error {
	n := &c.g.Nodes[i]
	in, err := views(c.needFloat, n.In...)
	if err != nil {
		return err
	}
	outs, done := c.makeFloats(i, 0)
	c.emit(name, k, []int{i}, in, outs)
	return done()
}
