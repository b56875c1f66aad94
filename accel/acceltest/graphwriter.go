package acceltest

import (
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// The families that random graphs are made of. Each may write nothing, where its operands do not suit.

// unary is a function that is smooth enough to be compared after many others.
func (w *writer) unary(x ops.Edge) {
	switch w.rng.IntN(4) {
	case 0:
		w.apply(ops.ScaleOp{By: ops.F(1 - 2*w.rng.Float64())}, x)
	case 1:
		w.apply(ops.ShiftOp{By: ops.F(1 - 2*w.rng.Float64())}, x)
	default:
		fs := []ops.UnaryFunc{ops.Neg, ops.Exp, ops.Tanh, ops.Sigmoid, ops.ReLU, ops.ReLU}
		w.apply(ops.UnaryOp{F: fs[w.rng.IntN(len(fs))]}, x)
	}
}

// choose is a maximum, a minimum, a quotient by something that is not small, or a choice by a comparison of parameters, which are exact.
func (w *writer) choose(x ops.Edge) {
	switch w.rng.IntN(3) {
	case 0:
		w.apply(ops.BinaryOp{F: ops.Maximum + ops.BinaryFunc(w.rng.IntN(2))}, x, w.pick())
	case 1:
		y := w.pick()
		for i := range w.value(y).Len() {
			if v := w.value(y).At(i); v < 0.3 && v > -0.3 {
				return
			}
		}
		w.apply(ops.BinaryOp{F: ops.Div}, x, y)
	default:
		a, b := w.operand(w.spec(x).Shape.Dims()...), w.operand(w.spec(x).Shape.Dims()...)
		cond, ok := w.apply(ops.CompareOp{F: ops.Less}, a, b)
		if ok {
			w.apply(ops.WhereOp{}, cond, x, b)
		}
	}
}

// reduce is a reduction over some axes, kept or not.
func (w *writer) reduce(x ops.Edge) {
	r := w.spec(x).Shape.Rank()
	if r == 0 {
		return
	}
	axes := uint8(1 + w.rng.IntN(1<<r-1))
	w.apply(ops.ReduceOp{F: ops.ReduceFunc(w.rng.IntN(4)), Axes: axes, Keep: w.rng.IntN(2) == 0}, x)
}

// move is an operation that computes nothing.
func (w *writer) move(x ops.Edge) {
	s := w.spec(x).Shape
	r := s.Rank()
	switch w.rng.IntN(5) {
	case 0:
		w.apply(ops.ReshapeOp{To: tensor.Of(s.Size())}, x)
	case 1:
		var perm [tensor.MaxRank]uint8
		for i, p := range w.rng.Perm(r) {
			perm[i] = uint8(p)
		}
		w.apply(ops.TransposeOp{Perm: perm}, x)
	case 2:
		if r < 4 {
			w.apply(ops.ExpandOp{To: tensor.Of(append([]int{2}, s.Dims()...)...)}, x)
		}
	case 3:
		if r > 0 {
			w.apply(ops.ConcatOp{Axis: int8(w.rng.IntN(r))}, x, w.pick())
		}
	default:
		if r > 0 && s.Dim(0) > 0 {
			n := 3
			at := tensor.New(tensor.SpecOf(tensor.I64, n))
			for i := range n {
				at.SetInt(i, w.rng.Int64N(int64(s.Dim(0))))
			}
			w.apply(ops.GatherOp{}, x, w.parameter(at, at.Spec()))
		}
	}
}

// multiply is a matmul with a new operand, and what a network puts behind it.
func (w *writer) multiply(x ops.Edge) {
	s := w.spec(x).Shape
	if s.Rank() < 2 {
		return
	}
	op := ops.MatMulOp{TransB: w.rng.IntN(2) == 0}
	k, n := s.Dim(-1), w.size()
	dims := []int{k, n}
	if op.TransB {
		dims = []int{n, k}
	}
	y, ok := w.apply(op, x, w.operand(dims...))
	if ok && w.rng.IntN(2) == 0 {
		y, ok = w.apply(ops.BinaryOp{F: ops.Add}, y, w.operand(n))
	}
	if ok && w.rng.IntN(2) == 0 {
		w.unary(y)
	}
}

// convolve is a convolution or a pool, with bias and ReLU behind it, or one of the gradients.
func (w *writer) convolve(x ops.Edge) {
	s := w.spec(x).Shape
	c, h, wd := s.Dim(1), s.Dim(2), s.Dim(3)
	out, k := []int{1, 5, 16, 19}[w.rng.IntN(4)], 1+w.rng.IntN(3)
	stride, pad := [2]int{1 + w.rng.IntN(2), 1 + w.rng.IntN(2)}, w.rng.IntN(k)
	pads := [4]int{pad, pad, pad, pad}
	switch w.rng.IntN(5) {
	case 0:
		w.apply(ops.MaxPool2DOp{Size: [2]int{2, 2}, Stride: stride}, x)
		return
	case 1:
		w.apply(ops.AvgPool2DOp{Size: [2]int{2, 2}, Stride: stride}, x)
		return
	}
	conv := ops.Conv2DOp{Stride: stride, Pad: pads}
	weight := w.operand(out, c, k, k)
	y, ok := w.apply(conv, x, weight)
	if !ok {
		return
	}
	switch w.rng.IntN(4) {
	case 0:
		w.apply(ops.Conv2DInputGradOp{Stride: stride, Pad: pads, H: h, W: wd}, y, weight)
	case 1:
		w.apply(ops.Conv2DWeightGradOp{Stride: stride, Pad: pads, KH: k, KW: k}, x, y)
	default:
		if y, ok = w.apply(ops.BinaryOp{F: ops.Add}, y, w.operand(out, 1, 1)); ok {
			w.apply(ops.UnaryOp{F: ops.ReLU}, y)
		}
	}
}

// normalise is a softmax, or a batch-norm that is not asked to divide by a tiny deviation.
func (w *writer) normalise(x ops.Edge) {
	s := w.spec(x).Shape
	if s.Rank() == 0 {
		return
	}
	if s.Rank() == 1 || w.rng.IntN(2) == 0 {
		w.apply(ops.SoftmaxOp{Axis: int8(w.rng.IntN(s.Rank()))}, x)
		return
	}
	w.apply(ops.BatchNormOp{Eps: ops.F(0.1)}, x, w.operand(s.Dim(1)), w.operand(s.Dim(1)))
}
