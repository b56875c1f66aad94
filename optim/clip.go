package optim

import (
	"errors"
	"slices"
	"strings"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Clip limits gradients before it gives them to another optimiser, which may be [Groups]: the norm is then that of all groups. With Value
// each element is brought into -Value..Value; then, if the norm of all gradients together is larger than Norm, all are multiplied by
// Norm/norm. A gradient with NaN or an infinity is a *NotFiniteError of the step, which changes no variable; within a [LossScale] the step
// is skipped instead. Source: R. Pascanu, T. Mikolov and Y. Bengio, "On the difficulty of training recurrent neural networks", 2013. PyTorch
// adds 1e-6 to the norm that it divides by; here the norm becomes Norm. [Measures] tells the norm.
type Clip struct {
	Optimizer Optimizer
	Norm      float64 // the largest norm of all gradients together; 0 means any
	Value     float64 // the largest absolute value of an element; 0 means any

	known []*ops.Variable // the parameters that names names
	names string
	norm  ops.Value   // of the update recorded last, before it is limited
	peaks []ops.Value // scratch
	grads []ops.Value
	gradients
}

// Init makes the state of new parameters.
func (o *Clip) Init(params ...*ops.Variable) { initInner(o.Optimizer, params) }

// State is that of the optimiser.
func (o *Clip) State() []*ops.Variable { return stateInner(o.Optimizer) }

func (o *Clip) keepTime(c *clock) { share(o.Optimizer, c) }

// Loss is that of the optimiser.
func (o *Clip) Loss(t *autograd.Tape, loss ops.Value) ops.Value {
	return lossOf(o.Optimizer, t, loss)
}

// Update records one update by the gradient of the loss.
func (o *Clip) Update(t *autograd.Tape, loss ops.Value, params ...*ops.Variable) {
	o.update(o, t, loss, params)
}

// Apply records one update by gradients.
func (o *Clip) Apply(t *autograd.Tape, params []*ops.Variable, grads []ops.Value) {
	var none error
	if o.Norm == 0 && o.Value == 0 {
		none = errors.New("Norm or Value is needed")
	}
	if err := first(around(o.Optimizer), none, notBelow("Norm", o.Norm), notBelow("Value", o.Value), paired(params, grads)); err != nil {
		fail(t, "Clip", err)
		return
	}
	t.Scope("clip", func() { o.clip(t, params, grads) })
	o.Optimizer.Apply(t, params, o.grads)
}

// clip fills o.grads. Everything is scaled by the largest element before it is squared.
func (o *Clip) clip(t *autograd.Tape, params []*ops.Variable, grads []ops.Value) {
	if !slices.Equal(o.known, params) {
		o.known = append(o.known[:0], params...)
		names := make([]string, len(params))
		for i, p := range params {
			names[i] = p.Name()
		}
		o.names = strings.Join(names, separator)
	}
	o.peaks, o.grads = o.peaks[:0], o.grads[:0]
	for _, g := range grads {
		o.peaks = append(o.peaks, largest(t, g))
	}
	peak := ops.ApplyIn(t.Recorder(), finiteOp{Names: o.names}, o.peaks...)
	limit := peak
	if o.Value != 0 {
		limit = peak.Minimum(scalar(t, o.Value))
	}
	for _, g := range grads {
		g = g.Cast(work(g.DType()))
		if o.Value != 0 { // by way of the peak, so that nothing changes before all has been checked
			to := limit.Cast(g.DType())
			g = g.Minimum(to).Maximum(to.Neg())
		}
		o.grads = append(o.grads, g)
	}
	if o.Norm == 0 {
		return
	}
	sum := scalar(t, 0)
	for _, g := range o.grads {
		sum = sum.Add(squares(t, g, limit))
	}
	root := sum.Sqrt()
	o.norm = root.Mul(limit)
	long := root.Greater(scalar(t, o.Norm).Div(limit))
	by := scalar(t, o.Norm).Div(root)
	for i, g := range o.grads {
		o.grads[i] = ops.Where(long, over(t, g, limit).Mul(by.Cast(g.DType())), g)
	}
}

// NotFiniteError says that a gradient is NaN or infinite. No variable has changed.
type NotFiniteError struct {
	Param string // the first such parameter's name
}

// Error names the parameter.
func (e *NotFiniteError) Error() string {
	return "optim: the gradient of " + e.Param + " is not finite"
}

const separator = "\x00" // between the names of parameters

// finiteOp is the largest of numbers of rank 0, the largest elements of gradients, and fails if one is not finite.
type finiteOp struct {
	ops.NoGrad
	Names string // of the parameters
}

func (finiteOp) Name() string { return "check gradients" }

func (finiteOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in[:1:1], nil }

func (o finiteOp) Ref(out, in []tensor.Tensor) error {
	peak := 0.0
	for i, x := range in {
		a := x.At(0)
		if a-a != 0 {
			return &NotFiniteError{Param: strings.Split(o.Names, separator)[i]}
		}
		peak = max(peak, a)
	}
	if !out[0].IsNone() {
		out[0].Set(0, peak)
	}
	return nil
}

func (finiteOp) Cost(in, out []tensor.Spec) ops.Cost { return ops.Traffic(in, out) }
