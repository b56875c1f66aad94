package layers

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Row is one line of a summary: a module that computes something or has parameters, apart from what the modules within it do.
type Row struct {
	Name     string      // its path, as in the names of its parameters
	Kind     string      // the type of the module
	Out      tensor.Spec // of its result
	Params   int         // numbers in its parameters; what is shared counts where it is first used
	Frozen   int         // those of them that Freeze froze
	ops.Cost             // of evaluating the input that the net was built for, operation by operation: FLOPs, and bytes read and written
}

// row is a Row in the making.
type row struct {
	Row
	vars     []*ops.Variable // its parameters
	from, to int             // the nodes that it recorded, with those of the modules within
	inner    bool            // there are modules within
	computes bool            // it has nodes of its own
}

// describe runs m in the present scope and notes what it is.
func (c *Context) describe(m Module, x ops.Value) ops.Value {
	n, at, k := c.net, c.at, len(c.net.rows)
	known := len(at.vars)
	n.rows = append(n.rows, row{Row: Row{Name: at.path, Kind: kind(m)}, from: c.Tape.Len()})
	y := m.Forward(c, x)
	r := &n.rows[k]
	r.Out, r.to, r.inner = y.Spec(), c.Tape.Len(), len(at.kids) > 0
	for _, e := range at.vars[known:] {
		if e.train {
			r.vars = append(r.vars, e.v)
		}
	}
	return y
}

// count gives each row the cost of its nodes, and drops the rows of modules that only contain others.
func (n *Net) count(g *ops.Graph) error {
	owner := make([]*row, len(g.Nodes))
	for k := range n.rows {
		for i := n.rows[k].from; i < n.rows[k].to; i++ {
			owner[i] = &n.rows[k] // the modules within come later
		}
	}
	for i, node := range g.Nodes {
		if kind, _ := g.Kind(uint32(i)); owner[i] == nil || kind != ops.Compute {
			continue
		}
		cost, err := costOf(g, node)
		if err != nil {
			return err
		}
		owner[i].FLOPs += cost.FLOPs
		owner[i].Bytes += cost.Bytes
		owner[i].computes = true
	}
	n.rows = slices.DeleteFunc(n.rows, func(r row) bool { return r.inner && !r.computes && len(r.vars) == 0 })
	return nil
}

// costOf is what a node costs. A user's Cost may panic.
func costOf(g *ops.Graph, n *ops.Node) (c ops.Cost, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = n.Place(fmt.Errorf("panic in Cost: %v", p))
		}
	}()
	in := make([]tensor.Spec, len(n.In))
	for i, e := range n.In {
		in[i] = g.SpecOf(e)
	}
	return n.Op.Cost(in, n.Out), nil
}

// Summary has a row for each module, in the order of their first use.
func (n *Net) Summary() []Row {
	frozen := map[*ops.Variable]bool{}
	for _, v := range n.trained {
		frozen[v] = true
	}
	for _, v := range n.params {
		delete(frozen, v)
	}
	rows := make([]Row, len(n.rows))
	for i, r := range n.rows {
		rows[i] = r.Row
		for _, v := range r.vars {
			size := v.Spec().Shape.Size()
			rows[i].Params += size
			if frozen[v] {
				rows[i].Frozen += size
			}
		}
	}
	return rows
}

// String is the summary as a table for people.
func (n *Net) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "layer\tkind\toutput\tparameters\tFLOPs\tbytes moved\n")
	var all Row
	for _, r := range n.Summary() {
		fmt.Fprintf(w, "%s\t%s\t%v\t%d\t%.0f\t%.0f\n", r.Name, r.Kind, r.Out, r.Params, r.FLOPs, r.Bytes)
		all.Params, all.Frozen = all.Params+r.Params, all.Frozen+r.Frozen
		all.FLOPs, all.Bytes = all.FLOPs+r.FLOPs, all.Bytes+r.Bytes
	}
	size := fmt.Sprintf("%d, %d bytes", all.Params, n.dtype.Size()*all.Params)
	if all.Frozen > 0 {
		size += fmt.Sprintf(", %d frozen", all.Frozen)
	}
	fmt.Fprintf(w, "all\t\t\t%s\t%.0f\t%.0f\n", size, all.FLOPs, all.Bytes)
	w.Flush() // a Builder takes everything
	return b.String()
}
