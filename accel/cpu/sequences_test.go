package cpu_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// eachLevel calls f with a tape on a device of each level of instructions, without fallback.
func eachLevel(t *testing.T, f func(t *testing.T, tape *autograd.Tape)) {
	for _, level := range cpu.Levels() {
		t.Run(level, func(t *testing.T) {
			d, err := cpu.Open(cpu.Level(level))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			eng, err := sched.New(d)
			if err != nil {
				t.Fatal(err)
			}
			eng.NoFallback = true
			f(t, autograd.New(eng))
		})
	}
}

// waves is an f32 array of numbers between -1 and 1.
func waves(seed int, dims ...int) tensor.Tensor {
	x := tensor.New(tensor.SpecOf(tensor.F32, dims...))
	for i := range x.Len() {
		x.Set(i, math.Sin(float64(i*i+7*i+seed)))
	}
	return x
}

// TestSequencesAlone: in a batch of sequences with padding, each has the bits of its own run, and NaN in the padding reaches nothing.
func TestSequencesAlone(t *testing.T) {
	const in, hidden, steps = 5, 19, 7
	lengths := []int64{2, 7, 0, 5}
	eachLevel(t, func(t *testing.T, tape *autograd.Tape) {
		for gates := 3; gates <= 4; gates++ {
			layer := func(x ops.Value, s ops.Sequence) ops.Value {
				g := ops.Gates{
					Input: tape.Input("wi", waves(1, gates*hidden, in)), Hidden: tape.Input("wh", waves(2, gates*hidden, hidden)),
					InputBias: tape.Input("bi", waves(3, gates*hidden)), HiddenBias: tape.Input("bh", waves(4, gates*hidden)),
				}
				if gates == 3 {
					y, _ := ops.GRU(x, g, s)
					return y
				}
				y, _, _ := ops.LSTM(x, g, s)
				return y
			}
			run := func(vs ...ops.Value) []tensor.Tensor {
				got, err := tape.Eval(context.Background(), vs...)
				if err != nil {
					t.Fatal(err)
				}
				tape.Discard()
				return got
			}
			x := waves(5, len(lengths), steps, in)
			for i, n := range lengths {
				for k := int(n) * in; k < steps*in; k++ {
					x.Set(i*steps*in+k, math.NaN())
				}
			}
			xs := tape.Input("x", x)
			y := layer(xs, ops.Sequence{Lengths: tape.Input("lengths", tensor.Must(tensor.From(lengths))), Reverse: gates == 3})
			all := run(y, tape.Grad(y.Square().Sum(), xs)[0])
			for i, n := range lengths {
				one := tape.Input("x", x).Narrow(0, i, 1).Narrow(1, 0, int(n))
				alone := run(layer(one, ops.Sequence{Reverse: gates == 3}))[0]
				for k := range alone.Len() {
					if got := all[0].At(i*steps*hidden + k); got != alone.At(k) {
						t.Fatalf("%d gates, length %d, element %d: %v, alone %v", gates, n, k, got, alone.At(k))
					}
				}
				for k := range steps * in {
					if dx := all[1].At(i*steps*in + k); dx != dx || k >= int(n)*in && dx != 0 {
						t.Fatalf("%d gates, length %d: gradient %d is %v", gates, n, k, dx)
					}
				}
			}
		}
	})
}

// TestBlindQuery: a query that sees no key gets 0 and leaves all gradients finite, at any length.
func TestBlindQuery(t *testing.T) {
	eachLevel(t, func(t *testing.T, tape *autograd.Tape) {
		for _, n := range []int{4, 17, 64} {
			mask := tensor.New(tensor.SpecOf(tensor.Bool, n, n))
			for i := range n {
				for j := range n {
					if i != n/2 && j <= i {
						mask.SetInt(i*n+j, 1)
					}
				}
			}
			w := tape.Input("w", waves(2, 8, 8))
			h := tape.Input("x", waves(1, n, 8)).MatMul(w)
			y := ops.Attention(h, h, h, ops.Attend{Mask: tape.Input("mask", mask)})
			got, err := tape.Eval(context.Background(), y.Narrow(0, n/2, 1), tape.Grad(y.Square().Sum(), w)[0])
			if err != nil {
				t.Fatal(err)
			}
			for k, what := range []string{"output", "gradient"} {
				for i := range got[k].Len() {
					if x := got[k].At(i); k == 0 && x != 0 || x != x || math.IsInf(x, 0) {
						t.Fatalf("%d keys: %s %v", n, what, got[k])
					}
				}
			}
			tape.Discard()
		}
	})
}

// TestLargeMeans: rows far from 0 are normalised to all digits that float32 has of them.
func TestLargeMeans(t *testing.T) {
	eachLevel(t, func(t *testing.T, tape *autograd.Tape) {
		for _, n := range []int{4, 16, 33} {
			x := tensor.New(tensor.SpecOf(tensor.F32, 1, n))
			for i := range n {
				x.Set(i, 40000+float64(i))
			}
			y, err := tape.Eval(context.Background(), ops.LayerNorm(tape.Input(fmt.Sprint("x", n), x), ops.Value{}, ops.Value{}, 1, 0))
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				want := (float64(i) - float64(n-1)/2) / math.Sqrt(float64(n*n-1)/12)
				if math.Abs(y[0].At(i)-want) > 1e-6 {
					t.Fatalf("%d values, element %d: %v, want %v", n, i, y[0].At(i), want)
				}
			}
		}
	})
}
