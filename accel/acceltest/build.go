package acceltest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// builder writes a graph. Parameters come first. Its first error sticks.
type builder struct {
	accel.Graph
	err error
}

// param adds a parameter.
func (b *builder) param(s tensor.Spec) ops.Edge {
	b.Nodes = append(b.Nodes, accel.Node{Out: []tensor.Spec{s}})
	b.Params = len(b.Nodes)
	return edge(len(b.Nodes)-1, 0)
}

// node adds an operation and returns its first output.
func (b *builder) node(op ops.Op, in ...ops.Edge) ops.Edge {
	n, err := b.infer(op, in)
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("%s: %w", op.Name(), err)
	}
	b.Nodes = append(b.Nodes, n)
	return edge(len(b.Nodes)-1, 0)
}

// infer is the node of an operation, not yet added.
func (b *builder) infer(op ops.Op, in []ops.Edge) (n accel.Node, err error) {
	n = accel.Node{Op: op, In: in}
	for _, e := range in {
		n.Args = append(n.Args, b.Nodes[e.Node].Out[e.Out])
	}
	n.Out, err = op.Infer(n.Args)
	return n, err
}

// out makes e the next output. It is reborn in the memory of parameter donate, which is -1 for new memory.
func (b *builder) out(e ops.Edge, donate int) {
	b.Outs, b.Donate = append(b.Outs, e), append(b.Donate, donate)
}

// build is the graph of the nodes that f writes.
func (s *suite) build(f func(b *builder)) *accel.Graph {
	s.Helper()
	b := &builder{}
	f(b)
	s.noError("building a graph", b.err)
	return &b.Graph
}

// single is the graph of one operation with the outputs that are listed.
func single(op ops.Op, in, out []tensor.Spec, outs ...int) *accel.Graph {
	b := &builder{}
	var edges []ops.Edge
	for _, s := range in {
		edges = append(edges, b.param(s))
	}
	b.Nodes = append(b.Nodes, accel.Node{Op: op, In: edges, Args: in, Out: out})
	for _, o := range outs {
		b.out(edge(b.Params, o), -1)
	}
	return &b.Graph
}

// evaluate computes all values of a graph by reference.
func evaluate(g *accel.Graph, in []tensor.Tensor) ([][]tensor.Tensor, error) {
	vals := make([][]tensor.Tensor, len(g.Nodes))
	for i := range g.Params {
		vals[i] = []tensor.Tensor{in[i]}
	}
	for i := g.Params; i < len(g.Nodes); i++ {
		if err := evaluateNode(g, vals, i); err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
	}
	return vals, nil
}

// evaluateNode computes the values of one node.
func evaluateNode(g *accel.Graph, vals [][]tensor.Tensor, i int) error {
	n := &g.Nodes[i]
	var in []tensor.Tensor
	for _, e := range n.In {
		in = append(in, vals[e.Node][e.Out])
	}
	vals[i] = nil
	for _, s := range n.Out {
		vals[i] = append(vals[i], tensor.New(s))
	}
	return n.Op.Ref(vals[i], in)
}

// text shows a graph, for a failure.
func text(g *accel.Graph) string {
	var b strings.Builder
	for i, n := range g.Nodes {
		if n.Op == nil {
			fmt.Fprintf(&b, "\n%%%d parameter %v", i, n.Out)
			continue
		}
		fmt.Fprintf(&b, "\n%%%d %s %+v of", i, n.Op.Name(), n.Op)
		for _, e := range n.In {
			fmt.Fprintf(&b, " %%%d.%d", e.Node, e.Out)
		}
		fmt.Fprintf(&b, " -> %v", n.Out)
		for o := range n.Out {
			if j := slices.Index(g.Outs, edge(i, o)); j >= 0 {
				fmt.Fprintf(&b, ", output %d donate %d", j, g.Donate[j])
			}
		}
	}
	return b.String()
}
