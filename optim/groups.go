package optim

import (
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
)

// Groups gives each parameter to the optimiser of the first group that matches its name: no weight decay for biases and norms, say, or a
// smaller rate for what is trained already. One that no group matches is an error of the step that names it. All groups count updates
// together, so that checkpoints do not depend on their order. Each wants an optimiser of its own; [Clip], [LossScale] and [EMA] go around
// all of them.
//
//	optim.Groups{
//		{Match: func(name string) bool { return strings.HasSuffix(name, "weight") }, Optimizer: &optim.AdamW{WeightDecay: 0.1}},
//		{Optimizer: &optim.Adam{}}, // no decay: AdamW without WeightDecay has 0.01
//	}
type Groups []Group

// Group is some parameters and how they are updated.
type Group struct {
	Match     func(name string) bool // asked once for each parameter; nil matches all
	Optimizer Optimizer

	asked  map[*ops.Variable]bool // what Match said
	params []*ops.Variable        // scratch
	grads  []ops.Value
	shared *gradients // scratch of all groups, in the first
}

// has reports whether the group matches a parameter.
func (g *Group) has(p *ops.Variable) bool {
	yes, ok := g.asked[p]
	if !ok {
		yes = g.Match == nil || g.Match(p.Name())
		if g.asked == nil {
			g.asked = map[*ops.Variable]bool{}
		}
		g.asked[p] = yes
	}
	return yes
}

// of is the group of a parameter, nil if there is none.
func (o Groups) of(p *ops.Variable) *Group {
	for i := range o {
		if o[i].has(p) {
			return &o[i]
		}
	}
	return nil
}

// Init makes the state of new parameters.
func (o Groups) Init(params ...*ops.Variable) {
	o.timed()
	for i := range o {
		o[i].params = o[i].params[:0]
	}
	for _, p := range params {
		if p == nil {
			continue
		}
		if g := o.of(p); g != nil {
			g.params = append(g.params, p)
		}
	}
	for i := range o {
		initInner(o[i].Optimizer, o[i].params)
	}
}

// timed gives all groups one clock.
func (o Groups) timed() {
	if len(o) > 0 && o[0].shared == nil {
		o.keepTime(newClock(stepName, nil))
	}
}

func (o Groups) keepTime(c *clock) {
	if len(o) == 0 || o[0].shared != nil {
		return
	}
	o[0].shared = &gradients{}
	for i := range o {
		share(o[i].Optimizer, c)
	}
}

// State is that of all groups in turn; what they share is there once.
func (o Groups) State() (all []*ops.Variable) {
	seen := map[*ops.Variable]bool{}
	for i := range o {
		for _, v := range stateInner(o[i].Optimizer) {
			if !seen[v] {
				seen[v], all = true, append(all, v)
			}
		}
	}
	return all
}

// Loss is the loss: groups do not scale it.
func (Groups) Loss(_ *autograd.Tape, loss ops.Value) ops.Value { return loss }

// Update records one update by the gradient of the loss.
func (o Groups) Update(t *autograd.Tape, loss ops.Value, params ...*ops.Variable) {
	o.timed()
	if len(o) == 0 {
		o.Apply(t, nil, nil) // which says so
		return
	}
	o[0].shared.update(o, t, loss, params)
}

// Apply records one update by gradients.
func (o Groups) Apply(t *autograd.Tape, params []*ops.Variable, grads []ops.Value) {
	if err := o.sort(params, grads); err != nil {
		fail(t, "Groups", err)
		return
	}
	for i := range o {
		if g := &o[i]; len(g.params) > 0 {
			g.Optimizer.Apply(t, g.params, g.grads)
		}
	}
}

// sort gives each group its parameters and their gradients.
func (o Groups) sort(params []*ops.Variable, grads []ops.Value) error {
	if len(o) == 0 {
		return errors.New("there are none")
	}
	for i := range o {
		if err := around(o[i].Optimizer); err != nil {
			return fmt.Errorf("group %d: %w", i, err)
		}
	}
	if err := paired(params, grads); err != nil {
		return err
	}
	o.timed()
	for i := range o {
		o[i].params, o[i].grads = o[i].params[:0], o[i].grads[:0]
	}
	for i, p := range params {
		g := o.of(p)
		if g == nil {
			return fmt.Errorf("parameter %s is in no group: a last group without Match takes all the others", p.Name())
		}
		g.params, g.grads = append(g.params, p), append(g.grads, grads[i])
	}
	return nil
}
