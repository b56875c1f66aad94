package acceltest

import (
	"fmt"
	"slices"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// validate holds a graph against the rules that accel.Graph states. Drivers may trust their callers; a test device does not.
func validate(g *accel.Graph) error {
	if g.Params < 0 || g.Params > len(g.Nodes) {
		return fmt.Errorf("%d parameters among %d nodes", g.Params, len(g.Nodes))
	}
	for i := range g.Nodes {
		if err := validateNode(g, i); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	if len(g.Donate) != len(g.Outs) {
		return fmt.Errorf("%d outputs, donation said for %d", len(g.Outs), len(g.Donate))
	}
	outs, reborn := map[ops.Edge]bool{}, map[int]bool{}
	for j, e := range g.Outs {
		s, err := specAt(g, len(g.Nodes), e)
		switch p := g.Donate[j]; {
		case err != nil:
			return fmt.Errorf("output %d: %w", j, err)
		case int(e.Node) < g.Params:
			return fmt.Errorf("output %d is parameter %d", j, e.Node)
		case outs[e]:
			return fmt.Errorf("output %d repeats an earlier one", j)
		case p >= g.Params:
			return fmt.Errorf("output %d takes the memory of node %d, which is no parameter", j, p)
		case p >= 0 && reborn[p]:
			return fmt.Errorf("parameter %d is donated twice", p)
		case p >= 0 && g.Nodes[p].Out[0] != s:
			return fmt.Errorf("output %d is %v and takes the memory of %v", j, s, g.Nodes[p].Out[0])
		}
		outs[e], reborn[g.Donate[j]] = true, true
	}
	return nil
}

func validateNode(g *accel.Graph, i int) error {
	n := &g.Nodes[i]
	if i < g.Params {
		if n.Op != nil || len(n.In) != 0 || len(n.Out) != 1 {
			return fmt.Errorf("a parameter with an operation, inputs, or not one output")
		}
		return n.Out[0].Check()
	}
	if n.Op == nil {
		return fmt.Errorf("no operation")
	}
	in := make([]tensor.Spec, len(n.In))
	for k, e := range n.In {
		s, err := specAt(g, i, e)
		if err != nil {
			return fmt.Errorf("input %d: %w", k, err)
		}
		in[k] = s
	}
	if !slices.Equal(in, n.Args) {
		return fmt.Errorf("%s is given %v, the graph says %v", n.Op.Name(), in, n.Args)
	}
	out, err := n.Op.Infer(in)
	if err != nil {
		return err
	}
	if !slices.Equal(out, n.Out) {
		return fmt.Errorf("%s gives %v, the graph says %v", n.Op.Name(), out, n.Out)
	}
	return nil
}

// specAt is the spec of an edge that must come before node i.
func specAt(g *accel.Graph, i int, e ops.Edge) (tensor.Spec, error) {
	if int(e.Node) >= i || int(e.Out) >= len(g.Nodes[e.Node].Out) {
		return tensor.Spec{}, fmt.Errorf("edge %d.%d is not there yet", e.Node, e.Out)
	}
	return g.Nodes[e.Node].Out[e.Out], nil
}
