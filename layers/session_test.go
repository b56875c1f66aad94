package layers_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// writers are language models: of vectors of 12 over a vocabulary of 7, for sequences of at most 24 steps.
var writers = map[string]layers.Module{
	"lstm": layers.Sequential{layers.Embedding{Rows: 7, Size: 12}, layers.LSTM{Hidden: 10, Layers: 2}, layers.Linear{Out: 7}},
	"gru":  layers.Sequential{layers.Embedding{Rows: 7, Size: 12}, layers.GRU{Hidden: 10}, layers.Linear{Out: 7}},
	"gpt": layers.Sequential{
		layers.Name("tok", layers.Embedding{Rows: 7, Size: 12}), layers.Name("pos", layers.Positions{Max: 24}),
		layers.Name("blocks", layers.Sequential{
			layers.TransformerBlock{Heads: 2, Hidden: 20, PreNorm: true, Causal: true, Activation: layers.GELU{Tanh: true}},
			layers.TransformerBlock{Heads: 4, KVHeads: 2, Hidden: 20, PreNorm: true, Causal: true, Dropout: 0.1},
		}),
		layers.Name("norm", layers.LayerNorm{}), layers.Name("head", layers.Linear{Out: 7}),
	},
}

// writer builds one of them.
func writer(t *testing.T, name string, d tensor.DType) *layers.Net {
	t.Helper()
	net, err := layers.Build(writers[name], tensor.SpecOf(tensor.I64, 1, 4), 5, d)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// tokens are rows of text.
func tokens(rows ...[]int64) tensor.Tensor {
	return tensor.Must(tensor.From(slices.Concat(rows...), len(rows), len(rows[0])))
}

var texts = [][]int64{{3, 1, 4, 1, 5, 2, 6, 5, 3, 5}, {0, 2, 6, 1, 1, 0, 4, 3, 2, 1}}

// cut is steps lo to hi of the texts.
func cut(lo, hi int) tensor.Tensor { return tokens(texts[0][lo:hi], texts[1][lo:hi]) }

// TestSessionEqualsFullPass: pieces of any length give what one pass over all gives, bit for bit on the reference, and a padded prompt what one without
// padding gives.
func TestSessionEqualsFullPass(t *testing.T) {
	for name := range writers {
		t.Run(name, func(t *testing.T) { samePieces(t, writer(t, name, tensor.F64), newTape(t), 0) })
		t.Run(name+" bf16", func(t *testing.T) { samePieces(t, writer(t, name, tensor.BF16), newTape(t), 0) })
		t.Run(name+" cpu", func(t *testing.T) {
			samePieces(t, writer(t, name, tensor.F32), autograd.New(cpuEngine(t)), 1e-5)
		})
	}
}

func samePieces(t *testing.T, net *layers.Net, tape *autograd.Tape, bound float64) {
	full := step(t, tape, net.Forward(tape, tape.Input("x", cut(0, 10)), layers.Eval))[0]
	compare := func(what string, got []float64, lo, hi int) {
		t.Helper()
		for row := range 2 {
			for i, x := range got[row*len(got)/2:][:7*(hi-lo)] {
				if want := full[row*70+7*lo+i]; !(math.Abs(x-want) <= bound) {
					t.Fatalf("%s: steps %d to %d of sequence %d: %v is %v, want %v", what, lo, hi, row, i, x, want)
				}
			}
		}
	}
	s := net.Session(24)
	for _, ends := range [][]int{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {0, 4, 5, 9, 10}, {0, 10}} {
		for i, hi := range ends[1:] {
			lo := ends[i]
			compare("pieces", step(t, tape, s.Forward(tape, tape.Input("x", cut(lo, hi))))[0], lo, hi)
		}
		if n, err := s.Len(ctx); n != 10 || err != nil {
			t.Errorf("%d steps taken, %v, want 10", n, err)
		}
		if err := s.Reset(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{1, 4, 8} {
		prompt := tensor.New(tensor.SpecOf(tensor.I64, 2, 8))
		for i := range prompt.Len() {
			prompt.SetInt(i, 6) // the padding is a word like others
			if i%8 < n {
				prompt.SetInt(i, texts[i/8][i%8])
			}
		}
		count := tape.Scalar("steps", tensor.I64, float64(n))
		compare("prompt", step(t, tape, s.ForwardPadded(tape, tape.Input("x", prompt), count))[0], 0, n)
		for i := n; i < 10; i++ {
			compare("after a prompt", step(t, tape, s.Forward(tape, tape.Input("x", cut(i, i+1))))[0], i, i+1)
		}
		if err := s.Reset(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSessionCompilesOnce: neither positions, nor lengths of prompts, nor sessions are compiled.
func TestSessionCompilesOnce(t *testing.T) {
	for name := range writers {
		eng, net := newEngine(t), writer(t, name, tensor.F64)
		tape := autograd.New(eng)
		write := func(n int) {
			s := net.Session(24)
			for k := range 3 {
				step(t, tape, s.ForwardPadded(tape, tape.Input("x", cut(0, 4)), tape.Scalar("steps", tensor.I64, float64((n+k)%5))))
				for i := range 4 {
					step(t, tape, s.Forward(tape, tape.Input("x", cut(i, i+1))))
				}
			}
		}
		write(1)
		compiles := eng.Stats().Compiles
		if compiles != 2 {
			t.Errorf("%s: %d programs, want one for prompts and one for single steps", name, compiles)
		}
		write(3)
		if n := eng.Stats().Compiles; n != compiles {
			t.Errorf("%s: %d programs more", name, n-compiles)
		}
	}
}

// TestSessionFull: what does not fit is an error that says so, and changes nothing.
func TestSessionFull(t *testing.T) {
	for name := range writers {
		net, tape := writer(t, name, tensor.F64), newTape(t)
		s := net.Session(5)
		step(t, tape, s.Forward(tape, tape.Input("x", cut(0, 4))))
		fails := func(words string, record func() ops.Value) {
			t.Helper()
			res, err := tape.Step(ctx, record())
			if err == nil {
				err = res.Wait(ctx)
			}
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v, want %q", name, err, words)
			}
			if n, err := s.Len(ctx); n != 4 || err != nil {
				t.Errorf("%s: %d steps taken, %v, want 4", name, n, err)
			}
			if full := strings.Contains(words, "is full"); errors.Is(err, layers.ErrFull) != full {
				t.Errorf("%s: errors.Is(%v, ErrFull) is %v", name, err, !full)
			}
		}
		fails("session: the session is full: it holds 5 steps, of which 4 are taken: a piece of 2 does not fit", func() ops.Value { return s.Forward(tape, tape.Input("x", cut(4, 6))) })
		fails("layers: the session is full: it holds 5 steps: a piece of 6 does not fit", func() ops.Value { return s.Forward(tape, tape.Input("x", cut(0, 6))) })
		fails("2 steps of a piece of 1 cannot count", func() ops.Value {
			return s.ForwardPadded(tape, tape.Input("x", cut(4, 5)), tape.Scalar("n", tensor.I64, 2))
		})
		fails("-1 steps of a piece of 1 cannot count", func() ops.Value {
			return s.ForwardPadded(tape, tape.Input("x", cut(4, 5)), tape.Scalar("n", tensor.I64, -1))
		})
		step(t, tape, s.Forward(tape, tape.Input("x", cut(4, 5)))) // the last one fits
	}
}

// TestSessionRefuses: what cannot run in pieces says why.
func TestSessionRefuses(t *testing.T) {
	vectors := tensor.New(tensor.SpecOf(tensor.F64, 2, 3, 4))
	twice := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		return c.Run("a", layers.GRU{Hidden: 4}, c.Run("a", layers.GRU{Hidden: 4}, x))
	})
	lengths := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		c.Lengths = ops.Full(c.Tape.Recorder(), tensor.SpecOf(tensor.I64, 2), 3)
		return c.Run("a", layers.MultiHeadAttention{Heads: 2, Causal: true}, x)
	})
	for _, c := range []struct {
		m     layers.Module
		max   int
		words string
	}{
		{layers.LSTM{Hidden: 2, Bidirectional: true}, 9, "in a session no layer is Bidirectional"},
		{layers.MultiHeadAttention{Heads: 2}, 9, "in a session attention is Causal"},
		{layers.Positions{Max: 8}, 9, "the session is to hold 9 steps, and Max is 8"},
		{layers.ReLU{}, 0, "a session holds at least one step"},
		{layers.ReLU{}, math.MinInt, "a session holds at least one step"},
		{layers.MultiHeadAttention{Heads: 2, Causal: true}, math.MaxInt, "key cannot be kept"},
		{twice, 9, "the module is used twice in one pass of a session"},
		{lengths, 9, "in a session all sequences have one length"},
	} {
		net, err := layers.Build(c.m, vectors.Spec(), 1, tensor.F64)
		if err != nil {
			t.Fatal(err)
		}
		tape := newTape(t)
		net.Session(c.max).Forward(tape, tape.Input("x", vectors))
		if err := tape.Err(); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%v, want %q", err, c.words)
		}
	}
	net := build(t, layers.GRU{Hidden: 2}, 2, 3, 4)
	tape := newTape(t)
	refuses := func(words string, record func()) {
		t.Helper()
		tape.Discard()
		calm(t, words, record)
		if err := tape.Err(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
	s := net.Session(9)
	step(t, tape, s.Forward(tape, tape.Input("x", vectors)))
	refuses("the session began with h_l0 [2 2], and this piece wants [1 2]", func() { s.Forward(tape, tape.Input("x", vectors.Rows(0, 1))) })
	refuses("a session runs through [n, steps, ...]", func() { s.Forward(tape, tape.Input("x", vectors.Row(0).Row(0))) })
	refuses("the number of steps is none", func() { s.ForwardPadded(tape, tape.Input("x", vectors), ops.Value{}) })
	refuses("the number of steps that count is one of type i64", func() {
		s.ForwardPadded(tape, tape.Input("x", vectors), tape.Scalar("n", tensor.F32, 1))
	})
	refuses("the net was not built", func() { new(layers.Net).Session(3).Forward(tape, tape.Input("x", vectors)) })
	calm(t, "the zero session", func() {
		var s layers.Session
		if n, err := s.Len(ctx); n != 0 || err != nil || s.Reset(ctx) != nil {
			t.Error(n, err)
		}
		refuses("a session holds at least one step", func() { s.Forward(tape, tape.Input("x", vectors)) })
	})
}

// TestSessionPeeks: Eval looks ahead without a step.
func TestSessionPeeks(t *testing.T) {
	net, tape := writer(t, "gpt", tensor.F64), newTape(t)
	s := net.Session(24)
	step(t, tape, s.Forward(tape, tape.Input("x", cut(0, 4))))
	peek, err := tape.Eval(ctx, s.Forward(tape, tape.Input("x", cut(4, 5))))
	if err != nil {
		t.Fatal(err)
	}
	tape.Discard()
	if n, err := s.Len(ctx); n != 4 || err != nil {
		t.Errorf("%d steps taken, %v, want 4", n, err)
	}
	near(t, "the step after", step(t, tape, s.Forward(tape, tape.Input("x", cut(4, 5))))[0], peek[0].Floats()...)
}

// TestSessionsAtOnce: each goroutine has its own sequences.
func TestSessionsAtOnce(t *testing.T) {
	net, eng := writer(t, "gpt", tensor.F64), newEngine(t)
	var wg sync.WaitGroup
	results, failures := make([][]tensor.Tensor, 4), make([]error, 4)
	for g := range results {
		wg.Go(func() {
			tape, s := autograd.New(eng), net.Session(24)
			for i := range 10 {
				res, err := tape.Step(ctx, s.Forward(tape, tape.Input("x", cut(i, i+1))))
				if err == nil {
					var y tensor.Tensor
					y, err = res.Tensor(ctx, 0)
					results[g] = append(results[g], y)
				}
				failures[g] = errors.Join(failures[g], err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	for g := range results[1:] {
		for i := range 10 {
			if !results[g+1][i].Same(results[0][i]) {
				t.Errorf("session %d differs at step %d", g+1, i)
			}
		}
	}
}

// counting is a user's module: it adds to x the sum of what came before, and the number of the step.
type counting struct{}

func (counting) Forward(c *layers.Context, x ops.Value) ops.Value {
	first := ops.Zeros(c.Tape.Recorder(), tensor.Spec{DType: tensor.I64})
	sum := x.Cumsum(1)
	if past := c.Keep("sum", tensor.Of(x.Dim(0), 1)); past != nil {
		sum = sum.Add(c.Tape.Var(past))
		c.Tape.Assign(past, sum.Narrow(1, x.Dim(1)-1, 1))
	}
	if c.InSession() {
		first = c.Position()
	}
	steps := ops.Iota(c.Tape.Recorder(), tensor.SpecOf(tensor.I64, x.Dim(1)), 0).Add(first)
	return sum.Add(steps.Cast(x.DType()))
}

// TestKeep: a user's module may keep what it needs.
func TestKeep(t *testing.T) {
	net, tape := build(t, counting{}, 2, 5), newTape(t)
	x := f64([]int{2, 5}, 1, 2, 3, 4, 5, 10, 20, 30, 40, 50)
	near(t, "at once", step(t, tape, net.Forward(tape, tape.Input("x", x), layers.Eval))[0], 1, 4, 8, 13, 19, 10, 31, 62, 103, 154)
	s := net.Session(5)
	near(t, "steps 0 and 1", step(t, tape, s.Forward(tape, tape.Input("x", f64([]int{2, 2}, 1, 2, 10, 20))))[0], 1, 4, 10, 31)
	near(t, "steps 2 to 4", step(t, tape, s.Forward(tape, tape.Input("x", f64([]int{2, 3}, 3, 4, 5, 30, 40, 50))))[0], 8, 13, 19, 62, 103, 154)
}
