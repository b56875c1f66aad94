package layers_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// ending runs m on sequences that end where lengths say.
func ending(m layers.Module, lengths ...int64) layers.Module {
	return layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		if len(lengths) == 0 {
			return c.Run("m", m, x)
		}
		c.Lengths = x.Narrow(1, 0, 1).Narrow(2, 0, 1).Squeeze(1, 2).Cast(tensor.I64) // the first number of each sequence
		return c.Run("m", m, x)
	})
}

// padded are sequences whose first number is their length, which lies in no padding that is looked at: NaN stands behind the ends.
func padded(lengths []int64, steps, size int) tensor.Tensor {
	x := tensor.Full(tensor.SpecOf(tensor.F64, len(lengths), steps, size), math.NaN())
	for i, n := range lengths {
		for k := range int(n) * size {
			x.Set(i*steps*size+k, math.Sin(float64(7*i+3*k)))
		}
		x.Set(i*steps*size, float64(n))
	}
	return x
}

// TestLengths: recurrent layers and attention give each sequence of a padded batch what it gets alone, bit for bit, and 0 behind its end or
// nothing of use; no NaN of the padding reaches a gradient.
func TestLengths(t *testing.T) {
	lengths := []int64{2, 5, 1}
	for name, m := range map[string]layers.Module{
		"lstm":      layers.LSTM{Hidden: 3, Layers: 2, Bidirectional: true},
		"gru":       layers.GRU{Hidden: 3, Layers: 2, Bidirectional: true},
		"attention": layers.MultiHeadAttention{Heads: 2},
		"causal":    layers.TransformerBlock{Heads: 2, Hidden: 5, Causal: true},
	} {
		recurrent := name == "lstm" || name == "gru"
		batch := padded(lengths, 5, 4)
		if !recurrent { // what attention makes of a NaN as a query is NaN; that no step sees one as a key is what counts
			for i := range batch.Len() {
				if math.IsNaN(batch.At(i)) {
					batch.Set(i, 1e6)
				}
			}
		}
		net := build(t, ending(m, lengths...), 3, 5, 4)
		alone := build(t, ending(m), 1, 5, 4)
		tape := newTape(t)
		x := tape.Input("x", batch)
		y := net.Forward(tape, x, layers.Train)
		width := y.Dim(2)
		inside := tensor.New(tensor.SpecOf(tensor.F64, 3, 5, 1)) // the loss is over what is no padding
		for i, n := range lengths {
			for k := range int(n) {
				inside.Set(5*i+k, 1)
			}
		}
		weight := tape.Input("inside", inside)
		loss := ops.Where(weight.Greater(ops.Zeros(tape.Recorder(), tensor.SpecOf(tensor.F64))), y, ops.Zeros(tape.Recorder(), tensor.SpecOf(tensor.F64))).Square().Sum()
		wrt := []ops.Value{x}
		for _, p := range net.Params() {
			wrt = append(wrt, tape.Var(p))
		}
		got := step(t, tape, append([]ops.Value{y}, tape.Grad(loss, wrt...)...)...)
		for i, n := range lengths {
			own := step(t, tape, alone.Forward(tape, tape.Input("x", cutSteps(batch, i, int(n))), layers.Train))[0]
			row := got[0][5*width*i:][:5*width]
			if !slices.Equal(row[:int(n)*width], own) {
				t.Errorf("%s: sequence %d is %v, and alone %v", name, i, row[:int(n)*width], own)
			}
			if recurrent && !slices.Equal(row[int(n)*width:], make([]float64, (5-int(n))*width)) {
				t.Errorf("%s: behind the end of sequence %d stands %v", name, i, row[int(n)*width:])
			}
			if dx := got[1][20*i+4*int(n):][:20-4*int(n)]; !slices.Equal(dx, make([]float64, len(dx))) {
				t.Errorf("%s: the padding of sequence %d has gradient %v", name, i, dx)
			}
		}
		for k, g := range got[1:] {
			for _, v := range g {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("%s: gradient %d is %v", name, k, g)
				}
			}
		}
	}
}

// TestLengthsStayWithin: what a module says of lengths is for those that it runs, not for its neighbours.
func TestLengthsStayWithin(t *testing.T) {
	gru := layers.GRU{Hidden: 4}
	in := padded([]int64{3, 3}, 3, 4)
	with, without := layers.Sequential{lengthsOf0(layers.Tanh{}), gru}, layers.Sequential{layers.Tanh{}, gru}
	near(t, "a neighbour", run(t, with, in, layers.Eval), run(t, without, in, layers.Eval)...)
}

// lengthsOf0 runs m on sequences of no steps.
func lengthsOf0(m layers.Module) layers.Module {
	return layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		c.Lengths = ops.Zeros(c.Tape.Recorder(), tensor.SpecOf(tensor.I64, x.Dim(0)))
		return m.Forward(c, x)
	})
}

// cutSteps is the first n steps of sequence i.
func cutSteps(x tensor.Tensor, i, n int) tensor.Tensor {
	size := x.Shape().Dim(2)
	y := tensor.New(tensor.SpecOf(tensor.F64, 1, n, size))
	for k := range y.Len() {
		y.Set(k, x.At(i*x.Shape().Dim(1)*size+k))
	}
	return y
}

// TestNoSteps: a sequence of length 0 gives zeros and the first state, and no NaN in any gradient; neither does attention that sees nothing.
func TestNoSteps(t *testing.T) {
	for name, m := range map[string]layers.Module{
		"lstm": layers.LSTM{Hidden: 3, Bidirectional: true}, "gru": layers.GRU{Hidden: 3},
		"attention": layers.MultiHeadAttention{Heads: 2, Causal: true},
	} {
		of := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
			four := ops.Full(c.Tape.Recorder(), tensor.Spec{DType: tensor.I64}, 4)
			c.Lengths = ops.Iota(c.Tape.Recorder(), tensor.SpecOf(tensor.I64, 2), 0).Mul(four) // 0 and 4
			return c.Run("m", m, x)
		})
		net := build(t, of, 2, 4, 4)
		tape := newTape(t)
		x := tape.Input("x", padded([]int64{4, 4}, 4, 4))
		y := net.Forward(tape, x, layers.Train)
		wrt := []ops.Value{x}
		for _, p := range net.Params() {
			wrt = append(wrt, tape.Var(p))
		}
		got := step(t, tape, append([]ops.Value{y}, tape.Grad(y.Square().Sum(), wrt...)...)...)
		if first := got[0][:len(got[0])/2]; !slices.Equal(first, make([]float64, len(first))) {
			t.Errorf("%s: nothing gives %v", name, first)
		}
		for k, g := range got[1:] {
			for _, v := range g {
				if math.IsNaN(v) {
					t.Fatalf("%s: gradient %d is %v", name, k, g)
				}
			}
		}
	}
}

// TestLastStates: Run gives the states behind the last step of each layer and direction, in PyTorch's order.
func TestLastStates(t *testing.T) {
	rnn := func(k int) layers.Module {
		return layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
			y, h, cell := layers.LSTM{Hidden: 2, Layers: 2, Bidirectional: true}.Run(c, x)
			gy, gh := ops.Value{}, ops.Value{}
			gru := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
				gy, gh = layers.GRU{Hidden: 3}.Run(c, x)
				return gy
			})
			c.Run("gru", gru, x)
			return []ops.Value{y, h, cell, gy, gh}[k]
		})
	}
	in := padded([]int64{3, 3}, 3, 4)
	var got [5][]float64
	var shapes []string
	for k := range got {
		net := build(t, rnn(k), 2, 3, 4)
		tape := newTape(t)
		y := net.Forward(tape, tape.Input("x", in), layers.Eval)
		shapes = append(shapes, y.Shape().String())
		got[k] = step(t, tape, y)[0]
	}
	if s := strings.Join(shapes, " "); s != "[2 3 4] [4 2 2] [4 2 2] [2 3 3] [1 2 3]" {
		t.Errorf("shapes are %s", s)
	}
	y, h := got[0], got[1]
	near(t, "the upper layer's last state, forward", h[8:12], y[8], y[9], y[20], y[21])
	near(t, "the upper layer's last state, backward", h[12:16], y[2], y[3], y[14], y[15])
	near(t, "the GRU's last state", got[4], got[3][6], got[3][7], got[3][8], got[3][15], got[3][16], got[3][17])
	for i, c := range got[2] {
		if h := math.Abs(h[i]); h > math.Abs(math.Tanh(c)) || h == 0 {
			t.Errorf("state %d is %v with a cell of %v", i, h, c)
		}
	}
}

// TestDropoutWithin: recurrent layers, attention and blocks drop in training alone, and nothing at 0.
func TestDropoutWithin(t *testing.T) {
	for name, make := range map[string]func(p float64) layers.Module{
		"lstm":      func(p float64) layers.Module { return layers.LSTM{Hidden: 3, Layers: 2, Dropout: p} },
		"gru":       func(p float64) layers.Module { return layers.GRU{Hidden: 3, Layers: 2, Dropout: p} },
		"attention": func(p float64) layers.Module { return layers.MultiHeadAttention{Heads: 2, Dropout: p} },
		"block":     func(p float64) layers.Module { return layers.TransformerBlock{Heads: 2, Hidden: 5, Dropout: p} },
	} {
		x := padded([]int64{3, 3}, 3, 4)
		plain := run(t, make(0), x, layers.Train)
		if !slices.Equal(run(t, make(0.5), x, layers.Eval), plain) {
			t.Errorf("%s drops in evaluation", name)
		}
		if slices.Equal(run(t, make(0.5), x, layers.Train), plain) {
			t.Errorf("%s drops nothing in training", name)
		}
	}
	net := build(t, layers.TransformerBlock{Heads: 2, Hidden: 5, Dropout: 1}, 2, 3, 4) // all but the residual path
	tape := newTape(t)
	x := tape.Input("x", padded([]int64{3, 3}, 3, 4))
	y := net.Forward(tape, x, layers.Train)
	alone := build(t, layers.Sequential{layers.LayerNorm{}, layers.LayerNorm{}}, 2, 3, 4).Forward(tape, x, layers.Train)
	out := step(t, tape, y, alone)
	near(t, "a block that drops everything", out[0], out[1]...)
}

// TestGroupedHeads: fewer heads of keys and values are the same as those heads repeated.
func TestGroupedHeads(t *testing.T) {
	grouped := build(t, layers.MultiHeadAttention{Heads: 4, KVHeads: 2, Causal: true}, 2, 3, 8)
	full := build(t, layers.MultiHeadAttention{Heads: 4, Causal: true}, 2, 3, 8)
	w := value(t, grouped, "in_proj_weight")
	if w.Shape() != tensor.Of(8+2*2*2, 8) {
		t.Fatalf("in_proj_weight is %v", w.Spec())
	}
	repeated := tensor.New(tensor.SpecOf(tensor.F64, 24, 8))
	for row := range 24 {
		from := row // of queries
		if row >= 8 {
			head, at := (row-8)/2%4, (row-8)%2
			from = 8 + 4*((row-8)/8) + head/2*2 + at
		}
		repeated.Row(row).CopyFrom(w.Row(from))
	}
	for _, v := range full.State() {
		x := repeated
		if v.Name() != "in_proj_weight" {
			if v.Name() == "in_proj_bias" {
				continue // zeros
			}
			x = value(t, grouped, v.Name())
		}
		if err := v.Set(ctx, x); err != nil {
			t.Fatal(err)
		}
	}
	tape := newTape(t)
	x := tape.Input("x", padded([]int64{3, 3}, 3, 8))
	out := step(t, tape, grouped.Forward(tape, x, layers.Eval), full.Forward(tape, x, layers.Eval))
	near(t, "grouped heads", out[0], out[1]...)
}

// TestIgnoredBatch: a batch of which no sample counts leaves no NaN in any gradient.
func TestIgnoredBatch(t *testing.T) {
	net := build(t, layers.Sequential{layers.Linear{Out: 4}, layers.LayerNorm{}, layers.Linear{Out: 3}}, 2, 3)
	tape := newTape(t)
	logits := net.Forward(tape, tape.Input("x", f64([]int{2, 3}, 1, 2, 3, 4, 5, 6)), layers.Train)
	loss := ops.CrossEntropyWith(logits, tape.Input("y", tensor.Must(tensor.From([]int64{-100, -100}))), ops.ClassLoss{Ignore: true, Ignored: -100})
	var wrt []ops.Value
	for _, p := range net.Params() {
		wrt = append(wrt, tape.Var(p))
	}
	for i, g := range step(t, tape, tape.Grad(loss, wrt...)...) {
		if !slices.Equal(g, make([]float64, len(g))) {
			t.Errorf("gradient of %v is %v, want 0", net.Params()[i], g)
		}
	}
}

// TestDropoutEdges: what is dropped is 0 whatever it was, P = 1 drops all, and the gradient is that of what is kept, at 0 too.
func TestDropoutEdges(t *testing.T) {
	tape := newTape(t)
	layer := func(p float64) *layers.Net { return build(t, layers.Dropout{P: p}, 64) }
	inf := tape.Input("inf", tensor.Full(tensor.SpecOf(tensor.F64, 64), math.Inf(1)))
	zero := tape.Input("zero", tensor.New(tensor.SpecOf(tensor.F64, 64)))
	half, all := layer(0.5).Forward(tape, inf, layers.Train), layer(1).Forward(tape, inf, layers.Train)
	kept := layer(0.5).Forward(tape, zero, layers.Train)
	g := tape.Grad(kept.Sum(), zero)
	gone := tape.Grad(layer(1).Forward(tape, zero, layers.Train).Sum(), zero)
	out := step(t, tape, half, all, g[0], gone[0])
	for i := range 64 {
		if h := out[0][i]; h != 0 && !math.IsInf(h, 1) {
			t.Fatalf("half of +inf is %v", h)
		}
		if out[1][i] != 0 || out[3][i] != 0 {
			t.Fatalf("all dropped: %v with gradient %v", out[1][i], out[3][i])
		}
		if d := out[2][i]; d != 0 && d != 2 {
			t.Fatalf("the gradient at 0 is %v", d)
		}
	}
	if !slices.Contains(out[2], 2) || !slices.Contains(out[2], 0) {
		t.Errorf("the gradient at 0 is %v", out[2])
	}
}

// TestLengthsOutOfRange: a length that is negative or beyond the steps is an error of the step, also where a module has set it.
func TestLengthsOutOfRange(t *testing.T) {
	for name, m := range map[string]layers.Module{"gru": layers.GRU{Hidden: 3}, "attention": layers.MultiHeadAttention{Heads: 2}} {
		net := build(t, layers.Sequential{layers.Name("m", m)}, 2, 5, 4)
		for _, bad := range []int64{9, 6, -1} {
			tape := newTape(t)
			x := tape.Input("x", tensor.New(tensor.SpecOf(tensor.F64, 2, 5, 4)))
			lengths := tensor.New(tensor.SpecOf(tensor.I64, 2))
			lengths.SetInt(1, bad)
			y := net.ForwardPadded(tape, x, tape.Input("lengths", lengths), layers.Train)
			_, err := tape.Eval(t.Context(), y)
			var index *ops.IndexError
			if !errors.As(err, &index) || *index != (ops.IndexError{Index: bad, Limit: 6}) {
				t.Fatalf("%s: length %d: %v", name, bad, err)
			}
			for _, part := range []string{fmt.Sprintf("sequence 1 has the length %d, and there are 5 steps", bad), "in scope m", "sequences_test.go"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: no %q in %v", name, part, err)
				}
			}
		}
	}
}
