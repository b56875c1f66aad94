package sched

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// isParam marks a parameter while parameters and operations have numberings of their own.
const isParam = 1 << 31

// canonicaliser makes a canonical graph and, beside it, what differs between recordings of it.
type canonicaliser struct {
	g       *ops.Graph
	device  func(string) (int, error)
	index   map[uint32]place // recorded node -> canonical
	paramOf map[*ops.Variable]uint32
	merged  map[uint64][]uint32 // hash of an operation and its inputs -> body
	params  []node
	body    []node
	pOrigin []*ops.Node
	bOrigin []*ops.Node
	vars    []*ops.Variable
	feeds   []int
}

// place is what a recorded node became: a node, or for a node that folds away another value.
type place struct {
	node  uint32
	alias bool
	to    ops.Edge
}

// canonical runs the passes.
func canonical(g *ops.Graph, device func(string) (int, error)) (*canon, *binding, error) {
	m := &canonicaliser{g: g, device: device, index: map[uint32]place{}, paramOf: map[*ops.Variable]uint32{}, merged: map[uint64][]uint32{}}
	c := &canon{}
	taken := map[ops.Edge]bool{}
	root := func(e ops.Edge) error {
		x, err := m.visit(e)
		if err != nil {
			return err
		}
		if x.Node&isParam != 0 || taken[x] { // every result owns its memory
			raw := g.Nodes[e.Node]
			dev, err := device(raw.Env.Device)
			if err != nil {
				return raw.Place(err)
			}
			x = m.append(node{op: ops.UnaryOp{F: ops.Identity}, in: []ops.Edge{x}, out: []tensor.Spec{g.SpecOf(e)}, dev: dev, pos: len(g.Nodes)}, raw)
		}
		taken[x] = true
		c.outs = append(c.outs, x)
		return nil
	}
	for _, list := range [][]ops.Edge{g.Outs, g.Watches} {
		for _, e := range list {
			if err := root(e); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, a := range g.Assigns {
		if err := root(a.X); err != nil {
			return nil, nil, err
		}
		c.assigns = append(c.assigns, int(m.variable(a.V, g.Nodes[a.X.Node])&^isParam))
	}
	m.sweep(c)
	m.number(c)
	b := &binding{vars: m.vars, feeds: m.feeds, origin: append(m.pOrigin, m.bOrigin...)}
	for _, v := range b.vars {
		if v != nil {
			b.locks = append(b.locks, v)
		}
	}
	slices.SortFunc(b.locks, func(x, y *ops.Variable) int { return cmp.Compare(x.ID(), y.ID()) })
	return c, b, nil
}

// visit is the canonical form of a recorded value.
func (m *canonicaliser) visit(e ops.Edge) (ops.Edge, error) {
	p, ok := m.index[e.Node]
	if !ok {
		var err error
		if p, err = m.make(e.Node); err != nil {
			return ops.Edge{}, err
		}
		m.index[e.Node] = p
	}
	if p.alias {
		return p.to, nil
	}
	return ops.Edge{Node: p.node, Out: e.Out}, nil
}

func (m *canonicaliser) make(i uint32) (place, error) {
	raw := m.g.Nodes[i]
	switch kind, v := m.g.Kind(i); kind {
	case ops.Compute:
	case ops.Var:
		return place{node: m.variable(v, raw)}, nil
	default:
		return place{node: m.param(kind, raw, nil, m.g.Feeds[i])}, nil
	}
	dev, err := m.device(raw.Env.Device)
	if err != nil {
		return place{}, raw.Place(err)
	}
	n := node{op: raw.Op, out: raw.Out, dev: dev, in: make([]ops.Edge, len(raw.In)), pos: int(i)}
	for k, e := range raw.In {
		if n.in[k], err = m.visit(e); err != nil {
			return place{}, err
		}
	}
	if x, ok := m.fold(&n); ok {
		return place{alias: true, to: x}, nil
	}
	return place{node: m.add(n, raw).Node}, nil
}

// add appends an operation, or finds the one that is equal.
func (m *canonicaliser) add(n node, origin *ops.Node) ops.Edge {
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, n.op)
	for _, e := range n.in {
		maphash.WriteComparable(&h, e)
	}
	k := h.Sum64()
	for _, i := range m.merged[k] {
		if o := &m.body[i]; o.op == n.op && o.dev == n.dev && slices.Equal(o.in, n.in) {
			o.pos = min(o.pos, n.pos) // whoever comes first needs it
			return ops.Edge{Node: i}
		}
	}
	x := m.append(n, origin)
	m.merged[k] = append(m.merged[k], x.Node)
	return x
}

func (m *canonicaliser) append(n node, origin *ops.Node) ops.Edge {
	m.body, m.bOrigin = append(m.body, n), append(m.bOrigin, origin)
	return ops.Edge{Node: uint32(len(m.body) - 1)}
}

func (m *canonicaliser) variable(v *ops.Variable, origin *ops.Node) uint32 {
	p, ok := m.paramOf[v]
	if !ok {
		p = m.param(ops.Var, origin, v, -1)
		m.paramOf[v] = p
	}
	return p
}

func (m *canonicaliser) param(kind ops.Kind, origin *ops.Node, v *ops.Variable, feed int) uint32 {
	out := origin.Out
	if v != nil {
		out = []tensor.Spec{v.Spec()}
	}
	m.params, m.pOrigin = append(m.params, node{kind: kind, out: out, dev: -1}), append(m.pOrigin, origin)
	m.vars, m.feeds = append(m.vars, v), append(m.feeds, feed)
	return uint32(len(m.params)-1) | isParam
}

// sweep drops what folding has left without a reader.
func (m *canonicaliser) sweep(c *canon) {
	live := make([]bool, len(m.body))
	for _, e := range c.outs {
		live[e.Node] = true
	}
	for i := len(m.body) - 1; i >= 0; i-- {
		for _, e := range m.body[i].in {
			if live[i] && e.Node&isParam == 0 {
				live[e.Node] = true
			}
		}
	}
	to := make([]uint32, len(m.body))
	keep, origin := m.body[:0], m.bOrigin[:0]
	for i, n := range m.body {
		if !live[i] {
			continue
		}
		to[i] = uint32(len(keep))
		for k, e := range n.in {
			if e.Node&isParam == 0 {
				n.in[k].Node = to[e.Node]
			}
		}
		keep, origin = append(keep, n), append(origin, m.bOrigin[i])
	}
	m.body, m.bOrigin = keep, origin
	for k := range c.outs {
		c.outs[k].Node = to[c.outs[k].Node]
	}
}

// number joins the two numberings and places the parameters: a variable lives where its next value is made, otherwise where it is first
// used.
func (m *canonicaliser) number(c *canon) {
	c.params = len(m.params)
	c.nodes = append(m.params, m.body...)
	fix := func(e *ops.Edge) {
		if e.Node&isParam != 0 {
			e.Node &^= isParam
		} else {
			e.Node += uint32(c.params)
		}
	}
	for i := range c.nodes {
		for k := range c.nodes[i].in {
			fix(&c.nodes[i].in[k])
		}
	}
	for k := range c.outs {
		fix(&c.outs[k])
	}
	for k, p := range c.assigns {
		c.nodes[p].dev = c.nodes[c.outs[c.results()+k].Node].dev
	}
	for i := c.params; i < len(c.nodes); i++ {
		for _, e := range c.nodes[i].in {
			if n := &c.nodes[e.Node]; int(e.Node) < c.params && n.dev < 0 {
				n.dev = c.nodes[i].dev
			}
		}
	}
}
