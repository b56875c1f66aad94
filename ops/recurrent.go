package ops

import (
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
)

// Gates are the weights of a recurrent layer, as PyTorch lays them out: rows of Input [gates*hidden, in] and Hidden [gates*hidden, hidden] gate by gate. The
// biases [gates*hidden] may be none.
type Gates struct {
	Input, Hidden         Value
	InputBias, HiddenBias Value
}

// Sequence says how a recurrent layer runs through its steps. Its zero value runs from the first to the last of all, from a state of zeros.
type Sequence struct {
	Lengths Value // i64 or i32 [n], of each sequence, from 0 to steps; what lies beyond is padding, whatever it holds; none means that there is no padding
	H, C    Value // the states before the first step, [n, hidden]; none means 0; C is of LSTM alone
	Reverse bool  // from the last step, which is that of each sequence, to the first
}

// LSTM runs a layer of long short-term memory (Hochreiter and Schmidhuber, 1997) through x [n, steps, in]: y [n, steps, hidden] has its output at every step, 0 in
// the padding; h and c [n, hidden] are the states behind the last step. The gates are those of input, forgetting, cell and output, in this order. A
// sequence has the same bits as alone; one of length 0 leaves its state alone; padding gets no gradient. A length that is negative or more than steps fails
// the step with an *IndexError.
//
//go:noinline
func LSTM(x Value, g Gates, s Sequence) (y, h, c Value) {
	return s.run(x, g, 4, func(z, rec, h, c Value) (Value, Value) {
		z = z.Add(rec)
		gates := Apply(SplitOp{Axis: 1, N: 4}, z)
		in, forget, cell, out := gates.Sigmoid(), gates.Output(1).Sigmoid(), gates.Output(2).Tanh(), gates.Output(3).Sigmoid()
		c = forget.Mul(c).Add(in.Mul(cell))
		return out.Mul(c.Tanh()), c
	})
}

// GRU runs a layer of gated recurrent units (Cho et al., 2014) through x [n, steps, in]: y [n, steps, hidden] has its output at every step, 0 in the padding; h
// [n, hidden] is the state behind the last step. The gates are those of reset, update and the new state, in this order; the reset gate applies behind the
// product with the hidden weights, as in PyTorch and cuDNN. Sequences behave as in LSTM.
//
//go:noinline
func GRU(x Value, g Gates, s Sequence) (y, h Value) {
	y, h, _ = s.run(x, g, 3, func(z, rec, h, _ Value) (Value, Value) {
		own, past := Apply(SplitOp{Axis: 1, N: 3}, z), Apply(SplitOp{Axis: 1, N: 3}, rec)
		reset := own.Add(past).Sigmoid()
		update := own.Output(1).Add(past.Output(1)).Sigmoid()
		fresh := own.Output(2).Add(reset.Mul(past.Output(2))).Tanh()
		return fresh.Add(update.Mul(h.Sub(fresh))), Value{}
	})
	return y, h
}

// run goes through the steps. cell makes the new states of the products of a step's input and of the hidden state, and of the states.
func (s Sequence) run(x Value, g Gates, gates int, cell func(z, rec, h, c Value) (Value, Value)) (y, h, c Value) {
	n, steps, hidden := x.Dim(0), x.Dim(1), g.Hidden.Dim(-1)
	if x.Rank() != 3 || g.Hidden.Rank() != 2 || g.Hidden.Dim(0) != gates*hidden {
		bad := x.refuse(MatMulOp{}, fmt.Sprintf("wants sequences [n, steps, in] and hidden weights [%d*hidden, hidden], not %v and %v", gates, x.Shape(), g.Hidden.Shape()))
		return bad, bad, bad
	}
	if l := s.Lengths; !l.IsNone() && (l.Shape() != tensor.Of(n) || !isIndex(l.DType())) {
		bad := x.refuse(MatMulOp{}, fmt.Sprintf("wants a length for each of %d sequences, i64 or i32, not %v%v", n, l.DType(), l.Shape()))
		return bad, bad, bad
	}
	zero := x.constant(0)
	states := func(v Value) Value {
		if v.IsNone() {
			return zero.expandTo(tensor.Of(n, hidden))
		}
		return v
	}
	h, c = states(s.H), states(s.C)
	if steps == 0 {
		return zero.expandTo(tensor.Of(n, 0, hidden)), h, c
	}
	cut := func(v Value) func(i int) Value { // into steps by one operation, whose gradient then is one, too
		parts := v.Split(1, steps)
		return func(i int) Value { return parts.Output(i).dropAxes([]int{1}) }
	}
	var inside func(i int) Value // bool [n, 1]
	if !s.Lengths.IsNone() {
		step := Iota(x.r, tensor.Spec{DType: s.Lengths.DType(), Shape: tensor.Of(1, steps, 1)}, 1)
		all := step.Less(Lengths(s.Lengths, steps).reshapeTo(tensor.Of(n, 1, 1)))
		x = Where(all, x, zero) // NaN in the padding shall reach no weight
		inside = cut(all)
	}
	now := cut(Linear(x, g.Input, g.InputBias))
	outs := make([]Value, steps)
	for i := range steps {
		if s.Reverse {
			i = steps - 1 - i
		}
		newH, newC := cell(now(i), Linear(h, g.Hidden, g.HiddenBias), h, c)
		outs[i] = newH
		if inside != nil {
			in := inside(i)
			outs[i] = Where(in, newH, zero)
			newH = Where(in, newH, h)
			if !newC.IsNone() {
				newC = Where(in, newC, c)
			}
		}
		h, c = newH, newC
	}
	return Stack(1, outs...), h, c
}
