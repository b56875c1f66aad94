package sched

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Plans are the plans in the cache, the most recently used first.
func (e *Engine) Plans() []*Plan {
	var all []*Plan
	e.locked(func() {
		for _, list := range e.plans {
			all = append(all, list...)
		}
		slices.SortFunc(all, func(a, b *Plan) int { return int(int64(b.used) - int64(a.used)) })
	})
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
			n := &q.graph.Nodes[i]
			k := n.Op.Cost(n.Args, n.Out)
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
	for k, q := range p.pieces {
		p.write(&b, k, q)
	}
	return b.String()
}

// write shows a piece.
func (p *Plan) write(out *strings.Builder, k int, q *piece) {
	what := "piece"
	if q.commit {
		what = "commit"
	}
	fmt.Fprintf(out, "%s %d on %s: %d operations, %d bytes between parameters and outputs\n", what, k, p.e.devs[q.dev].ID(), len(q.graph.Nodes)-q.graph.Params, q.prog.Memory().Peak)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for i, s := range q.src {
		fmt.Fprintf(w, "  %%%d\t%v\t%s\n", i, q.graph.Nodes[i].Out[0], p.describe(s, q.dev))
	}
	for i := q.graph.Params; i < len(q.graph.Nodes); i++ {
		n := &q.graph.Nodes[i]
		note := ""
		if n.Ref {
			note = ", by its reference: the device has no kernel"
		}
		fmt.Fprintf(w, "  %%%d\t%s\t%s %s\t%.3g FLOP%s\n", i, specs(n.Out), n.Op.Name(), edges(n.In), n.Op.Cost(n.Args, n.Out).FLOPs, note)
	}
	w.Flush()
	for line := range strings.Lines(table.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	for j, t := range q.dst {
		fmt.Fprintf(out, "  %s -> %s\n", edges(q.graph.Outs[j:j+1]), t)
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

func specs(list []tensor.Spec) string {
	var s []string
	for _, o := range list {
		s = append(s, o.String())
	}
	return strings.Join(s, " ")
}
