package optim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Optimizer is what a training loop needs of SGD, Adam, AdamW and their like. Update is all that a simple loop calls. One that handles the
// gradients itself, since it sums them over several batches, takes the gradients of Loss and gives them to Apply:
//
//	grads := t.Grad(opt.Loss(t, loss), t.Var(w), t.Var(b))
//	opt.Apply(t, []*ops.Variable{w, b}, grads)
type Optimizer interface {
	// Init makes the state of the parameters that have none yet, so that a checkpoint can be loaded into it. Update does so by itself.
	Init(params ...*ops.Variable)

	// Update records one update of the parameters by the gradient of the loss. A parameter given twice is updated once; one that the
	// loss does not depend on has gradient 0. Mistakes in the optimiser's fields are errors of the step.
	Update(t *autograd.Tape, loss ops.Value, params ...*ops.Variable)

	// Loss is what the gradients that Apply is given are those of: the loss itself, but where an optimiser scales it.
	Loss(t *autograd.Tape, loss ops.Value) ops.Value

	// Apply records one update of the parameters by gradients in the same order: of the parameter's shape and any float type, so that the
	// gradients of 16-bit parameters may have been summed in float32. A parameter given twice is an error.
	Apply(t *autograd.Tape, params []*ops.Variable, grads []ops.Value)

	// State is all variables that the optimiser keeps, the number of updates first, then in the order of the parameters.
	State() []*ops.Variable
}

// gradients is scratch for Update, which every optimiser embeds.
type gradients struct {
	seen   map[*ops.Variable]bool
	params []*ops.Variable
	wrt    []ops.Value
}

// Loss is the loss itself.
func (*gradients) Loss(_ *autograd.Tape, loss ops.Value) ops.Value { return loss }

// update is Update by way of Loss and Apply.
func (s *gradients) update(o Optimizer, t *autograd.Tape, loss ops.Value, params []*ops.Variable) {
	if present(params) != nil {
		o.Apply(t, slices.Clone(params), nil) // which says so. The clone lets the caller's list stay off the heap
		return
	}
	if s.seen == nil {
		s.seen = map[*ops.Variable]bool{}
	}
	clear(s.seen)
	s.params, s.wrt = s.params[:0], s.wrt[:0]
	for _, p := range params {
		if !s.seen[p] {
			s.seen[p] = true
			s.params, s.wrt = append(s.params, p), append(s.wrt, t.Var(p))
		}
	}
	o.Apply(t, s.params, t.Grad(o.Loss(t, loss), s.wrt...))
}

// state is what an optimiser keeps.
type state struct {
	count *ops.Variable // i64: the updates that have happened, for checkpoints
	all   []*ops.Variable
	slots map[*ops.Variable]*slot

	done    int64          // count, as the host knows it while a step is recorded
	tape    *autograd.Tape // where and at which step the last update was recorded
	step    int64
	counted ops.Value // count's next value in that recording

	marks uint64 // counts calls of each
	gradients
}

// slot is the state of one parameter.
type slot struct {
	param   *ops.Variable
	moments [2]*ops.Variable
	mark    uint64 // the last call of each that met it
}

// State is all variables, the number of updates first.
func (s *state) State() []*ops.Variable { return s.all }

// init makes the state of new parameters: variables named after them.
func (s *state) init(moments []string, params []*ops.Variable) {
	if s.count == nil {
		s.count = ops.NewVariable("optim.step", tensor.Scalar[int64](0))
		s.all = append(s.all, s.count)
		s.slots = map[*ops.Variable]*slot{}
	}
	for _, p := range params {
		if p == nil || s.slots[p] != nil {
			continue
		}
		k := &slot{param: p}
		for i, name := range moments {
			k.moments[i] = ops.NewVariable(p.Name()+"."+name, tensor.New(tensor.Spec{DType: work(p.Spec().DType), Shape: p.Spec().Shape}))
			s.all = append(s.all, k.moments[i])
		}
		s.slots[p] = k
	}
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
		for i, v := range params {
			k := s.slots[v]
			if err := k.accept(s.marks, grads[i]); err != nil {
				fail(t, name, err)
				return
			}
			d := v.Spec().DType
			t.Assign(v, f(k, t.Var(v).Cast(work(d)), grads[i].Cast(work(d))).Cast(d))
		}
		if t.Var(s.count) != s.counted { // the first update in this recording
			s.counted = t.Var(s.count).Add(ops.Full(t.Recorder(), s.count.Spec(), 1))
			t.Assign(s.count, s.counted)
		}
	})
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

// number is a number that changes from step to step: a scalar of the recording in each type that asks for it.
type number struct {
	name     string
	x        float64
	f32, f64 ops.Value
}

// in is the number in the type of v.
func (n *number) in(t *autograd.Tape, v ops.Value) ops.Value {
	as := &n.f32
	if v.DType() == tensor.F64 {
		as = &n.f64
	}
	if as.IsNone() {
		*as = t.Scalar(n.name, work(v.DType()), n.x)
	}
	return *as
}

// before is the number of updates before the one that is being recorded. The variable tells after it was loaded, and before the first
// step; in between the host counts, since asking the device would wait for it. A recording that was dropped or refused has not moved the
// tape on and does not count.
func (s *state) before(t *autograd.Tape) int64 {
	if n, ok := onHost(s.count); ok {
		s.done = n
	} else if s.tape != t || s.step != t.StepCount() {
		s.done++
	}
	s.tape, s.step = t, t.StepCount()
	return s.done
}

// onHost reads a variable that no device has had since it was made or set.
func onHost(v *ops.Variable) (int64, bool) {
	if v.Lock(context.Background()) != nil {
		return 0, false
	}
	defer v.Unlock()
	if home, err := v.Home(); home != nil || err != nil {
		return 0, false
	}
	return v.Host().Int(0), true
}

// rate is the rate of an update, or an error.
func rate(lr, def float64, s Schedule, n int64) (float64, error) {
	x := orDefault(lr, def)
	if s != nil {
		x = s.Rate(int(n))
	}
	if !(x >= 0) || math.IsInf(x, 1) {
		return 0, fmt.Errorf("the rate of update %d is %v", n, x)
	}
	return x, nil
}

// orDefault is x, or its default if it is 0.
func orDefault(x, def float64) float64 {
	if x == 0 {
		return def
	}
	return x
}

// within wants lo <= x < hi of a field.
func within(name string, x, lo, hi float64) error {
	if x >= lo && x < hi {
		return nil
	}
	return fmt.Errorf("%s is %v: it must be at least %v and less than %v", name, x, lo, hi)
}

// first is the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// present wants parameters that are there.
func present(params []*ops.Variable) error {
	if len(params) == 0 {
		return errors.New("there are no parameters to update")
	}
	for i, p := range params {
		if p == nil {
			return fmt.Errorf("parameter %d is nil", i)
		}
	}
	return nil
}

// paired wants parameters that are there, and a gradient for each.
func paired(params []*ops.Variable, grads []ops.Value) error {
	if err := present(params); err != nil {
		return err
	}
	if len(grads) != len(params) {
		return fmt.Errorf("there are %d gradients for %d parameters", len(grads), len(params))
	}
	return nil
}

// fail makes the step fail with a mistake in an optimiser's fields.
func fail(t *autograd.Tape, name string, err error) {
	t.Recorder().Fail(fmt.Errorf("optim: %s: %w", name, err))
}
