package ops

import (
	"fmt"
	"strings"

	"github.com/cortado-ml/cortado/tensor"
)

// gradMemo is a differentiation remembered at the node where it was asked for.
type gradMemo struct {
	y     Edge
	dy    Edge
	seed  bool // dy was given
	wrt   []Edge
	chain []*Node
	res   []Value
}

func (m *gradMemo) is(y, dy Value, wrt []Value) bool {
	if m.y != y.edge() || m.seed == dy.IsNone() || m.seed && m.dy != dy.edge() || len(m.wrt) != len(wrt) {
		return false
	}
	for i := range wrt {
		if m.wrt[i] != wrt[i].edge() {
			return false
		}
	}
	return true
}

// VJP is Grad with a weight for each element of y.
func (r *Recorder) VJP(y, dy Value, wrt ...Value) []Value {
	if dy.IsNone() && r.err == nil {
		r.misuse("grad: VJP needs a weight dy for each element of y; for a loss of one element use Grad")
	}
	return r.Grad(y, dy, wrt...)
}

// Grad gives the gradients of y, weighted by dy, with respect to wrt; with no dy, y is one float and its weight 1. The rules run in the
// reverse order of recording. It is remembered per prefix and arguments: a replay appends the remembered nodes and returns the
// remembered slice, which is the recorder's until the next Begin.
func (r *Recorder) Grad(y, dy Value, wrt ...Value) []Value {
	if r.err == nil && r.check(y) != "" {
		r.misuse("grad: the value to differentiate is %s", r.check(y))
	}
	if r.err == nil && !dy.IsNone() && r.check(dy) != "" {
		r.misuse("grad: the weight is %s", r.check(dy))
	}
	for i, v := range wrt {
		if s := r.check(v); s != "" && r.err == nil {
			r.misuse("grad: variable %d is %s", i, s)
		}
	}
	if r.err == nil {
		for _, m := range r.cur.grads {
			if !m.is(y, dy, wrt) {
				continue
			}
			r.path = append(r.path, m.chain...)
			r.cur = r.path[len(r.path)-1]
			for i := range m.res {
				m.res[i].gen = r.gen
			}
			return m.res
		}
	}
	return gradMiss(r, y, dy, wrt)
}

//go:noinline
func gradMiss(r *Recorder, y, dy Value, wrt []Value) []Value {
	m := &gradMemo{y: y.edge(), dy: dy.edge(), seed: !dy.IsNone(), res: make([]Value, len(wrt))}
	for _, v := range wrt {
		m.wrt = append(m.wrt, v.edge())
	}
	at, start, env, inGrad, rule := r.cur, len(r.path), r.env, r.inGrad, r.rule // a rule may ask for gradients itself
	r.inGrad = true
	r.differentiate(m, dy)
	r.inGrad, r.env, r.rule = inGrad, env, rule
	if r.err != nil {
		for i := range m.res {
			m.res[i] = r.poison()
		}
		return m.res
	}
	if len(r.path) > start {
		m.chain = append(m.chain, r.path[start:]...)
		at.grads = remember(at.grads, m)
	}
	return m.res
}

// differ is one differentiation.
type differ struct {
	r     *Recorder
	on    []bool           // per node: depends on wrt through float values
	dys   [][]Value        // per node, per output
	held  map[Edge][]Value // gradients that settle makes one of
	clone map[inSegment]Value
	token map[uint32]Value // segment -> the first gradient that reached it
}

// inSegment is a value as one segment's backward pass sees it.
type inSegment struct {
	seg uint32
	e   Edge
}

func (r *Recorder) differentiate(m *gradMemo, dy Value) {
	if r.err != nil {
		return
	}
	defer func() { // a user's rule may panic
		if p := recover(); p != nil {
			err := fmt.Errorf("panic in the gradient rule: %v", p)
			if r.rule != nil {
				err = r.rule.Place(err)
			}
			r.Fail(err)
		}
	}()
	top := r.path[m.y.Node]
	spec := top.Out[m.y.Out]
	switch {
	case !spec.DType.Float():
		r.Fail(top.Place(fmt.Errorf("gradient: %w: the value is %v", ErrNotDifferentiable, spec.DType)))
		return
	case m.seed && dy.Spec() != spec:
		r.Fail(top.Place(&tensor.ShapeError{Msg: "gradient: the weight has not the value's spec", In: []tensor.Spec{spec, dy.Spec()}}))
		return
	case !m.seed && spec.Shape.Size() != 1:
		r.Fail(top.Place(&tensor.ShapeError{Msg: "gradient: the loss must be one number: take its Mean or Sum, or give a weight for each element (VJP)", In: []tensor.Spec{spec}}))
		return
	}
	n := len(r.path)
	d := &differ{r: r, on: make([]bool, n), dys: make([][]Value, n), held: map[Edge][]Value{}, clone: map[inSegment]Value{}, token: map[uint32]Value{}}
	for _, e := range m.wrt {
		if s := r.path[e.Node].Out[e.Out]; !s.DType.Float() {
			r.Fail(r.path[e.Node].Place(fmt.Errorf("gradient: %w: the variable is %v", ErrNotDifferentiable, s.DType)))
			return
		}
		d.on[e.Node] = true
		d.copies(e, func(c Edge) { d.on[c.Node] = true })
	}
	d.spread(0, n)
	r.env = top.Env.back
	if !m.seed {
		dy = ApplyIn(r, FillOp{Spec: spec, X: F(1)})
	}
	d.give(m.y, dy)
	d.walk(0, int(m.y.Node)+1)
	for i, e := range m.wrt {
		if r.err != nil {
			return
		}
		r.env = r.path[e.Node].Env.back
		d.settle(e.Node)
		d.copies(e, func(c Edge) {
			d.settle(c.Node)
			if row := d.dys[c.Node]; row != nil && !row[c.Out].IsNone() {
				d.give(e, row[c.Out])
				row[c.Out] = Value{} // e may be asked for twice
			}
		})
		if d.dys[e.Node] != nil && !d.dys[e.Node][e.Out].IsNone() {
			m.res[i] = d.dys[e.Node][e.Out]
			continue
		}
		if cuts := d.cuts(e.Node, m.y.Node); cuts != "" {
			r.Fail(r.path[e.Node].Place(fmt.Errorf("gradient: %w: no differentiable path from the loss: cut by %s", ErrNotDifferentiable, cuts)))
			return
		}
		m.res[i] = d.zeros(r.path[e.Node].Out[e.Out])
	}
}

func (d *differ) needs(e Edge) bool { return d.on[e.Node] && d.r.path[e.Node].Out[e.Out].DType.Float() }

func (d *differ) zeros(s tensor.Spec) Value { return ApplyIn(d.r, FillOp{Spec: s, X: F(0)}) }

// copies calls f for what an earlier gradient has computed again of a value within a segment: it is that value too.
func (d *differ) copies(e Edge, f func(Edge)) {
	if d.r.path[e.Node].Env.seg == 0 {
		return
	}
	for i := e.Node + 1; int(i) < len(d.on); i++ {
		if d.r.path[i].of == e.Node+1 {
			f(Edge{i, e.Out})
		}
	}
}

// spread says of the nodes from lo to hi whether they depend on wrt.
func (d *differ) spread(lo, hi int) {
	for i := lo; i < hi; i++ {
		for _, e := range d.r.path[i].In {
			d.on[i] = d.on[i] || d.needs(e)
		}
	}
}

// cuts names what stands between from and top if every path between them passes through a value that is no float. It is empty if
// there is no path, and if there is a float one, along which the gradient is zero. What a gradient's own rule compares is no cut: the
// rule knows that its choice is constant almost everywhere.
func (d *differ) cuts(from, top uint32) string {
	reach, float := make([]bool, top+1), make([]bool, top+1)
	if from > top {
		return ""
	}
	reach[from], float[from] = true, true
	var names []string
	for i := from + 1; i <= top; i++ {
		n := d.r.path[i]
		if _, stop := n.Op.(StopGradientOp); stop || n.Env.rule && len(n.Out) > 0 && !n.Out[0].DType.Float() {
			continue
		}
		for _, e := range n.In {
			reach[i] = reach[i] || reach[e.Node]
			float[i] = float[i] || float[e.Node] && d.r.path[e.Node].Out[e.Out].DType.Float()
		}
		if kind, _ := kindOf(n); float[i] && kind == Compute && !n.Out[0].DType.Float() {
			names = append(names, n.Op.Name()+" at "+n.Site())
		}
	}
	if !reach[top] || float[top] {
		return ""
	}
	return strings.Join(names, "; ")
}

// give adds v to the gradient of e; the sum is in the order of the walk.
func (d *differ) give(e Edge, v Value) {
	row := d.dys[e.Node]
	if row == nil {
		row = make([]Value, len(d.r.path[e.Node].Out))
		d.dys[e.Node] = row
	}
	if row[e.Out].IsNone() {
		row[e.Out] = v
	} else {
		row[e.Out] = row[e.Out].Add(v)
	}
}

// walk applies the rules from hi down to lo.
func (d *differ) walk(lo, hi int) {
	r := d.r
	for i := hi - 1; i >= lo && r.err == nil; i-- {
		node := r.path[i]
		if d.dys[i] == nil || !d.on[i] || len(node.In) == 0 {
			continue
		}
		r.env, r.rule = node.Env.back, node
		d.settle(uint32(i))
		if seg := node.Env.seg; seg != 0 && d.token[seg].IsNone() {
			for _, v := range d.dys[i] {
				if !v.IsNone() {
					d.token[seg] = v
				}
			}
		}
		if f, ok := node.Op.(Fused); ok && hasNoGrad(f) {
			d.through(f, i)
			continue
		}
		b := &Backward{d: d, n: node, id: uint32(i), dy: d.dys[i], dx: make([]Value, len(node.In))}
		node.Op.Grad(b)
		for k, dx := range b.dx {
			if dx.IsNone() || r.err != nil {
				continue
			}
			if want := b.InSpec(k); dx.Spec() != want {
				r.Fail(node.Place(&tensor.ShapeError{Msg: fmt.Sprintf("gradient rule: input %d wants its own spec", k), In: []tensor.Spec{dx.Spec(), want}}))
				return
			}
			if node.Env.seg != 0 || !d.hold(node.In[k], dx) { // what a segment computes again shall not live on
				d.give(node.In[k], dx)
			}
		}
	}
}

// through differentiates a fused node by its decomposition, which is recorded now and walked at once: its inputs lie before node i.
func (d *differ) through(f Fused, i int) {
	r := d.r
	in := make([]Value, len(r.path[i].In))
	for k, e := range r.path[i].In {
		in[k] = Value{r, e.Node, r.gen, e.Out}
	}
	dys := d.dys[i]
	lo := len(r.path)
	outs := f.Decompose(in)
	hi := len(r.path)
	for len(d.on) < hi {
		d.on, d.dys = append(d.on, false), append(d.dys, nil)
	}
	d.spread(lo, hi)
	for k, dy := range dys {
		if !dy.IsNone() && r.err == nil {
			d.give(outs[k].edge(), dy)
		}
	}
	d.walk(lo, hi)
}

// value is e as the backward pass of segment seg may use it: outside a segment, itself; inside, a recomputed copy. What enters the
// segment, a variable too, enters it again through a barrier that waits for the first gradient: else the first operations would be equal
// to those of the forward pass, and elimination would keep their results for so long. Streams are attributes and are copied with the op; effects have no outputs and are never copied.
func (d *differ) value(seg uint32, e Edge) Value {
	n := d.r.path[e.Node]
	self := Value{d.r, e.Node, d.r.gen, e.Out}
	if seg == 0 {
		return self
	}
	if v, ok := d.clone[inSegment{seg, e}]; ok {
		return v
	}
	var v Value
	kind, _ := kindOf(n)
	switch {
	case kind == RNG: // tiny, and not worth a barrier
		v = self
	case kind == Compute && n.Env.seg == seg:
		in := make([]Value, len(n.In))
		for i, x := range n.In {
			in[i] = d.value(seg, x)
		}
		again := d.r.top.child(n.Env.Device, n.Env.Scope, 0) // no rule records this: it is the user's operation once more
		d.r.with(again, func() { v = d.r.again(e.Node, in) })
		for i := range n.Out {
			d.clone[inSegment{seg, Edge{e.Node, uint16(i)}}] = Value{d.r, v.id, v.gen, uint16(i)}
		}
		return d.clone[inSegment{seg, e}]
	default:
		v = ApplyIn(d.r, BarrierOp{Segment: seg}, self, d.token[seg])
	}
	d.clone[inSegment{seg, e}] = v
	return v
}
