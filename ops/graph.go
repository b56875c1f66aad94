package ops

import "github.com/cortado-ml/cortado/tensor"

// Graph is a recorded program. It is immutable; replay returns the same pointer.
type Graph struct {
	Nodes   []*Node
	Outs    []Edge   // what was asked for
	Assigns []Assign // effects, one for each variable
	Watches []Edge
	Feeds   []int // node -> feed, -1 elsewhere
	Bound   any   // the engine's: what it knows of this graph lives and dies with it
}

// Assign is one effect: V becomes X when the step succeeds.
type Assign struct {
	V *Variable
	X Edge
}

// Kind is what a node of a recorded graph is.
type Kind uint8

// The kinds.
const (
	Compute Kind = iota // an operation to run
	Feed                // an input of the step
	Var                 // a variable
	RNG                 // the (seed, step) input
	Effect              // an assignment or a watch, listed in the Graph
)

// Kind classifies node i; v is the variable if it is one.
func (g *Graph) Kind(i uint32) (k Kind, v *Variable) { return kindOf(g.Nodes[i]) }

func kindOf(n *Node) (Kind, *Variable) {
	switch o := n.Op.(type) {
	case inputOp:
		return Feed, nil
	case varOp:
		return Var, o.V
	case rngOp:
		return RNG, nil
	case assignOp, watchOp:
		return Effect, nil
	}
	return Compute, nil
}

// BatchAxis is the batch axis of a feed, -1 for none and for other nodes.
func (g *Graph) BatchAxis(i uint32) int {
	if o, ok := g.Nodes[i].Op.(inputOp); ok {
		return int(o.Batch)
	}
	return -1
}

// closed is a graph remembered at the node where its recording ended.
type closed struct {
	outs []Edge
	step bool
	g    *Graph
}

// Graph closes the recording with outs. Effects count only if step. The same trace and outs give the same pointer.
func (r *Recorder) Graph(step bool, outs ...Value) (*Graph, error) {
	for i, v := range outs {
		if s := r.check(v); s != "" && r.err == nil {
			r.misuse("result %d is %s", i, s)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
next:
	for _, f := range r.cur.graphs {
		if f.step != step || len(f.outs) != len(outs) {
			continue
		}
		for i := range outs {
			if f.outs[i] != outs[i].edge() {
				continue next
			}
		}
		return f.g, nil
	}
	g := r.collect(step, outs)
	r.cur.graphs = remember(r.cur.graphs, &closed{g.Outs, step, g})
	return g, nil
}

func (r *Recorder) collect(step bool, outs []Value) *Graph {
	g := &Graph{Nodes: append([]*Node(nil), r.path...), Feeds: make([]int, len(r.path))}
	for _, v := range outs {
		g.Outs = append(g.Outs, v.edge())
	}
	feeds, at := 0, map[*Variable]int{}
	for i, n := range g.Nodes {
		g.Feeds[i] = -1
		switch o := n.Op.(type) {
		case inputOp:
			g.Feeds[i] = feeds
			feeds++
		case watchOp:
			if step {
				g.Watches = append(g.Watches, n.In[0])
			}
		case assignOp:
			if !step {
				break
			}
			if k, ok := at[o.V]; ok { // the last assignment counts
				g.Assigns[k].X = n.In[0]
			} else {
				at[o.V] = len(g.Assigns)
				g.Assigns = append(g.Assigns, Assign{o.V, n.In[0]})
			}
		}
	}
	return g
}

// Value is the value at an edge of the present recording, for tools that look at all numbers of a step.
func (r *Recorder) Value(e Edge) Value {
	if int(e.Node) >= len(r.path) || int(e.Out) >= len(r.path[e.Node].Out) {
		return r.misuse("the recording has no output %d of node %d", e.Out, e.Node)
	}
	return Value{r, e.Node, r.gen, e.Out}
}

// Results is where an engine leaves what a run makes: storage of the outs, then of the watches, and the end of the run. The tape owns
// the storage; what lies in Bufs at the call is given up for re-use.
type Results struct {
	Bufs    []Storage
	Done    Event
	Explain func(error) error // from a driver's error to operation, scope and call site
}

// SpecOf is the spec of the value at an edge.
func (g *Graph) SpecOf(e Edge) tensor.Spec { return g.Nodes[e.Node].Out[e.Out] }
