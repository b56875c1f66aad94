package ops

import (
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
)

// maxTrace bounds the remembered traces, in nodes. When it is passed the memory is dropped at the next Begin: one re-recording, no recompile.
const maxTrace = 1 << 16

// maxAlternates bounds how many continuations of one prefix are remembered; the least recently used go first. It bounds gradients and
// graphs remembered at one node too, of which the oldest go first.
const maxAlternates = 16

// remember appends m to a list of at most maxAlternates.
func remember[T any](list []T, m T) []T {
	if len(list) == maxAlternates {
		list = append(list[:0], list[1:]...)
	}
	return append(list, m)
}

// Recorder is one recording head: a bounded trie of the traces seen, a cursor in it, and the first error. A builder whose operation,
// inputs and surroundings equal those of the node at the cursor gets that node back: nothing is inferred, hashed or allocated. One
// goroutine at a time.
type Recorder struct {
	root, cur *Node
	path      []*Node // the present recording: position -> node
	gen       uint32
	err       error
	env, top  *Env
	segs      uint32
	inGrad    bool
	rule      *Node // whose gradient rule runs
	vars      map[*Variable]*latest
	rng       latest
	nodes     int // in the trie
	longest   int // recording since the trie was empty
	misses    int
	feeds     []tensor.Tensor
	watches   []func(tensor.Tensor)
}

// latest is a value within one recording.
type latest struct {
	gen uint32
	v   Value
}

// NewRecorder makes an empty one.
func NewRecorder() *Recorder {
	r := &Recorder{vars: map[*Variable]*latest{}}
	r.forget()
	r.Begin()
	return r
}

// Begin starts the next recording: earlier Values are stale from now on, the error is cleared. Within On or Scope it stays there.
func (r *Recorder) Begin() {
	r.longest = max(r.longest, len(r.path))
	if r.nodes > max(maxTrace, 4*r.longest) {
		r.forget()
	}
	r.cur, r.path, r.err = r.root, r.path[:0], nil
	clear(r.feeds)
	clear(r.watches)
	r.feeds, r.watches = r.feeds[:0], r.watches[:0]
	r.segs = 0
	r.gen++
}

// forget drops all traces, and with them what they keep alive; unless it is within one, all scopes too.
func (r *Recorder) forget() {
	r.root, r.nodes, r.longest = &Node{}, 0, 0
	clear(r.vars)
	if r.env == r.top {
		r.top = (&Env{}).child("", &Scope{hash: fnvOffset}, 0)
		r.env = r.top
	}
}

// Err is the first error of this recording.
func (r *Recorder) Err() error { return r.err }

// Len is the number of nodes recorded so far.
func (r *Recorder) Len() int { return len(r.path) }

// Misses counts the nodes that were recorded afresh since the Recorder was made. It stands still while steps repeat.
func (r *Recorder) Misses() int { return r.misses }

// Feeds are the values of the inputs of this recording, in the order of its input nodes.
func (r *Recorder) Feeds() []tensor.Tensor { return r.feeds }

// Watches are the functions of this recording's watch nodes, in order.
func (r *Recorder) Watches() []func(tensor.Tensor) { return r.watches }

// Fail keeps err if it is the first error, and returns a poisoned Value.
func (r *Recorder) Fail(err error) Value {
	if err == nil {
		err = fmt.Errorf("ops: %w: Fail without an error", ErrMisuse)
	}
	if r.err == nil {
		r.err = err
	}
	return r.poison()
}

func (r *Recorder) poison() Value { return Value{r, poisonID, r.gen, 0} }

// misuse fails with the place of the caller.
func (r *Recorder) misuse(format string, a ...any) Value {
	return r.Fail(fmt.Errorf("ops: %w: %s at %s", ErrMisuse, fmt.Sprintf(format, a...), site(callers())))
}

// check is empty, or says why v cannot be used in r now.
func (r *Recorder) check(v Value) string {
	switch {
	case v.r == nil:
		return "the zero Value, which nothing has recorded"
	case v.r != r:
		return "a Value of another tape"
	case v.gen != r.gen:
		return "a stale Value: it was recorded before an earlier Step or Discard"
	}
	return ""
}

// Apply is where every builder ends, a user's too. A hit compares and returns; nothing is boxed. Builders are go:noinline: inlined into
// another package, the variadic argument would escape there.
//
// The node goes into the recording of the inputs. An operation without inputs takes [ApplyIn]: of Apply it gets the zero Value.
func Apply[O interface {
	comparable
	Op
}](op O, in ...Value) Value {
	for i := range in {
		if in[i].r != nil {
			return ApplyIn(in[i].r, op, in...)
		}
	}
	return Value{}
}

// ApplyIn is Apply for operations that may have no inputs; r is what Tape.Recorder or Value.Recorder gives. In no Recorder, that of the
// zero Value, it gives the zero Value.
func ApplyIn[O interface {
	comparable
	Op
}](r *Recorder, op O, in ...Value) Value {
	if r == nil {
		return Value{}
	}
	if r.err != nil {
		return r.poison()
	}
	for i := range in {
		if in[i].r != r || in[i].gen != r.gen {
			return r.misuse("%s: argument %d is %s", op.Name(), i, r.check(in[i]))
		}
	}
	var before *Node
next:
	for n := r.cur.next; n != nil; before, n = n, n.alt {
		if n.Env != r.env || len(n.In) != len(in) {
			continue
		}
		if p, ok := n.Op.(O); !ok || p != op {
			continue
		}
		for i := range in {
			if n.In[i] != in[i].edge() {
				continue next
			}
		}
		if before != nil { // move to the front
			before.alt, n.alt, r.cur.next = n.alt, r.cur.next, n
		}
		return r.advance(n)
	}
	return miss(r, op, in)
}

func (r *Recorder) advance(n *Node) Value {
	r.cur = n
	r.path = append(r.path, n)
	return Value{r, uint32(len(r.path) - 1), r.gen, 0}
}

//go:noinline
func miss[O Op](r *Recorder, op O, in []Value) Value {
	edges := make([]Edge, len(in))
	for i, v := range in {
		edges[i] = v.edge()
	}
	return r.record(op, edges)
}

// record adds a node to the trie. A user's Infer may panic.
func (r *Recorder) record(op Op, in []Edge) (v Value) {
	if op == nil {
		return r.misuse("the operation is nil")
	}
	n := &Node{Op: op, In: in, Env: r.env, pcs: callers()}
	if r.env.rule {
		n.rule = r.rule
	}
	defer func() {
		if p := recover(); p != nil {
			v = r.Fail(n.Place(fmt.Errorf("panic in Infer: %v", p)))
		}
	}()
	if err := checkType(op); err != nil {
		return r.Fail(n.Place(err))
	}
	specs := make([]tensor.Spec, len(in))
	for i, e := range in {
		specs[i] = r.path[e.Node].Out[e.Out]
	}
	out, err := op.Infer(specs)
	if err != nil {
		return r.Fail(n.Place(err))
	}
	if kind, _ := kindOf(n); len(out) == 0 && kind != Effect {
		return r.Fail(n.Place(errors.New("Infer gives no output")))
	}
	for _, s := range out {
		if err := s.Check(); err != nil {
			return r.Fail(n.Place(err))
		}
	}
	n.Out = out
	n.alt, r.cur.next = r.cur.next, n
	for k, m := 1, n; m != nil; k, m = k+1, m.alt {
		if k == maxAlternates {
			m.alt = nil
		}
	}
	r.nodes++
	r.misses++
	return r.advance(n)
}

// recordBoxed is Apply for an op that is boxed already.
func (r *Recorder) recordBoxed(op Op, in []Value) Value {
	if r.err != nil {
		return r.poison()
	}
	return miss(r, op, in)
}

// again records node i once more, on other inputs.
func (r *Recorder) again(i uint32, in []Value) Value {
	v := r.recordBoxed(r.path[i].Op, in)
	if r.err == nil {
		r.path[v.id].of = i + 1
	}
	return v
}

// with runs f in another environment; the closure does not escape.
func (r *Recorder) with(e *Env, f func()) {
	if f == nil {
		r.misuse("there is no function to record")
		return
	}
	old := r.env
	r.env = e
	defer func() { r.env = old }()
	f()
}

// On pins what f records to a device.
func (r *Recorder) On(device string, f func()) {
	r.with(r.top.child(device, r.env.Scope, r.env.seg), f)
}

// Scope names what f records.
func (r *Recorder) Scope(name string, f func()) {
	r.with(r.top.child(r.env.Device, r.env.Scope.child(name), r.env.seg), f)
}

// Segment marks what f records: a gradient recomputes it instead of keeping it.
func (r *Recorder) Segment(f func()) {
	r.segs++
	r.with(r.top.child(r.env.Device, r.env.Scope, r.segs), f)
}

// onlyOps fails in a gradient rule, for what a replay of the gradient would not do again.
func (r *Recorder) onlyOps(what string) {
	if r.inGrad {
		r.misuse("a gradient rule has no %s", what)
	}
}

// stream is the next random stream of the scope.
func (r *Recorder) stream() uint64 {
	if r == nil {
		return 0
	}
	r.onlyOps("new random stream: pass the forward one")
	s := r.env.Scope
	if s.gen != r.gen {
		s.gen, s.count = r.gen, 0
	}
	s.count++
	const golden = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio: neighbouring counts lie far apart
	return s.hash + uint64(s.count)*golden
}
