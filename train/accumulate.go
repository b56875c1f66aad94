package train

import (
	"slices"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// accumulator holds what the batches of a step under way have given: for each parameter the gradient of the sum of losses, and how many losses
// that is a sum of. It starts anew with each step, so nothing of it is in a checkpoint.
type accumulator struct {
	grads  []*ops.Variable
	count  *ops.Variable
	scaled bool // the optimizer has scaled the loss: a gradient may overflow, which it sees to
}

// tolerates reports whether a variable may hold what is no number.
func (a *accumulator) tolerates(v *ops.Variable) bool {
	return a != nil && a.scaled && slices.Contains(a.grads, v)
}

func newAccumulator(params []*ops.Variable) *accumulator {
	a := &accumulator{count: ops.NewVariable("accumulated", tensor.Scalar[float32](0))}
	for _, p := range params {
		s := tensor.Spec{DType: working(p.Spec().DType), Shape: p.Spec().Shape}
		a.grads = append(a.grads, ops.NewVariable(p.Name()+".accumulated", tensor.New(s)))
	}
	return a
}

// record records a batch: the first of a step, the last, one between, or one that is a step by itself.
func (r *run) record(b data.Batch, first, last bool) mean {
	predicted, y := forward(r.tape, r.net, b, layers.Train)
	m := partsOf(r.Loss(predicted, y), y.Dim(0))
	params := r.net.Params()
	if first && last {
		r.Optimizer.Update(r.tape, m.value, params...)
		return m
	}
	wrt := make([]ops.Value, len(params))
	for i, p := range params {
		wrt[i] = r.tape.Var(p)
	}
	loss := r.Optimizer.Loss(r.tape, m.sum)
	r.sums.scaled = loss != m.sum
	grads := r.tape.Grad(loss, wrt...)
	r.tape.Scope("accumulate", func() {
		count := m.count.Cast(tensor.F32)
		if !first {
			count = count.Add(r.tape.Var(r.sums.count))
		}
		all := make([]ops.Value, len(grads))
		for i, v := range r.sums.grads {
			all[i] = grads[i].Cast(v.Spec().DType)
			if !first {
				all[i] = all[i].Add(r.tape.Var(v))
			}
		}
		if !last {
			r.tape.Assign(r.sums.count, count)
			for i, v := range r.sums.grads {
				r.tape.Assign(v, all[i])
			}
			return
		}
		for i := range all {
			all[i] = over(all[i], count.Cast(all[i].DType()))
		}
		r.Optimizer.Apply(r.tape, params, all)
	})
	return m
}

// forward records the forward pass over a batch, in the types that Config.DType tells of.
func forward(tape *autograd.Tape, net *layers.Net, b data.Batch, mode layers.Mode) (predicted, y ops.Value) {
	x, lengths := inputs(tape, b)
	return forwardIn(tape, net, x, tape.Input("y", b.Y, autograd.BatchAxis(0)), lengths, mode)
}

// inputs are those of a batch, without its targets.
func inputs(tape *autograd.Tape, b data.Batch) (x, lengths ops.Value) {
	x = tape.Input("x", b.X, autograd.BatchAxis(0))
	if !b.Lengths.IsNone() {
		lengths = tape.Input("lengths", b.Lengths, autograd.BatchAxis(0))
	}
	return x, lengths
}

// forwardIn brings floats to the types that the net, the loss and the metrics have.
func forwardIn(tape *autograd.Tape, net *layers.Net, x, y, lengths ops.Value, mode layers.Mode) (predicted, target ops.Value) {
	if x.DType().Float() {
		x = x.Cast(net.DType())
	}
	predicted = net.ForwardPadded(tape, x, lengths, mode)
	if predicted.DType().Float() {
		predicted = predicted.Cast(working(predicted.DType()))
		if y.DType().Float() {
			y = y.Cast(predicted.DType())
		}
	}
	return predicted, y
}
