package optim

import (
	"context"
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/internal/background"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// EMA keeps an exponential moving average of the parameters that another optimiser updates; such weights often judge better than the last
// ones. After each update
//
//	a = a + (1-d) (p - a)
//
// in float32 at least, from the parameter before the first update on. d is Decay; with Warmup it is min(Decay, (1+t)/(10+t)) in update t,
// counted from 0. So after the first update a is between the first values and the new ones, where PyTorch's AveragedModel, with get_ema_multi_avg_fn(d),
// takes the new ones as they are: the two differ by d^t times that first update, which a Warmup forgets sooner. The state is "ema" of each parameter, "optim.ema_updates", and the optimiser's. [EMA.With] evaluates or saves the average. After train.Fit
// the net has the last values, not the averages, which train.Report.Validation is of; train.LoadModel loads them from a checkpoint.
// Source: B. Polyak and A. Juditsky, "Acceleration of stochastic approximation by averaging", 1992; the warm-up is TensorFlow's.
type EMA struct {
	Optimizer Optimizer
	Decay     float64 // 0 means 0.999
	Warmup    bool    // forgets the first values sooner

	updates *clock
	params  []*ops.Variable
	average map[*ops.Variable]*ops.Variable
	before  []ops.Value // scratch
	gradients
}

// Init makes the state of new parameters. One that joins after the first update starts with the value that it has now.
func (o *EMA) Init(params ...*ops.Variable) {
	initInner(o.Optimizer, params)
	if o.updates == nil {
		o.updates = newClock("optim.ema_updates", nil)
		o.average = map[*ops.Variable]*ops.Variable{}
	}
	for _, p := range params {
		if p == nil || o.average[p] != nil {
			continue
		}
		a := tensor.New(tensor.Spec{DType: work(p.Spec().DType), Shape: p.Spec().Shape})
		if x, err := p.Value(context.Background()); err == nil { // one that is lost makes the step fail by itself
			convert(a, x)
		}
		o.average[p] = ops.NewVariable(p.Name()+".ema", a)
		o.params = append(o.params, p)
	}
}

// convert rounds x to the type of a.
func convert(a, x tensor.Tensor) {
	if a.CopyFrom(x) {
		return
	}
	for i := range x.Len() {
		a.Set(i, x.At(i))
	}
}

// State is all variables: the optimiser's, then the number of updates and the averages.
func (o *EMA) State() []*ops.Variable {
	all := stateInner(o.Optimizer)
	if o.updates != nil {
		all = append(all[:len(all):len(all)], o.updates.count)
	}
	for _, p := range o.params {
		all = append(all, o.average[p])
	}
	return all
}

func (o *EMA) keepTime(c *clock) { share(o.Optimizer, c) }

// Average is the variable with the average of a parameter, nil if there is none.
func (o *EMA) Average(p *ops.Variable) *ops.Variable { return o.average[p] }

// Loss is that of the optimiser.
func (o *EMA) Loss(t *autograd.Tape, loss ops.Value) ops.Value {
	return lossOf(o.Optimizer, t, loss)
}

// Update records one update by the gradient of the loss.
func (o *EMA) Update(t *autograd.Tape, loss ops.Value, params ...*ops.Variable) {
	o.update(o, t, loss, params)
}

// Apply records one update by gradients.
func (o *EMA) Apply(t *autograd.Tape, params []*ops.Variable, grads []ops.Value) {
	decay := orDefault(o.Decay, 0.999)
	if err := first(around(o.Optimizer), within("Decay", decay, 0, 1), paired(params, grads)); err != nil {
		fail(t, "EMA", err)
		return
	}
	o.Init(params...)
	o.before = o.before[:0]
	for _, p := range params {
		o.before = append(o.before, t.Var(p))
	}
	o.Optimizer.Apply(t, params, grads)
	t.Scope("ema", func() {
		at := o.updates.now(t).Shift(-1)
		begun := at.Greater(scalar(t, 0))
		gain := number{f64: scalar(t, 1-decay)}
		if o.Warmup {
			gain.f64 = scalar(t, 1).Sub(at.Shift(1).Div(at.Shift(10)).Minimum(scalar(t, decay)))
		}
		for i, p := range params {
			v := o.average[p]
			d := v.Spec().DType
			a := ops.Where(begun, t.Var(v), o.before[i].Cast(d))
			t.Assign(v, a.Add(t.Var(p).Cast(d).Sub(a).Mul(gain.in(a))))
		}
	})
}

// With calls f while all parameters hold their averages, rounded to their type, and gives them back their own values whatever f does: f
// evaluates the model or saves it, and may not update it. No step may be running meanwhile.
func (o *EMA) With(ctx context.Context, f func() error) (err error) {
	if f == nil {
		return errors.New("optim: EMA: With needs a function")
	}
	if o.updates == nil || read(o.updates.count) == 0 { // no averages yet: the parameters are their own
		return f()
	}
	ctx = background.Or(ctx)
	own := make([]tensor.Tensor, 0, len(o.params))
	defer func() {
		for i, x := range own {
			if e := o.params[i].Set(context.WithoutCancel(ctx), x); err == nil && e != nil {
				err = fmt.Errorf("optim: EMA: %w", e)
			}
		}
	}()
	for _, p := range o.params {
		x, err := p.Value(ctx)
		if err != nil {
			return fmt.Errorf("optim: EMA: %w", err)
		}
		a, err := o.average[p].Value(ctx)
		if err != nil {
			return fmt.Errorf("optim: EMA: %w", err)
		}
		mean := tensor.New(p.Spec())
		convert(mean, a)
		own = append(own, x)
		if err := p.Set(ctx, mean); err != nil {
			return fmt.Errorf("optim: EMA: %w", err)
		}
	}
	return f()
}
