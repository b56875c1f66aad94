package cpu

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu/internal/vec"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// cluster is elementwise nodes of one shape that become one chain. While it is open, nobody outside has asked for a value of it, so all
// of its nodes can run where the last of them stands.
type cluster struct {
	shape tensor.Shape
	nodes []int
}

// maxCluster bounds the nodes of a chain: their registers stay in the L1 cache.
const maxCluster = 64

// join adds an elementwise node to the clusters that make its inputs, which become one.
func (c *compiler) join(i int) error {
	n := &c.g.Nodes[i]
	shape := n.Out[0].Shape
	var mine *cluster
	for x, e := range n.In {
		k := c.cluster[e]
		if k == nil || k == mine {
			continue
		}
		size := len(k.nodes)
		if mine != nil {
			size += len(mine.nodes)
		}
		if k.shape != shape || size >= maxCluster || seeds(n, x) {
			if err := c.close(k); err != nil {
				return err
			}
			continue
		}
		if mine == nil {
			mine = k
			continue
		}
		for _, m := range k.nodes {
			c.cluster[ops.Edge{Node: uint32(m)}] = mine
		}
		mine.nodes = append(mine.nodes, k.nodes...)
		slices.Sort(mine.nodes)
		c.open = slices.DeleteFunc(c.open, func(o *cluster) bool { return o == k })
	}
	if mine == nil {
		mine = &cluster{shape: shape}
		c.open = append(c.open, mine)
	}
	mine.nodes = append(mine.nodes, i)
	c.cluster[ops.Edge{Node: uint32(i)}] = mine
	return nil
}

// forget takes a cluster from those that are open.
func (c *compiler) forget(k *cluster) {
	c.open = slices.DeleteFunc(c.open, func(o *cluster) bool { return o == k })
	for _, i := range k.nodes {
		delete(c.cluster, ops.Edge{Node: uint32(i)})
	}
}

// close emits the chain of a cluster.
func (c *compiler) close(k *cluster) error {
	c.forget(k)
	w := &chainWriter{c: c, k: k, regs: map[ops.Edge]vec.Reg{}, inside: map[ops.Edge]bool{}, consts: map[constant]vec.Reg{}, floats: map[vec.Reg]vec.Reg{}, seed: map[ops.Edge][2]vec.Reg{}}
	for _, i := range k.nodes {
		w.inside[ops.Edge{Node: uint32(i)}] = true
	}
	if err := w.write(); err != nil {
		return &accel.NodeError{Node: k.nodes[len(k.nodes)-1], Err: err}
	}
	return nil
}

// constant is a number in a register.
type constant struct {
	d    tensor.DType
	bits ops.Bits
}

// chainWriter writes a cluster as a program of package vec.
type chainWriter struct {
	c      *compiler
	k      *cluster
	inside map[ops.Edge]bool
	layout *blockedChain // nil for plain memory
	p      vec.Program
	in     []view
	dense  []bool // inputs that are read element by element
	regs   map[ops.Edge]vec.Reg
	consts map[constant]vec.Reg
	floats map[vec.Reg]vec.Reg     // 16-bit registers as float32
	seed   map[ops.Edge][2]vec.Reg // of the input of random operations: seed and step
}

func (w *chainWriter) write() error {
	c := w.c
	w.layout = c.blockedChain(w.k, w.inside)
	w.p.Shape = w.k.shape
	if w.layout != nil {
		w.p.Shape = w.layout.shape
	}
	// All inputs come before the first instruction.
	for _, i := range w.k.nodes {
		n := &c.g.Nodes[i]
		for x, e := range n.In {
			if err := w.input(n, x, e); err != nil {
				return err
			}
		}
	}
	for _, i := range w.k.nodes {
		n := &c.g.Nodes[i]
		w.regs[ops.Edge{Node: uint32(i)}] = instructions[reflect.TypeOf(n.Op)].write(w, n)
	}
	return w.emit()
}

// input makes a register of a value from outside.
func (w *chainWriter) input(n *accel.Node, x int, e ops.Edge) error {
	if seeds(n, x) {
		return w.rng(e)
	}
	if _, ok := w.regs[e]; ok || w.inside[e] {
		return nil
	}
	if _, ok := w.c.consts[e]; ok {
		return nil // a constant in a register, made where it is used
	}
	spec := w.c.spec(e)
	if w.layout != nil {
		v, strides, err := w.layout.input(w.c, e, w.k.shape)
		if err != nil {
			return err
		}
		w.p.Inputs = append(w.p.Inputs, vec.Input{DType: spec.DType, Strides: strides})
		w.add(e, whole(v), strides == dense(w.p.Shape))
		return nil
	}
	v, err := w.c.need(e)
	if err != nil {
		return err
	}
	w.p.Input(spec.DType, spec.Shape)
	w.add(e, whole(v), spec.Shape == w.k.shape)
	return nil
}

// dense are the strides of an array of the shape.
func dense(s tensor.Shape) [tensor.MaxRank]int { return tensor.BroadcastStrides(s, s) }

func (w *chainWriter) add(e ops.Edge, v view, dense bool) {
	w.regs[e] = vec.Reg(len(w.p.Inputs) - 1)
	w.in, w.dense = append(w.in, v), append(w.dense, dense)
}

// rng makes registers of seed and step.
func (w *chainWriter) rng(e ops.Edge) error {
	if _, ok := w.seed[e]; ok {
		return nil
	}
	v, err := w.c.need(e)
	if err != nil {
		return err
	}
	var seed [2]vec.Reg
	for k := range seed {
		w.p.Inputs = append(w.p.Inputs, vec.Input{DType: tensor.I64})
		seed[k] = vec.Reg(len(w.p.Inputs) - 1)
		w.in, w.dense = append(w.in, view{v, 8 * k, 8}), append(w.dense, false)
	}
	w.seed[e] = seed
	return nil
}

// emit compiles the program; values that somebody outside reads become outputs.
func (w *chainWriter) emit() error {
	c := w.c
	var out []view
	var blocked []*value
	for _, i := range w.k.nodes {
		e := ops.Edge{Node: uint32(i)}
		if !w.wanted(e) {
			continue
		}
		w.p.Outputs = append(w.p.Outputs, w.regs[e])
		if w.layout != nil {
			v := c.scratch(w.layout.bytes())
			c.blocked[e] = v
			blocked = append(blocked, v)
			out = append(out, whole(v))
			continue
		}
		out = append(out, whole(c.make(e)))
	}
	if len(out) == 0 {
		return nil
	}
	chain, err := vec.Compile(c.d.level, &w.p)
	if err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	c.emit("chain", chain, w.k.nodes, w.in, out)
	c.p.steps[len(c.p.steps)-1].dense = w.dense
	for _, v := range blocked {
		w.layout.clear(c, w.k.nodes, v)
	}
	return nil
}

// wanted reports whether somebody outside of the cluster reads a value of it.
func (w *chainWriter) wanted(e ops.Edge) bool {
	if _, ok := w.c.outs[e]; ok {
		return true
	}
	return slices.ContainsFunc(w.c.users[e], func(u int) bool { return !w.inside[ops.Edge{Node: uint32(u)}] })
}
