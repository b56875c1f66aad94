package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// author writes text by a model: token by token, each drawn from what the model expects behind the ones before.
type author struct {
	textTask
	tape        *autograd.Tape
	session     *layers.Session // of as many tokens as the model was trained to see
	held        int             // tokens in it
	temperature float64         // 0 takes the likeliest token, 1 draws as the model expects
	top         int             // how many of the likeliest are drawn from; 0 means all
	random      *rand.Rand
}

func (t textTask) author(eng *sched.Engine, net *layers.Net, temperature float64, top int, seed uint64) *author {
	return &author{t, autograd.New(eng), net.Session(t.window), 0, temperature, top, rand.New(rand.NewPCG(seed, 0))}
}

// write writes the prompt and n tokens behind it, each as soon as it is known. Behind an empty prompt begins a paragraph.
func (a *author) write(ctx context.Context, out io.Writer, prompt string, n int) error {
	w := &cleanWriter{out: out}
	if _, err := io.WriteString(w, prompt); err != nil {
		return err
	}
	if prompt == "" {
		prompt = "\n\n"
	}
	tokens := a.tokens.Encode(prompt)
	for range n {
		t, err := a.next(ctx, tokens)
		if err != nil {
			return err
		}
		tokens = append(tokens, t)
		text, err := a.tokens.Decode(tokens[len(tokens)-1:])
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return w.end()
}

// next draws a token to come behind others, all but the last of which it has been given before, if any. When the session is full it begins anew with the
// last half of what it held.
func (a *author) next(ctx context.Context, tokens []int32) (int32, error) {
	keep := a.window
	if a.held == a.window {
		if err := a.session.Reset(ctx); err != nil {
			return 0, err
		}
		a.held, keep = 0, max(1, a.window/2)
	}
	var logits ops.Value
	last := 0 // the row of logits that tells
	if a.held == 0 {
		tokens = tokens[max(0, len(tokens)-keep):]
		a.held, last = len(tokens), len(tokens)-1
		x := tensor.New(tensor.SpecOf(tensor.I64, 1, a.window)) // padded: one program for all prompts
		for i, t := range tokens {
			x.SetInt(i, int64(t))
		}
		logits = a.session.ForwardPadded(a.tape, a.tape.Input("x", x), a.tape.Scalar("steps", tensor.I64, float64(len(tokens))))
	} else {
		a.held++
		x := tensor.New(tensor.SpecOf(tensor.I64, 1, 1))
		x.SetInt(0, int64(tokens[len(tokens)-1]))
		logits = a.session.Forward(a.tape, a.tape.Input("x", x))
	}
	res, err := a.tape.Step(ctx, logits)
	if err != nil {
		return 0, err
	}
	defer res.Release()
	all, err := res.Tensor(ctx, 0)
	if err != nil {
		return 0, err
	}
	return a.draw(all.Row(0).Row(last))
}

// draw draws a token by its logits.
func (a *author) draw(logits tensor.Tensor) (int32, error) {
	type candidate struct {
		token  int32
		weight float64
	}
	list := make([]candidate, logits.Len())
	for i := range list {
		list[i] = candidate{int32(i), logits.At(i)}
		if math.IsNaN(list[i].weight) || math.IsInf(list[i].weight, 1) {
			return 0, errors.New("the model expects nothing that is a number: its file is damaged, or it was trained too fast")
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.weight, a.weight) })
	if a.temperature == 0 {
		return list[0].token, nil
	}
	if a.top > 0 {
		list = list[:min(a.top, len(list))]
	}
	sum, most := 0.0, list[0].weight
	for i := range list {
		list[i].weight = math.Exp((list[i].weight - most) / a.temperature)
		sum += list[i].weight
	}
	at := a.random.Float64() * sum
	for _, c := range list {
		if at -= c.weight; at < 0 {
			return c.token, nil
		}
	}
	return list[0].token, nil // rounding has left something of the sum
}

// cleanWriter writes characters as they become whole, and the replacement character instead of bytes that make none and of what would give orders
// to a terminal.
type cleanWriter struct {
	out  io.Writer
	rest []byte // the beginning of a character
}

func (w *cleanWriter) Write(b []byte) (int, error) {
	w.rest = append(w.rest, b...)
	var clean []byte
	for len(w.rest) > 0 && utf8.FullRune(w.rest) {
		r, n := utf8.DecodeRune(w.rest)
		w.rest = w.rest[n:]
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			r = utf8.RuneError
		}
		clean = utf8.AppendRune(clean, r)
	}
	if _, err := w.out.Write(clean); err != nil {
		return 0, err
	}
	return len(b), nil
}

// end writes what has not become a character, and ends the line.
func (w *cleanWriter) end() error {
	tail := "\n"
	if len(w.rest) > 0 {
		tail = string(utf8.RuneError) + tail
	}
	_, err := fmt.Fprint(w.out, tail)
	return err
}
