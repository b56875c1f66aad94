package ops

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// close records f on one input and closes the recording.
func closeWith(t *testing.T, r *Recorder, f func(x Value) Value) *Graph {
	t.Helper()
	r.Begin()
	g, err := r.Graph(true, f(r.Input("x", farr(d(2), 1, 2), -1)))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestReplay: the same recording gives the same graph and no miss; another attribute, input, order, pin or scope gives another.
func TestReplay(t *testing.T) {
	r := NewRecorder()
	traces := map[string]func(x Value) Value{
		"base":       func(x Value) Value { return x.Exp().Scale(2) },
		"attribute":  func(x Value) Value { return x.Exp().Scale(3) },
		"zero":       func(x Value) Value { return x.Scale(0) },
		"minus zero": func(x Value) Value { return x.Scale(math.Copysign(0, -1)) },
		"NaN":        func(x Value) Value { return x.Scale(math.NaN()) },
		"input":      func(x Value) Value { y := x.Exp(); return x.Sub(y) },
		"order":      func(x Value) Value { y := x.Exp(); return y.Sub(x) },
		"pin":        func(x Value) (y Value) { r.On("d1", func() { y = x.Exp().Scale(2) }); return },
		"scope":      func(x Value) (y Value) { r.Scope("s", func() { y = x.Exp().Scale(2) }); return },
		"segment":    func(x Value) (y Value) { r.Segment(func() { y = x.Exp().Scale(2) }); return },
		"output":     func(x Value) Value { y := x.Exp(); y.Scale(2); return y },
		"gradient":   func(x Value) Value { return r.Grad(x.Exp().Sum(), Value{}, x)[0] },
		"weighted":   func(x Value) Value { return r.Grad(x.Exp(), x, x)[0] },
	}
	seen := map[*Graph]string{}
	graphs := map[string]*Graph{}
	for name, f := range traces {
		g := closeWith(t, r, f)
		if other, ok := seen[g]; ok {
			t.Errorf("%s and %s are one graph", name, other)
		}
		seen[g], graphs[name] = name, g
	}
	misses := r.Misses()
	for range 2 {
		for name, f := range traces {
			if g := closeWith(t, r, f); g != graphs[name] {
				t.Errorf("%s: another graph at replay", name)
			}
		}
	}
	if r.Misses() != misses {
		t.Errorf("%d misses at replay", r.Misses()-misses)
	}
}

// TestGraph: effects count in a step only; the last assignment of a variable counts; feeds are in the order of their nodes.
func TestGraph(t *testing.T) {
	v, w := NewVariable("v", farr(d(1), 1)), NewVariable("w", farr(d(1), 2))
	for _, step := range []bool{true, false} {
		r := NewRecorder()
		a, x := r.Var(v), r.Input("x", farr(d(1), 3), 0)
		if r.Var(v) != a {
			t.Error("a variable is recorded once")
		}
		r.Assign(v, a.Add(x))
		if r.Var(v) == a {
			t.Error("an assigned variable has its new value")
		}
		y := r.Input("y", farr(d(1), 4), -1)
		r.Assign(w, r.Var(w).Mul(y))
		r.Assign(v, r.Var(v).Mul(y))
		r.Watch(y, func(tensor.Tensor) {})
		rng := r.RNG()
		if r.RNG() != rng || rng.Spec() != RNGSpec {
			t.Error("the rng is recorded once")
		}
		g, err := r.Graph(step, r.Var(v), r.Var(w))
		if err != nil {
			t.Fatal(err)
		}
		check(t, "v", eval(t, r, r.Var(v))[0], 16)
		if !step {
			if len(g.Assigns) != 0 || len(g.Watches) != 0 {
				t.Errorf("effects without a step: %v, %v", g.Assigns, g.Watches)
			}
			continue
		}
		if len(g.Assigns) != 2 || g.Assigns[0].V != v || g.Assigns[0].X != r.Var(v).edge() || g.Assigns[1].V != w || len(g.Watches) != 1 || len(r.Watches()) != 1 {
			t.Errorf("assigns %v, watches %v", g.Assigns, g.Watches)
		}
		var kinds []Kind
		feeds := 0
		for i := range g.Nodes {
			k, of := g.Kind(uint32(i))
			kinds = append(kinds, k)
			if (k == Var) != (of != nil) || (k == Feed) != (g.Feeds[i] >= 0) {
				t.Errorf("node %d: kind %v, variable %v, feed %d", i, k, of, g.Feeds[i])
			}
			if k == Feed {
				if want := []int{0, -1}[feeds]; g.Feeds[i] != feeds || g.BatchAxis(uint32(i)) != want {
					t.Errorf("node %d: feed %d, batch axis %d", i, g.Feeds[i], g.BatchAxis(uint32(i)))
				}
				feeds++
			} else if g.BatchAxis(uint32(i)) != -1 {
				t.Errorf("node %d has a batch axis", i)
			}
		}
		if feeds != 2 || len(r.Feeds()) != 2 || r.Feeds()[1].At(0) != 4 {
			t.Errorf("%d feeds, kinds %v", feeds, kinds)
		}
		if s := g.SpecOf(g.Outs[0]); s != tensor.SpecOf(tensor.F64, 1) {
			t.Error(s)
		}
	}
}

// TestScalar: a number that changes from step to step is a feed, and its name may repeat.
func TestScalar(t *testing.T) {
	r := NewRecorder()
	var first *Graph
	for i := range 3 {
		r.Begin()
		x := float64(i)
		y := r.Scalar("rate", farr(nil, x)).Add(r.Scalar("rate", farr(nil, 10*x))).Add(r.Input("rate", farr(nil, 100*x), -1))
		check(t, "sum", eval(t, r, y)[0], 111*x)
		g, err := r.Graph(true, y)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = g
		}
		if g != first {
			t.Error("another number is another graph")
		}
	}
}

// TestHotTraceSurvives: traces in use stay, however many others come and go.
func TestHotTraceSurvives(t *testing.T) {
	r := NewRecorder()
	for i := range 300 {
		for k := range 5 { // train, eval, tails
			before := r.Misses()
			closeWith(t, r, func(x Value) Value { return x.Scale(float64(-1 - k)).Neg() })
			if i > 0 && r.Misses() != before {
				t.Fatalf("round %d, trace %d was forgotten", i, k)
			}
		}
		closeWith(t, r, func(x Value) Value { return x.Scale(float64(i)) })
	}
}

// TestAlternates: as many continuations of one prefix are remembered as the bound says, the latest ones.
func TestAlternates(t *testing.T) {
	r := NewRecorder()
	for round := range 3 {
		for k := range maxAlternates {
			before := r.Misses()
			closeWith(t, r, func(x Value) Value { return x.Scale(float64(k)) })
			if round > 0 && r.Misses() != before {
				t.Fatalf("round %d: alternate %d was forgotten", round, k)
			}
		}
	}
	closeWith(t, r, func(x Value) Value { return x.Scale(-1) })
	before := r.Misses()
	closeWith(t, r, func(x Value) Value { return x.Scale(maxAlternates - 1) })
	closeWith(t, r, func(x Value) Value { return x.Scale(0) })
	if r.Misses() != before+1 {
		t.Errorf("%d misses, want the one of the alternate that was used longest ago", r.Misses()-before)
	}
}

// TestMemoryBounded: steps that never repeat do not pile up, in whichever way they differ.
func TestMemoryBounded(t *testing.T) {
	r := NewRecorder()
	x := farr(d(1), 1)
	deepest := 0
	for i := range 1200 {
		r.Begin()
		v := r.Input("x", x, -1)
		for k := range 100 { // the first 16 alternates are kept, with all behind them
			v = v.Scale(float64(i*100 + k))
		}
		deepest = max(deepest, r.nodes)
	}
	if limit := maxTrace + 200; deepest > limit || deepest < maxTrace/2 {
		t.Errorf("%d nodes remembered, want at most %d", deepest, limit)
	}
	r = NewRecorder()
	for i := range 100 {
		r.Begin()
		v := r.Input("x", x, -1)
		ys := []Value{v.Exp(), v.Tanh(), v.Neg()}
		var outs []Value
		for k := range i {
			outs = append(outs, ys[(i+k)%3])
		}
		if _, err := r.Graph(false, outs...); err != nil {
			t.Fatal(err)
		}
		r.Grad(ys[i%3], Value{}, outs...)
		if n := len(r.path[3].graphs); n > maxAlternates {
			t.Fatalf("%d graphs remembered at one node", n)
		}
		if n := len(r.path[3].grads); n > maxAlternates {
			t.Fatalf("%d gradients remembered at one node", n)
		}
	}
	vs := len(r.vars)
	for range 10 {
		r.Var(NewVariable("v", x))
	}
	r.forget()
	if len(r.vars) != vs {
		t.Errorf("%d variables are kept alive", len(r.vars)-vs)
	}
}

// TestLongTraceSurvives: a trace that is longer than the bound stays while it is in use, also where short ones come between.
func TestLongTraceSurvives(t *testing.T) {
	r := NewRecorder()
	record := func(n int) {
		r.Begin()
		v := r.Input("x", farr(d(1), 1), -1)
		for range n {
			v = v.Neg()
		}
	}
	for i := range 4 {
		before := r.Misses()
		record(maxTrace + 100)
		record(3)
		if i > 0 && r.Misses() != before {
			t.Fatalf("round %d: %d nodes were recorded again", i, r.Misses()-before)
		}
	}
}

// TestScopesAreForgotten: scopes that never come again do not pile up.
func TestScopesAreForgotten(t *testing.T) {
	r := NewRecorder()
	x := farr(d(1), 1)
	most := 0
	for i := range 2*maxTrace/100 + 10 {
		r.Begin()
		r.Scope(fmt.Sprint("step ", i), func() {
			v := r.Input("x", x, -1)
			for range 100 {
				v = v.Neg()
			}
		})
		most = max(most, len(r.top.kids))
	}
	if limit := maxTrace/100 + 10; most > limit {
		t.Errorf("%d scopes remembered, want at most %d", most, limit)
	}
}

// TestRuleRecordsOnlyOps: what a gradient rule could not do again when the gradient is replayed is refused, also after a gradient of its own.
func TestRuleRecordsOnlyOps(t *testing.T) {
	x, v := farr(d(1), 1), NewVariable("v", farr(d(1), 1))
	for what, f := range map[string]func(r *Recorder, dy Value){
		"inputs":      func(r *Recorder, dy Value) { r.Input("late", x, -1) },
		"scalars":     func(r *Recorder, dy Value) { r.Scalar("late", x) },
		"assignments": func(r *Recorder, dy Value) { r.Assign(v, dy) },
		"watches":     func(r *Recorder, dy Value) { r.Watch(dy, func(tensor.Tensor) {}) },
		"random stream": func(r *Recorder, dy Value) {
			r.Grad(dy.Sum(), Value{}, dy)
			Dropout(dy, 0.5)
		},
	} {
		r := NewRecorder()
		inRule = f
		y := Apply(ruleOp{}, r.Input("x", x, -1)).Sum()
		r.Grad(y, Value{}, Value{r, 0, r.gen, 0})
		fails(t, r.Err(), ErrMisuse, "a gradient rule has no", what)
	}
	inRule = nil
}

// A ruleOp is the identity, with a rule that does what it should not.
type ruleOp struct{}

// inRule is what a ruleOp's rule does.
var inRule func(r *Recorder, dy Value)

func (ruleOp) Name() string                                  { return "rule" }
func (ruleOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in[:1], nil }
func (ruleOp) Ref(out, in []tensor.Tensor) error             { out[0].CopyFrom(in[0]); return nil }
func (ruleOp) Cost(in, out []tensor.Spec) Cost               { return Cost{} }
func (ruleOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	inRule(dy.r, dy)
	b.Set(0, dy)
}

// TestBegin: a new recording has no error, no feeds, no surroundings of the last.
func TestBegin(t *testing.T) {
	r := NewRecorder()
	x := r.Input("x", farr(d(2), 1, 2), -1)
	x.Reshape(3)
	r.Watch(x, nil)
	if r.Err() == nil {
		t.Fatal("no error")
	}
	r.Begin()
	if r.Err() != nil || r.Len() != 0 || len(r.Feeds()) != 0 || len(r.Watches()) != 0 {
		t.Error(r.Err(), r.Len(), r.Feeds(), r.Watches())
	}
	if x.Spec() != (tensor.Spec{}) {
		t.Error("a stale value has no spec", x.Spec())
	}
	y := r.Input("x", farr(d(2), 1, 2), -1).Neg()
	check(t, "after an error", eval(t, r, y)[0], -1, -2)
}

// TestSurroundings: nodes know pin and scope, gradients inherit those of their forward node, errors name the scope.
func TestSurroundings(t *testing.T) {
	r := NewRecorder()
	x := r.Input("x", farr(d(2), 1, 2), -1)
	var y Value
	r.Scope("model", func() {
		r.On("d1", func() {
			r.Scope("fc", func() { y = x.Exp() })
		})
	})
	n := r.path[y.id]
	if n.Env.Device != "d1" || n.Path() != "model/fc" {
		t.Errorf("device %q, path %q", n.Env.Device, n.Path())
	}
	before := r.Len()
	r.Scope("loss", func() { r.Grad(y.Sum(), Value{}, x) })
	found := false
	for _, g := range r.path[before:] {
		if b, ok := g.Op.(BinaryOp); ok && b.F == Mul {
			found = g.Env.Device == "d1" && g.Path() == "model/fc"
		}
	}
	if !found {
		t.Error("the gradient of exp is not where exp is")
	}
	if r.path[x.Neg().id].Path() != "" {
		t.Error("the scope did not end")
	}
	func() {
		defer func() { recover() }()
		r.Scope("lost", func() { panic("user") })
	}()
	if r.path[x.Neg().id].Path() != "" {
		t.Error("the scope did not end in a panic")
	}
	r.Scope("model", func() { r.Scope("fc", func() { x.Reshape(3) }) })
	var e *OpError
	if !errors.As(r.Err(), &e) || e.Path != "model/fc" || e.Op != "reshape" {
		t.Errorf("%v", r.Err())
	}
}

// TestStreams: random streams are counted per scope. Neither neighbours, pins nor segments move them; two draws differ; a gradient rule
// draws none.
func TestStreams(t *testing.T) {
	stream := func(f func(r *Recorder) (s uint64)) uint64 { return f(NewRecorder()) }
	in := func(name string, pre func(r *Recorder)) uint64 {
		return stream(func(r *Recorder) (s uint64) {
			pre(r)
			r.Scope(name, func() { s = r.stream() })
			return s
		})
	}
	nothing := func(*Recorder) {}
	base := in("a", nothing)
	for what, same := range map[string]uint64{
		"a draw outside":       in("a", func(r *Recorder) { r.stream() }),
		"a draw elsewhere":     in("a", func(r *Recorder) { r.Scope("b", func() { r.stream() }) }),
		"an op before":         in("a", func(r *Recorder) { Full(r, tensor.SpecOf(tensor.F32), 1) }),
		"a pin":                stream(func(r *Recorder) (s uint64) { r.On("d", func() { r.Scope("a", func() { s = r.stream() }) }); return }),
		"a segment":            stream(func(r *Recorder) (s uint64) { r.Segment(func() { r.Scope("a", func() { s = r.stream() }) }); return }),
		"an earlier recording": in("a", func(r *Recorder) { r.Scope("a", func() { r.stream() }); r.Begin() }),
		"a segment within":     stream(func(r *Recorder) (s uint64) { r.Scope("a", func() { r.Segment(func() { s = r.stream() }) }); return }),
	} {
		if same != base {
			t.Errorf("%s moves the stream", what)
		}
	}
	for what, other := range map[string]uint64{
		"a second draw":  in("a", func(r *Recorder) { r.Scope("a", func() { r.stream() }) }),
		"another scope":  in("b", nothing),
		"an inner scope": stream(func(r *Recorder) (s uint64) { r.Scope("a", func() { r.Scope("a", func() { s = r.stream() }) }); return }),
		"the top":        stream((*Recorder).stream),
	} {
		if other == base {
			t.Errorf("%s has the same stream", what)
		}
	}
	if base != 0xa6d372c1348f950e { // a saved seed must mean the same numbers for ever
		t.Errorf("the first stream of scope a is %#x", base)
	}
	r := NewRecorder()
	x := r.Input("x", farr(d(1), 1), -1)
	r.Grad(Apply(userOp{Kind: drawsInGrad}, x), Value{}, x)
	if !errors.Is(r.Err(), ErrMisuse) {
		t.Error(r.Err())
	}
}
