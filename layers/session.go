package layers

import (
	"context"
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Session runs a net through sequences piece by piece, as a language model writes: each piece continues where the last one ended. Recurrent
// layers keep their states, attention keeps its keys and values, positions count on. All other layers see the piece alone. What is kept lives in
// variables of the session, so several sessions of one net may run at once; one session serves one goroutine at a time.
//
// A piece counts once [autograd.Tape.Step] has run it. After Eval, the next piece begins where the last one did. Nothing about a piece but its
// shape is part of what is compiled: one program serves all single steps, one all prompts that are padded to the same length.
type Session struct {
	net  *Net
	max  int
	at   *ops.Variable // i64: the steps taken
	kept map[place]*kept
	pass uint64
}

// place is where a module keeps something.
type place struct {
	at   *scope
	name string
}

type kept struct {
	v    *ops.Variable
	pass uint64 // the last one that used it
}

// Session begins sequences of at most max steps.
func (n *Net) Session(max int) *Session {
	return &Session{net: n, max: max, at: ops.NewVariable("session.at", tensor.Scalar[int64](0)), kept: map[place]*kept{}}
}

// Forward records a pass in Eval over the next piece, x [n, steps, ...]: as many sequences each time. More steps than the session holds fail
// the step: the cause is ErrFull.
func (s *Session) Forward(t *autograd.Tape, x ops.Value) ops.Value {
	return s.forward(t, x, ops.Value{})
}

// ForwardPadded is Forward over a piece of which the first steps count, a number of type i64 such as [autograd.Tape.Scalar] gives, and the rest is
// padding, whatever it holds: prompts of many lengths are one program. What comes out for the padding is of no use. The session must hold the
// padding too.
func (s *Session) ForwardPadded(t *autograd.Tape, x, steps ops.Value) ops.Value {
	if steps.IsNone() {
		return t.Recorder().Fail(fmt.Errorf("layers: %w: the number of steps is none: use Forward", ops.ErrMisuse))
	}
	return s.forward(t, x, steps)
}

func (s *Session) forward(t *autograd.Tape, x, steps ops.Value) ops.Value {
	if s.net == nil || s.max < 1 {
		return t.Recorder().Fail(fmt.Errorf("layers: %w: a session holds at least one step: make it by Net.Session(max)", ops.ErrMisuse))
	}
	if x.Rank() < 2 && t.Err() == nil {
		return t.Recorder().Fail(fmt.Errorf("layers: %w: a session runs through [n, steps, ...], not %v", ops.ErrMisuse, x.Spec()))
	}
	if x.Dim(1) > s.max && t.Err() == nil {
		return t.Recorder().Fail(fmt.Errorf("layers: %w: it holds %d steps: a piece of %d does not fit", ErrFull, s.max, x.Dim(1)))
	}
	s.pass++
	p := piece{Session: s}
	count := steps
	if count.IsNone() {
		count = ops.Full(t.Recorder(), tensor.Spec{DType: tensor.I64}, float64(x.Dim(1)))
	} else {
		p.lengths = steps.Expand(x.Dim(0))
	}
	p.at = ops.Apply(advanceOp{Steps: x.Dim(1), Max: s.max}, t.Var(s.at), count)
	y := s.net.forward(t, x, Eval, p)
	t.Assign(s.at, p.at.Output(1))
	return y
}

// piece is the part of a session that a pass runs through.
type piece struct {
	*Session
	at      ops.Value // i64: the first step
	lengths ops.Value // none if all steps count
}

// Len is the number of steps taken, after the steps of the tape that are enqueued.
func (s *Session) Len(ctx context.Context) (int, error) {
	if s.net == nil {
		return 0, nil
	}
	x, err := s.at.Value(ctx)
	if err != nil {
		return 0, fmt.Errorf("layers: session: %w", err)
	}
	return int(x.Int(0)), nil
}

// Reset begins anew: what was kept is forgotten.
func (s *Session) Reset(ctx context.Context) error {
	if s.net == nil {
		return nil
	}
	vars := []*ops.Variable{s.at}
	for _, k := range s.kept {
		vars = append(vars, k.v)
	}
	for _, v := range vars {
		if err := v.Set(ctx, tensor.New(v.Spec())); err != nil {
			return fmt.Errorf("layers: session: %w", err)
		}
	}
	return nil
}

// InSession reports whether the pass is part of a session.
func (c *Context) InSession() bool { return c.piece.Session != nil }

// Position is the number of the first step of this piece of a session, i64 of rank 0; none outside of sessions.
func (c *Context) Position() ops.Value { return c.piece.at }

// Keep is a variable of the session that carries what this module has to know of earlier pieces: zeros at first. The module reads it by
// Tape.Var and assigns its next value by Tape.Assign. It is nil outside of sessions, and after an error.
func (c *Context) Keep(name string, shape tensor.Shape) *ops.Variable {
	s := c.piece.Session
	if s == nil || c.Tape.Err() != nil {
		return nil
	}
	k := s.kept[place{c.at, name}]
	if k == nil {
		spec := tensor.Spec{DType: c.DType, Shape: shape}
		if err := spec.Check(); err != nil {
			c.Fail(fmt.Errorf("%s cannot be kept: %w", name, err))
			return nil
		}
		k = &kept{v: ops.NewVariable(join(c.at.path, name), tensor.New(spec))}
		s.kept[place{c.at, name}] = k
	}
	switch have := k.v.Spec().Shape; {
	case have != shape:
		c.Fail(fmt.Errorf("%w: the session began with %s %v, and this piece wants %v: it has as many sequences each time", ops.ErrMisuse, name, have, shape))
		return nil
	case k.pass == s.pass:
		c.Fail(fmt.Errorf("%w: the module is used twice in one pass of a session, and what it keeps is of one sequence", ops.ErrMisuse))
		return nil
	}
	k.pass = s.pass
	return k.v
}

// advanceOp makes sure that there is room: (at, count), both i64 of rank 0, gives at again, and at + count. It fails where Steps more do not fit
// into Max, or count is not among them.
type advanceOp struct {
	ops.NoGrad
	Steps, Max int
}

// Name is "session".
func (advanceOp) Name() string { return "session" }

// Infer wants the two numbers.
func (advanceOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	number := tensor.Spec{DType: tensor.I64}
	if len(in) != 2 || in[0] != number || in[1] != number {
		return nil, &tensor.ShapeError{Msg: "the number of steps that count is one of type i64", In: in}
	}
	return in, nil
}

// Ref adds.
func (o advanceOp) Ref(out, in []tensor.Tensor) error {
	at, count := in[0].Int(0), in[1].Int(0)
	if count < 0 || count > int64(o.Steps) {
		return fmt.Errorf("%d steps of a piece of %d cannot count", count, o.Steps)
	}
	if at < 0 || at > int64(o.Max-o.Steps) {
		return fmt.Errorf("%w: it holds %d steps, of which %d are taken: a piece of %d does not fit", ErrFull, o.Max, at, o.Steps)
	}
	for i, x := range []int64{at, at + count} {
		if !out[i].IsNone() {
			out[i].SetInt(0, x)
		}
	}
	return nil
}

// Cost is that of moving numbers.
func (advanceOp) Cost(in, out []tensor.Spec) ops.Cost { return ops.Traffic(in, out) }

// ErrFull is the cause when a piece does not fit into a session.
var ErrFull = errors.New("the session is full")
