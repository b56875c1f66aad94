package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
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

// start checks what an update is given and gives its rate. Where it is not ok it has failed the recording.
func (s *state) start(t *autograd.Tape, name string, params []*ops.Variable, grads []ops.Value, lr float64, by Schedule, wrong ...error) (rate float64, ok bool) {
	n := s.before(t)
	if by != nil {
		lr = by.Rate(int(n))
	}
	var bad error
	if !(lr >= 0) || math.IsInf(lr, 1) {
		bad = fmt.Errorf("the rate of update %d is %v", n, lr)
	}
	err := first(bad, paired(params, grads), first(wrong...))
	if err != nil {
		fail(t, name, err)
		return lr, false
	}
	s.rate = lr
	return lr, true
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

// notBelow wants x >= 0 of a field.
func notBelow(name string, x float64) error { return within(name, x, 0, math.Inf(1)) }

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
