package sched

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
)

// Plans are the plans in the cache, the most recently used first.
func (e *Engine) Plans() []*Plan {
	e.lock <- struct{}{}
	defer func() { <-e.lock }()
	var all []*Plan
	for _, list := range e.plans {
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b *Plan) int { return int(int64(b.used) - int64(a.used)) })
	return all
}

// Memory is the largest need of a piece, in bytes.
func (p *Plan) Memory() (peak int) {
	for _, q := range p.pieces {
		peak = max(peak, q.prog.Memory().Peak)
	}
	return peak
}

// Cost is the estimate of the whole plan.
func (p *Plan) Cost() (c ops.Cost) {
	for _, q := range p.pieces {
		for i := q.graph.Params; i < len(q.graph.Nodes); i++ {
			k := nodeCost(q.graph, i)
			c.FLOPs, c.Bytes = c.FLOPs+k.FLOPs, c.Bytes+k.Bytes
		}
	}
	return c
}

// SetProfile switches measuring on or off, on devices that can.
func (p *Plan) SetProfile(on bool) {
	for _, q := range p.pieces {
		if m, ok := q.prog.(accel.Profiler); ok {
			m.SetProfile(on)
		}
	}
}

// Profile is the steps of all pieces with the times of the last measured run.
func (p *Plan) Profile() (steps []accel.StepTime) {
	for _, q := range p.pieces {
		if m, ok := q.prog.(accel.Profiler); ok {
			steps = append(steps, m.Profile()...)
		}
	}
	return steps
}

// String is the plan as text: for each piece its device, and for each node its inputs, output, cost and, where it is not a kernel, that
// the reference runs; then what crosses between devices, with its bytes.
func (p *Plan) String() string {
	var b strings.Builder
	p.write(&b)
	return b.String()
}

func (p *Plan) write(out io.Writer) {
	for k, q := range p.pieces {
		what := "piece"
		if q.commit {
			what = "commit"
		}
		fmt.Fprintf(out, "%s %d on %s: %d operations, %d bytes between parameters and outputs\n", what, k, p.e.devs[q.dev].ID(), len(q.graph.Nodes)-q.graph.Params, q.prog.Memory().Peak)
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for i, s := range q.src {
			fmt.Fprintf(w, "  %%%d\t%s\t\t%v\t\n", i, p.describe(s, q.dev), q.graph.Nodes[i].Out[0])
		}
		for i := q.graph.Params; i < len(q.graph.Nodes); i++ {
			n := q.graph.Nodes[i]
			note := ""
			if n.Ref {
				note = "  (reference: the device has no kernel)"
			}
			fmt.Fprintf(w, "  %%%d\t%s\t%s\t%s\t%.3g FLOP%s\n", i, n.Op.Name(), edges(n.In), specs(n), nodeCost(q.graph, i).FLOPs, note)
		}
		w.Flush()
		for j, t := range q.dst {
			fmt.Fprintf(out, "  %s -> %s\n", edges(q.graph.Outs[j:j+1]), t)
		}
	}
}

func (p *Plan) describe(s source, dev int) string {
	switch {
	case s.slot >= 0 && p.slots[s.slot].dev != dev:
		return fmt.Sprintf("transfer of value %d from %s, %d bytes", s.slot, p.e.devs[p.slots[s.slot].dev].ID(), p.slots[s.slot].bytes)
	case s.slot >= 0:
		return fmt.Sprintf("value %d", s.slot)
	case p.nodes[s.param].kind == ops.Feed:
		return "input"
	case p.nodes[s.param].kind == ops.RNG:
		return "seed and step"
	}
	return "variable"
}

func (t target) String() string {
	var s []string
	if t.result >= 0 {
		s = append(s, fmt.Sprintf("result %d", t.result))
	}
	if t.param >= 0 {
		s = append(s, "assigned to its variable, in place")
	}
	if t.slot >= 0 {
		s = append(s, fmt.Sprintf("value %d", t.slot))
	}
	return strings.Join(s, ", ")
}

func edges(list []ops.Edge) string {
	var b strings.Builder
	for i, e := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%%%d", e.Node)
		if e.Out > 0 {
			fmt.Fprintf(&b, ".%d", e.Out)
		}
	}
	return b.String()
}

func specs(n accel.Node) string {
	var s []string
	for _, o := range n.Out {
		s = append(s, o.String())
	}
	return strings.Join(s, " ")
}

func nodeCost(g *accel.Graph, i int) ops.Cost {
	n := &g.Nodes[i]
	return n.Op.Cost(n.Args, n.Out)
}
