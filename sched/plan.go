package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
)

// Plan is how the engine runs one program: its pieces, each compiled for its device, in the order in which they start.
type Plan struct {
	*canon  // the key
	e       *Engine
	pieces  []*piece
	slots   []slot       // values that cross pieces
	writes  map[int]bool // parameters that are assigned
	places  []string     // per canonical node, where the recording that was compiled had it
	used    uint64       // the engine's clock at the last use
	evicted bool
}

// slot is a value that crosses pieces.
type slot struct{ dev, bytes int }

// piece is a part of a plan that one device runs as one program.
type piece struct {
	dev    int
	commit bool // runs when everything that can fail has finished
	prog   accel.Program
	graph  *accel.Graph
	src    []source
	dst    []target
	nodes  []int // piece node -> canonical node
	args   []accel.Arg
	outs   []accel.Buffer
	ev     *ops.Event
}

// source of an argument: a parameter of the plan, or a slot; the other is -1.
type source struct{ param, slot int }

// target of an output: a result or watch, the parameter that is assigned, or a slot; the others are -1.
type target struct{ result, param, slot int }

func (p *Plan) close() error {
	p.evicted = true
	var errs []error
	for _, q := range p.pieces {
		errs = append(errs, q.prog.Close())
	}
	return errors.Join(errs...)
}

// compile makes the plan of c.
func (e *Engine) compile(ctx context.Context, key *canon) (*Plan, error) {
	e.stats.Compiles++
	c := &canon{nodes: slices.Clone(key.nodes), params: key.params, outs: slices.Clone(key.outs), assigns: key.assigns}
	level, commit := c.levels()
	p := &Plan{canon: key, e: e, writes: map[int]bool{}}
	for _, v := range c.assigns {
		p.writes[v] = true
	}
	type at struct{ level, dev int }
	pieces := map[at]*piece{}
	var order []at
	for i := c.params; i < len(c.nodes); i++ {
		k := at{level[i], c.nodes[i].dev}
		if pieces[k] == nil {
			pieces[k] = &piece{dev: k.dev, commit: level[i] == commit, ev: new(ops.Event)}
			order = append(order, k)
		}
		pieces[k].nodes = append(pieces[k].nodes, i)
	}
	slices.SortFunc(order, func(a, b at) int { return cmp.Or(a.level-b.level, a.dev-b.dev) })
	pieceOf := func(i uint32) *piece { return pieces[at{level[i], c.nodes[i].dev}] }
	crossing := map[ops.Edge]int{}             // value -> slot
	for i := c.params; i < len(c.nodes); i++ { // in order, so that the same graph gives the same plan
		for _, in := range c.nodes[i].in {
			if _, ok := crossing[in]; !ok && int(in.Node) >= c.params && pieceOf(in.Node) != pieceOf(uint32(i)) {
				crossing[in] = len(p.slots)
				p.slots = append(p.slots, slot{c.nodes[in.Node].dev, c.nodes[in.Node].out[in.Out].Bytes()})
			}
		}
	}
	for _, k := range order {
		q := pieces[k]
		if err := e.compilePiece(ctx, c, q, pieceOf, crossing); err != nil {
			p.close()
			return nil, err
		}
		p.pieces = append(p.pieces, q)
	}
	return p, nil
}

// compilePiece builds the piece's graph and has the device compile it. An error names the canonical node.
func (e *Engine) compilePiece(ctx context.Context, c *canon, q *piece, pieceOf func(uint32) *piece, crossing map[ops.Edge]int) error {
	// The order of execution is that of the recording: forward, backward, update. It keeps values short-lived.
	slices.SortStableFunc(q.nodes, func(i, j int) int { return cmp.Compare(c.nodes[i].pos, c.nodes[j].pos) })
	g := &accel.Graph{}
	param := map[ops.Edge]uint32{} // what comes from outside -> parameter of the piece
	outside := func(x ops.Edge, s source) {
		param[x] = uint32(len(g.Nodes))
		q.src = append(q.src, s)
		g.Nodes = append(g.Nodes, accel.Node{Out: c.nodes[x.Node].out[x.Out : x.Out+1]})
	}
	for _, i := range q.nodes {
		for _, in := range c.nodes[i].in {
			if _, ok := param[in]; ok {
				continue
			}
			if int(in.Node) < c.params {
				outside(in, source{int(in.Node), -1})
			} else if pieceOf(in.Node) != q {
				outside(in, source{-1, crossing[in]})
			}
		}
	}
	var assigned []int
	for j := c.results(); j < len(c.outs); j++ {
		if pieceOf(c.outs[j].Node) != q {
			continue
		}
		assigned = append(assigned, j)
		v := c.assigns[j-c.results()]
		x := ops.Edge{Node: uint32(v)}
		if _, ok := param[x]; !ok { // overwritten unread: its buffer is reborn all the same
			outside(x, source{v, -1})
		}
	}
	g.Params = len(g.Nodes)
	local := map[uint32]uint32{} // canonical node -> piece node
	names := make([]int, g.Params)
	edge := func(x ops.Edge) ops.Edge {
		if p, ok := param[x]; ok {
			return ops.Edge{Node: p}
		}
		return ops.Edge{Node: local[x.Node], Out: x.Out}
	}
	for _, i := range q.nodes {
		n := c.nodes[i]
		m := accel.Node{Op: n.op, Out: n.out}
		for _, in := range n.in {
			m.In, m.Args = append(m.In, edge(in)), append(m.Args, c.nodes[in.Node].out[in.Out])
		}
		if err := e.support(q.dev, &m); err != nil {
			return &accel.NodeError{Node: i, Err: err}
		}
		local[uint32(i)] = uint32(len(g.Nodes))
		g.Nodes, names = append(g.Nodes, m), append(names, i)
	}
	out := func(x ops.Edge, donate int, t target) {
		g.Outs, g.Donate, q.dst = append(g.Outs, edge(x)), append(g.Donate, donate), append(q.dst, t)
	}
	for j := range c.results() {
		if pieceOf(c.outs[j].Node) == q {
			out(c.outs[j], -1, target{j, -1, -1})
		}
	}
	for _, j := range assigned {
		v := c.assigns[j-c.results()]
		out(c.outs[j], int(param[ops.Edge{Node: uint32(v)}]), target{-1, v, -1})
	}
	taken := map[ops.Edge]bool{}
	for _, x := range g.Outs {
		taken[x] = true
	}
	for _, x := range sortedSlots(crossing) {
		if pieceOf(x.Node) == q && !taken[edge(x)] {
			out(x, -1, target{-1, -1, crossing[x]})
		} else if pieceOf(x.Node) == q {
			q.dst[slices.Index(g.Outs, edge(x))].slot = crossing[x] // a result that later pieces read too
		}
	}
	q.nodes, q.graph = names, g
	prog, err := e.devs[q.dev].Compile(ctx, g)
	if err != nil {
		var ne *accel.NodeError
		if errors.As(err, &ne) && ne.Node >= g.Params && ne.Node < len(names) {
			return &accel.NodeError{Node: names[ne.Node], Err: ne.Err}
		}
		return fmt.Errorf("sched: device %s: %w", e.devs[q.dev].ID(), err)
	}
	q.prog = prog
	q.args, q.outs = make([]accel.Arg, len(q.src)), make([]accel.Buffer, len(q.dst))
	return nil
}

// sortedSlots are the crossing values in the order of their slots.
func sortedSlots(crossing map[ops.Edge]int) []ops.Edge {
	list := make([]ops.Edge, len(crossing))
	for x, s := range crossing {
		list[s] = x
	}
	return list
}

// support decides whether a node runs by a kernel or by its reference.
func (e *Engine) support(dev int, n *accel.Node) error {
	d := e.devs[dev]
	err := d.Supports(n)
	if err == nil {
		return nil
	}
	_, can := d.(accel.Referencer)
	if !errors.Is(err, accel.ErrUnsupported) || !can || e.NoFallback && isOurs(n.Op) {
		return fmt.Errorf("device %s: %w", d.ID(), err)
	}
	n.Ref = true
	e.stats.Fallbacks++
	if isOurs(n.Op) {
		e.Log.Warn("sched: no kernel, the reference runs", "op", n.Op.Name(), "device", d.ID(), "reason", err)
	}
	return nil
}

// isOurs reports whether an operation belongs to package ops: each brings its samples there.
func isOurs(op ops.Op) bool { _, ok := op.(ops.Sampled); return ok }
