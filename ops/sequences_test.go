package ops

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// TestAttention: a query that sees nothing gets 0 and poisons no gradient; groups serve their heads; a cache shifts what is past.
func TestAttention(t *testing.T) {
	r := NewRecorder()
	x, w := r.Input("x", ramp(1, 4, 3), -1), r.Input("w", ramp(2, 3, 3), -1)
	h := x.MatMul(w)
	seen := r.Input("mask", arr(d(4, 4),
		true, true, false, false,
		true, true, false, false,
		false, false, false, false,
		true, true, false, false), -1)
	y := Attention(h, h, h, Attend{Causal: true, Mask: seen})
	out := eval(t, r, append(r.Grad(y.Narrow(0, 0, 2).Sum(), Value{}, w, x), y)...)
	for k, g := range out[:2] {
		for i := range g.Len() {
			if x := g.At(i); math.IsNaN(x) || math.IsInf(x, 0) {
				t.Fatalf("gradient %d: %v", k, g)
			}
		}
	}
	for i := 6; i < 9; i++ {
		if out[2].At(i) != 0 {
			t.Errorf("a query that sees nothing gets %v", out[2])
		}
	}

	r = NewRecorder()
	q, k, v := r.Input("q", ramp(1, 2, 4, 3, 5), -1), r.Input("k", ramp(2, 2, 2, 6, 5), -1), r.Input("v", ramp(3, 2, 2, 6, 7), -1)
	repeated := Attention(q, k.Repeat(1, 2), v.Repeat(1, 2), Attend{Causal: true, Past: 3})
	grouped := Attention(q, k, v, Attend{Causal: true, Past: 3})
	added := Attention(q, k, v, Attend{Mask: Full(r, tensor.SpecOf(tensor.F64, 3, 6), math.Inf(-1)).Triu(4)})
	both := eval(t, r, repeated, grouped, added)
	for i, got := range both[1:] {
		if err := near(got, both[0], 1e-12); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	last := Attention(q.Narrow(2, 2, 1), k, v, Attend{Causal: true, Past: 5})
	if err := near(eval(t, r, last)[0], eval(t, r, grouped.Narrow(2, 2, 1))[0], 1e-12); err != nil {
		t.Errorf("with a cache: %v", err)
	}
	refused(t, "3 groups of keys do not serve 4 heads", func(in []Value) Value { return Attention(in[0], in[1], in[1], Attend{}) }, ramp(1, 4, 2, 2), ramp(2, 3, 2, 2))
	refused(t, "for queries, keys and values", func(in []Value) Value { return Attention(in[0], in[0], in[0], Attend{}) }, ramp(1, 4))
}

// recurrent are both layers as functions to y, h and, for LSTM, c.
var recurrent = map[string]struct {
	gates int
	run   func(x Value, g Gates, s Sequence) []Value
}{
	"lstm": {4, func(x Value, g Gates, s Sequence) []Value { y, h, c := LSTM(x, g, s); return []Value{y, h, c} }},
	"gru":  {3, func(x Value, g Gates, s Sequence) []Value { y, h := GRU(x, g, s); return []Value{y, h} }},
}

// TestRecurrentLengths: each sequence of a batch equals its own run bit for bit, in both directions, whatever its padding holds; padding and what
// is behind it have no part in the gradient.
func TestRecurrentLengths(t *testing.T) {
	const in, hidden, steps = 3, 2, 5
	lengths := []int64{2, 5, 0}
	for name, layer := range recurrent {
		for _, reverse := range []bool{false, true} {
			weights := func(r *Recorder) Gates {
				g := layer.gates * hidden
				return Gates{
					Input: r.Input("wi", ramp(1, g, in), -1), Hidden: r.Input("wh", ramp(2, g, hidden), -1),
					InputBias: r.Input("bi", ramp(3, g), -1), HiddenBias: r.Input("bh", ramp(4, g), -1),
				}
			}
			h0, c0 := ramp(6, 3, hidden), ramp(7, 3, hidden)
			x := ramp(5, 3, steps, in)
			for i, n := range lengths {
				for k := int(n) * in; k < steps*in; k++ {
					x.Set(i*steps*in+k, math.NaN())
				}
			}
			r := NewRecorder()
			g := weights(r)
			xs := r.Input("x", x, -1)
			out := layer.run(xs, g, Sequence{Lengths: r.Input("lengths", iarr(d(3), lengths...), -1), H: r.Input("h", h0, -1), C: r.Input("c", c0, -1), Reverse: reverse})
			var loss Value
			for _, y := range out {
				if s := y.Square().Sum(); loss.IsNone() {
					loss = s
				} else {
					loss = loss.Add(s)
				}
			}
			grads := r.Grad(loss, Value{}, xs, g.Input, g.Hidden, g.InputBias)
			all := eval(t, r, append(grads, out...)...)
			for i, n := range lengths {
				alone := NewRecorder()
				row := func(y tensor.Tensor) tensor.Tensor { return along(y, 0, i, i+1) }
				one := layer.run(alone.Input("x", along(row(x), 1, 0, int(n)), -1), weights(alone), Sequence{H: alone.Input("h", row(h0), -1), C: alone.Input("c", row(c0), -1), Reverse: reverse})
				for k, want := range eval(t, alone, one...) {
					got := row(all[len(grads)+k])
					if k == 0 {
						for j := int(n) * hidden; j < steps*hidden; j++ {
							if got.At(j) != 0 {
								t.Errorf("%s, reverse %v, length %d: %v in the padding", name, reverse, n, got)
							}
						}
						got = along(got, 1, 0, int(n))
					}
					if !got.Same(want) {
						t.Errorf("%s, reverse %v, length %d, output %d: %v, alone %v", name, reverse, n, k, got, want)
					}
				}
				for k := int(n) * in; k < steps*in; k++ {
					if all[0].At(i*steps*in+k) != 0 {
						t.Errorf("%s: gradient of the padding: %v", name, all[0])
					}
				}
			}
			for k, dw := range all[:len(grads)] {
				for i := range dw.Len() {
					if math.IsNaN(dw.At(i)) {
						t.Fatalf("%s, reverse %v: gradient %d: %v", name, reverse, k, dw)
					}
				}
			}
		}
	}
}

// TestRecurrentGradient: against differences, without lengths and states.
func TestRecurrentGradient(t *testing.T) {
	for name, layer := range recurrent {
		t.Run(name, func(t *testing.T) {
			r := NewRecorder()
			g := layer.gates * 2
			in := inputs(r, ramp(1, 2, 3, 2), ramp(2, g, 2), ramp(3, g, 2), ramp(4, g))
			out := layer.run(in[0], Gates{Input: in[1], Hidden: in[2], HiddenBias: in[3]}, Sequence{})
			loss := dot(out[:2], weights(r, 10, out[:2]))
			differences(t, "gradient", r, loss, in, r.Grad(loss, Value{}, in...))
		})
	}
	refused(t, "hidden weights [4*hidden, hidden], not [1 2 2] and [3 2]", func(in []Value) Value {
		y, _, _ := LSTM(in[0], Gates{Input: in[1], Hidden: in[1]}, Sequence{})
		return y
	}, ramp(1, 1, 2, 2), ramp(2, 3, 2))
	refused(t, "wants a length for each of 1 sequences", func(in []Value) Value {
		y, _ := GRU(in[0], Gates{Input: in[1], Hidden: in[1]}, Sequence{Lengths: in[1]})
		return y
	}, ramp(1, 1, 2, 2), ramp(2, 6, 2))
}
