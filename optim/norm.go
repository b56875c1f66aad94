package optim

import (
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// GlobalNorm is the Euclidean norm of all elements of all gradients together, a float64 of rank 0. Squares do not overflow, nor vanish: each
// element is divided by the largest before. Without elements it is 0; with NaN or an infinity it is that.
func GlobalNorm(t *autograd.Tape, grads ...ops.Value) ops.Value {
	peak := scalar(t, 0)
	for _, g := range grads {
		peak = peak.Maximum(largest(t, g))
	}
	sum := scalar(t, 0)
	for _, g := range grads {
		sum = sum.Add(squares(t, g, peak))
	}
	return ops.Where(peak.IsFinite(), peak.Mul(sum.Sqrt()), peak)
}

// largest is the largest absolute value of x as a float64 of rank 0, 0 if x is empty.
func largest(t *autograd.Tape, x ops.Value) ops.Value {
	if x.Shape().Size() == 0 {
		return scalar(t, 0)
	}
	return x.Cast(work(x.DType())).Abs().Max().Cast(tensor.F64)
}

// squares is the sum of the squares of x, each divided by peak before, as a float64 of rank 0.
func squares(t *autograd.Tape, x, peak ops.Value) ops.Value {
	return over(t, x, peak).Square().Sum().Cast(tensor.F64)
}

// over is x in the working type, divided by peak, or x if peak is 0.
func over(t *autograd.Tape, x, peak ops.Value) ops.Value {
	x = x.Cast(work(x.DType()))
	d := peak.Cast(x.DType())
	zero, one := ops.Zeros(t.Recorder(), d.Spec()), ops.Full(t.Recorder(), d.Spec(), 1)
	return x.Div(ops.Where(d.Equal(zero), one, d))
}
