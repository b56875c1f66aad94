package ops

import (
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
)

// The leaves and effects of a recording. They are operations so that replay treats them alike; no driver sees them.

// leaf is what they share.
type leaf struct {
	total
	NoGrad
}

func (leaf) Ref(out, in []tensor.Tensor) error { return errors.New("a leaf does not run") }
func (leaf) Cost(in, out []tensor.Spec) Cost   { return Cost{} }

type inputOp struct {
	leaf
	Label  string
	Spec   tensor.Spec
	Batch  int8 // axis, -1 for none
	Scalar bool
}

type varOp struct {
	leaf
	V *Variable
}

type rngOp struct{ leaf }

type assignOp struct {
	leaf
	V *Variable
}

type watchOp struct{ leaf }

func (o inputOp) Name() string                               { return "input " + o.Label }
func (o inputOp) Infer([]tensor.Spec) ([]tensor.Spec, error) { return []tensor.Spec{o.Spec}, nil }
func (o varOp) Name() string                                 { return "variable " + o.V.name }
func (o varOp) Infer([]tensor.Spec) ([]tensor.Spec, error)   { return []tensor.Spec{o.V.spec}, nil }
func (rngOp) Name() string                                   { return "rng" }
func (rngOp) Infer([]tensor.Spec) ([]tensor.Spec, error)     { return []tensor.Spec{RNGSpec}, nil }
func (o assignOp) Name() string                              { return "assign " + o.V.name }
func (o assignOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0] != o.V.spec {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("variable %s is %v and cannot hold the value", o.V.name, o.V.spec), In: in}
	}
	return nil, nil
}
func (watchOp) Name() string                               { return "watch" }
func (watchOp) Infer([]tensor.Spec) ([]tensor.Spec, error) { return nil, nil }

// RNGSpec is the spec of the (seed, step) input of random operations.
var RNGSpec = tensor.SpecOf(tensor.I64, 2)

// Input records an input and its value for this step. batch is its batch axis, -1 for none.
func (r *Recorder) Input(name string, x tensor.Tensor, batch int) Value {
	if x.IsNone() && r.err == nil {
		return r.misuse("input %q is no tensor: it is none, as tensor.New gives for a spec that no array can have", name)
	}
	if batch < -1 || batch >= 0 && batch >= x.Shape().Rank() {
		return r.misuse("input %q is %v and has no batch axis %d", name, x.Spec(), batch)
	}
	r.onlyOps("inputs")
	m := r.misses
	v := ApplyIn(r, inputOp{Label: name, Spec: x.Spec(), Batch: int8(batch)})
	if r.err != nil {
		return v
	}
	if m != r.misses { // a replayed prefix was checked when it was recorded
		for _, n := range r.path[:len(r.path)-1] {
			if o, ok := n.Op.(inputOp); ok && o.Label == name && !o.Scalar {
				first := n.Site()
				r.forget() // this trace is not worth remembering
				return r.misuse("input %q is recorded twice in one step (a forgotten Step or Discard?): first at %s, again", name, first)
			}
		}
	}
	r.feeds = append(r.feeds, x)
	return v
}

// Scalar records a number that may change from step to step. Unlike an input, its name may repeat: two optimisers both have a rate.
func (r *Recorder) Scalar(name string, x tensor.Tensor) Value {
	r.onlyOps("scalars")
	v := ApplyIn(r, inputOp{Label: name, Spec: x.Spec(), Batch: -1, Scalar: true})
	if r.err == nil {
		r.feeds = append(r.feeds, x)
	}
	return v
}

// Var is the variable's latest value within this recording.
func (r *Recorder) Var(v *Variable) Value {
	if v == nil {
		return r.misuse("the variable is nil")
	}
	l := r.latest(v)
	if l.gen != r.gen || r.err != nil {
		l.gen, l.v = r.gen, ApplyIn(r, varOp{V: v})
	}
	return l.v
}

// Assign makes x the variable's next value.
//
//go:noinline
func (r *Recorder) Assign(v *Variable, x Value) {
	if v == nil {
		r.misuse("the variable to assign is nil")
		return
	}
	r.onlyOps("assignments")
	ApplyIn(r, assignOp{V: v}, x)
	if r.err != nil {
		return
	}
	l := r.latest(v)
	l.gen, l.v = r.gen, x
}

func (r *Recorder) latest(v *Variable) *latest {
	l := r.vars[v]
	if l == nil {
		l = &latest{}
		r.vars[v] = l
	}
	return l
}

// Watch asks for x; f is a feed, not an attribute.
//
//go:noinline
func (r *Recorder) Watch(x Value, f func(tensor.Tensor)) {
	r.onlyOps("watches")
	ApplyIn(r, watchOp{}, x)
	if f == nil {
		r.misuse("there is no function to watch")
	}
	if r.err == nil {
		r.watches = append(r.watches, f)
	}
}

// RNG is the (seed, step) input.
func (r *Recorder) RNG() Value {
	if r == nil {
		return Value{}
	}
	if r.rng.gen != r.gen || r.err != nil {
		r.rng = latest{r.gen, ApplyIn(r, rngOp{})}
	}
	return r.rng.v
}
