package optim

import (
	"fmt"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// state is what an optimiser keeps.
type state struct {
	*clock
	all   []*ops.Variable
	slots map[*ops.Variable]*slot
	marks uint64 // counts calls of each
	rate  float64
	gradients
}

// Rate is that of the last update that was recorded, 0 before there is one.
func (s *state) Rate() float64 { return s.rate }

// slot is the state of one parameter.
type slot struct {
	param   *ops.Variable
	master  *ops.Variable    // of a 16-bit parameter: its value with all the digits of float32
	moments [3]*ops.Variable // in the order of init; nil where none has been needed
	mark    uint64           // the last call of each that met it
}

// moment is a variable of every parameter's shape, and its first value. One without a name is not needed, and only keeps its place.
type moment struct {
	name  string
	first float64
}

// State is all variables, the number of updates first.
func (s *state) State() []*ops.Variable { return s.all }

// keepTime takes a clock that optimisers share, unless there is one already.
func (s *state) keepTime(c *clock) {
	if s.clock == nil {
		s.clock = c
		s.all = append(s.all, c.count)
		s.slots = map[*ops.Variable]*slot{}
	}
}

// init makes the state of new parameters: variables named after them. What is needed only since a field has changed, such as a momentum that was 0, is
// made then.
func (s *state) init(params []*ops.Variable, moments ...moment) {
	if s.clock == nil {
		s.keepTime(newClock(stepName, nil))
	}
	for _, p := range params {
		if p == nil {
			continue
		}
		k, known := s.slots[p]
		if !known {
			k = &slot{param: p}
			s.slots[p] = k
		}
		for i, m := range moments {
			if m.name != "" && k.moments[i] == nil {
				k.moments[i] = s.make(p, m.name, m.first)
			}
		}
		if d := p.Spec().DType; !known && d.Float() && work(d) != d {
			k.master = s.make(p, "master", 0)
		}
	}
}

// make makes a variable of the parameter's shape.
func (s *state) make(p *ops.Variable, name string, first float64) *ops.Variable {
	spec := p.Spec()
	v := ops.NewVariable(p.Name()+"."+name, tensor.Full(tensor.Spec{DType: work(spec.DType), Shape: spec.Shape}, first))
	s.all = append(s.all, v)
	s.clock.made++
	return v
}

// work is the type in which parameters of type d are updated: in 16 bits 0.999 would be 1, and an update too small to see.
func work(d tensor.DType) tensor.DType {
	if d == tensor.F64 {
		return d
	}
	return tensor.F32
}

// each records an update: f makes the next value of a parameter p with gradient g, both in the working type, and assigns its moments. The
// state is there already.
func (s *state) each(t *autograd.Tape, name string, params []*ops.Variable, grads []ops.Value, f func(k *slot, p, g ops.Value) ops.Value) {
	s.marks++
	t.Scope("optim", func() {
		s.tick(t)
		for i, v := range params {
			k := s.slots[v]
			if err := k.accept(s.marks, grads[i]); err != nil {
				fail(t, name, err)
				return
			}
			d := v.Spec().DType
			next := f(k, k.value(t), grads[i].Cast(work(d)))
			if k.master != nil {
				t.Assign(k.master, next)
			}
			t.Assign(v, next.Cast(d))
		}
	})
}

// value is the parameter in the working type. A 16-bit one is its master copy rounded; where it is not, somebody has set it since, or
// nothing has been updated yet, and the parameter itself counts.
func (k *slot) value(t *autograd.Tape) ops.Value {
	d := k.param.Spec().DType
	p := t.Var(k.param).Cast(work(d))
	if k.master == nil {
		return p
	}
	m := t.Var(k.master)
	return ops.Where(m.Cast(d).Cast(work(d)).Equal(p), m, p)
}

// accept checks a gradient of the parameter, and that the present call has not met the parameter before.
func (k *slot) accept(mark uint64, g ops.Value) error {
	name, spec := k.param.Name(), k.param.Spec()
	switch {
	case k.mark == mark:
		return fmt.Errorf("parameter %s is given twice", name)
	case !spec.DType.Float():
		return fmt.Errorf("parameter %s is %v: %w", name, spec, ops.ErrNotDifferentiable)
	case g.Shape() != spec.Shape || !g.DType().Float():
		return fmt.Errorf("parameter %s is %v, and its gradient %v", name, spec, g.Spec())
	}
	k.mark = mark
	return nil
}
