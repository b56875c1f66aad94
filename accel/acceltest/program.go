package acceltest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// program runs a graph node by node.
type program struct {
	d      *Device
	g      *accel.Graph
	used   map[ops.Edge]bool // what somebody reads; other outputs are not computed
	dies   [][]ops.Edge      // what a node is the last to read
	peak   int
	closed atomic.Bool
}

// Compile checks the graph and finds out how long each value lives.
func (d *Device) Compile(ctx context.Context, g *accel.Graph) (accel.Program, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := d.queue.add(task{do: func() {}}); err != nil {
		return nil, err
	}
	if err := validate(g); err != nil {
		return nil, d.fault("graph: %w", err)
	}
	for i := range g.Nodes {
		if err := d.Supports(&g.Nodes[i]); err != nil {
			return nil, &accel.NodeError{Node: i, Err: err}
		}
	}
	d.compiles.Add(1)
	p := &program{d: d, g: g}
	p.plan()
	return p, nil
}

// plan is liveness: a value is there from the node that makes it to the last one that reads it, an output to the end.
func (p *program) plan() {
	g := p.g
	p.used, p.dies = map[ops.Edge]bool{}, make([][]ops.Edge, len(g.Nodes))
	last := map[ops.Edge]int{}
	for i, n := range g.Nodes {
		for _, e := range n.In {
			last[e], p.used[e] = i, true
		}
	}
	for _, e := range g.Outs {
		last[e], p.used[e] = len(g.Nodes), true
	}
	live := 0
	for i := g.Params; i < len(g.Nodes); i++ {
		for o, s := range g.Nodes[i].Out {
			if p.used[edge(i, o)] {
				live += s.Bytes()
			}
		}
		p.peak = max(p.peak, live)
		for _, e := range g.Nodes[i].In {
			if last[e] == i && int(e.Node) >= g.Params && !slices.Contains(p.dies[i], e) {
				p.dies[i] = append(p.dies[i], e)
				live -= g.Nodes[e.Node].Out[e.Out].Bytes()
			}
		}
	}
}

func edge(node, out int) ops.Edge { return ops.Edge{Node: uint32(node), Out: uint16(out)} }

// Memory is the largest sum of values that live at one time, outputs among them.
func (p *program) Memory() accel.Memory { return accel.Memory{Peak: p.peak} }

// Close ends the program.
func (p *program) Close() error {
	p.closed.Store(true)
	return nil
}

// run is one run in the device's order.
type run struct {
	*program
	in       []accel.Arg
	out      []*buffer
	injected error
}

// Run checks the arguments and enqueues.
func (p *program) Run(ctx context.Context, in []accel.Arg, out []accel.Buffer, done *ops.Event) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := p.check(in, out); err != nil {
		return p.d.fault("run: %w", err)
	}
	p.d.mu.Lock()
	err := p.d.rejectRun.next()
	p.d.mu.Unlock()
	if err != nil {
		return err
	}
	r := &run{program: p, in: slices.Clone(in), out: make([]*buffer, len(out))}
	for i, a := range r.in {
		if a.Buf == nil {
			r.in[i].Host = a.Host.Clone()
		}
	}
	fresh := int64(0)
	for j, e := range p.g.Outs {
		switch i := p.g.Donate[j]; {
		case i >= 0:
			r.out[j] = in[i].Buf.(*buffer)
		case out[j] != nil:
			r.out[j] = out[j].(*buffer)
		default:
			r.out[j] = p.d.buffer(p.g.Nodes[e.Node].Out[e.Out])
			fresh++
		}
	}
	p.d.mu.Lock()
	r.injected = p.d.failRun.next()
	p.d.mu.Unlock()
	done.Reset()
	if err := p.d.queue.add(task{run: true, do: func() { done.Finish(r.do()) }}); err != nil {
		p.d.live.Add(-fresh)
		done.Finish(err)
		return err
	}
	p.d.runs.Add(1)
	for j, b := range r.out {
		out[j] = b
	}
	return nil
}

// check holds the arguments against the graph.
func (p *program) check(in []accel.Arg, out []accel.Buffer) error {
	if p.closed.Load() {
		return fmt.Errorf("the program is closed")
	}
	if len(in) != p.g.Params || len(out) != len(p.g.Outs) {
		return fmt.Errorf("%d arguments and %d outputs, the graph has %d and %d", len(in), len(out), p.g.Params, len(p.g.Outs))
	}
	times := map[accel.Buffer]int{}
	for i, a := range in {
		want := p.g.Nodes[i].Out[0]
		if a.Buf == nil {
			if a.Host.IsNone() || a.Host.Spec() != want {
				return fmt.Errorf("argument %d is %v, not %v", i, a.Host.Spec(), want)
			}
			continue
		}
		if err := p.owns(a.Buf, want); err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
		times[a.Buf]++
	}
	for j, e := range p.g.Outs {
		if i := p.g.Donate[j]; i >= 0 {
			switch {
			case in[i].Buf == nil:
				return fmt.Errorf("argument %d is donated, but lies on the host", i)
			case times[in[i].Buf] > 1:
				return fmt.Errorf("argument %d is donated, and another argument too", i)
			case out[j] != nil && out[j] != in[i].Buf:
				return fmt.Errorf("output %d has two places", j)
			}
			continue
		}
		if out[j] == nil {
			continue
		}
		if err := p.owns(out[j], p.g.Nodes[e.Node].Out[e.Out]); err != nil {
			return fmt.Errorf("output %d: %w", j, err)
		}
		if times[out[j]]++; times[out[j]] > 1 {
			return fmt.Errorf("output %d is given up, but also an argument or another output", j)
		}
	}
	return nil
}

// owns is nil if b can be used on this device as a value of the spec.
func (p *program) owns(b accel.Buffer, want tensor.Spec) error {
	own, ok := b.(*buffer)
	switch {
	case !ok || own.d != p.d:
		return fmt.Errorf("a buffer of device %s on %s", b.Device().ID(), p.d.id)
	case own.freed.Load():
		return fmt.Errorf("a freed buffer")
	case own.spec != want:
		return fmt.Errorf("a buffer of %v, not %v", own.spec, want)
	}
	return nil
}
