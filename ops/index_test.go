package ops

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// TestGatherScatter by hand: what is read twice gets two gradients, what is not read none.
func TestGatherScatter(t *testing.T) {
	table, idx := farr(d(3, 2), 1, 2, 3, 4, 5, 6), iarr(d(2, 2), 2, 0, 2, 2)
	embed := func(in []Value) Value { return Embedding(in[0], in[1]) }
	y := values(t, embed, table, idx)
	check(t, "embedding", y, 5, 6, 1, 2, 5, 6, 5, 6)
	if y.Shape() != tensor.Of(2, 2, 2) {
		t.Error(y.Shape())
	}
	r := NewRecorder()
	in := inputs(r, table, idx)
	check(t, "embedding gradient", eval(t, r, r.Grad(embed(in).Sum(), Value{}, in[0])...)[0], 1, 1, 0, 0, 3, 3)

	check(t, "columns", values(t, func(in []Value) Value { return in[0].Gather(-1, in[1]) }, table, iarr(d(1), 1)), 2, 4, 6)
	add := func(in []Value) Value { return ScatterAdd(in[0], -1, in[1], 3) }
	check(t, "scatter into columns", values(t, add, farr(d(2, 2), 1, 2, 3, 4), iarr(d(2), 2, 2)), 0, 0, 3, 0, 0, 7)
}

// TestTakeAlong by hand.
func TestTakeAlong(t *testing.T) {
	x, idx := farr(d(2, 3), 1, 2, 3, 4, 5, 6), iarr(d(2, 2), 2, 2, 0, 1)
	f := func(in []Value) Value { return in[0].TakeAlong(-1, in[1]) }
	check(t, "take", values(t, f, x, idx), 3, 3, 4, 5)
	r := NewRecorder()
	in := inputs(r, x, idx)
	check(t, "gradient", eval(t, r, r.Grad(f(in).Sum(), Value{}, in[0])...)[0], 0, 0, 2, 1, 1, 0)
}

// TestTopK orders as PyTorch does, NaN first; of equal elements the first comes first.
func TestTopK(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	r := NewRecorder()
	x := inputs(r, farr(d(2, 5), 1, nan, 3, inf, 2, 7, 7, -1, 7, 8))[0]
	v, i := TopK(x, 3)
	small := Apply(TopKOp{K: 5, Axis: 1, Smallest: true}, x)
	dx := r.Grad(v, r.Input("dy", farr(d(2, 3), 1, 2, 3, 4, 5, 6), -1), x)[0]
	out := eval(t, r, v, i, small.Output(1), dx)
	check(t, "values", out[0], nan, inf, 3, 8, 7, 7)
	check(t, "indices", out[1], 1, 3, 2, 4, 0, 1)
	check(t, "smallest", out[2], 0, 4, 2, 3, 1, 2, 0, 1, 3, 4)
	check(t, "gradient", out[3], 0, 1, 3, 2, 0, 5, 6, 0, 0, 4)
}
