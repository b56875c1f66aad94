package acceltest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// indices is an i64 argument.
func indices(x ...int64) tensor.Tensor { return tensor.Must(tensor.From(x, len(x))) }

// failing is a graph in which a later node can fail, after one whose output is donated. Arguments are a table of 7x3, a state of 3 and
// two indices; outputs are the next state in place, and what was looked up.
func (s *suite) failing() *accel.Graph {
	return s.build(func(b *builder) {
		table, state, at := b.param(f32(7, 3)), b.param(f32(3)), b.param(tensor.SpecOf(tensor.I64, 2))
		next := b.node(ops.BinaryOp{F: ops.Add}, state, b.node(ops.ReduceOp{F: ops.SumOf, Axes: 1}, table))
		b.out(next, 1)
		b.out(b.node(ops.GatherOp{}, table, at), -1)
	})
}

// failedRun checks what a failed run leaves: donated values as they were, other outputs poisoned with the first cause, consumers that
// pass it on without running, and a device that works.
func (s *suite) failedRun() {
	d := s.device()
	g := s.failing()
	p := s.compile(d, g)
	defer p.Close()
	consumer := s.compile(d, s.build(func(b *builder) {
		looked, own := b.param(f32(2, 3)), b.param(f32(2, 3))
		b.out(b.node(ops.BinaryOp{F: ops.Add}, looked, own), 1)
		b.out(b.node(ops.UnaryOp{F: ops.Neg}, own), -1)
	}))
	defer consumer.Close()
	table, state, own := ramp(1, f32(7, 3)), ramp(2, f32(3)), ramp(3, f32(2, 3))
	bufs := s.upload(d, table, state, own)
	in := func(at ...int64) []accel.Arg {
		a := args([]accel.Buffer{bufs[0], bufs[1], nil})
		a[2].Host = indices(at...)
		return a
	}
	unchanged := func(when string, b accel.Buffer, want tensor.Tensor) {
		s.Helper()
		if why := sameBits(s.download(b), want); why != "" {
			s.Errorf("%s: a donated value has changed: %s", when, why)
		}
	}
	for _, offered := range []bool{false, true} {
		out := make([]accel.Buffer, 2)
		if offered {
			out = s.stale(d, g)
		}
		refused, err := start(p, in(3, 7), out)
		s.noError("Run", refused)
		var ie *ops.IndexError
		if !errors.As(err, &ie) || *ie != (ops.IndexError{Index: 7, Limit: 7}) {
			s.Fatalf("the run's event says %v, want an IndexError of 7 in [0,7)", err)
		}
		if out[0] != bufs[1] || out[1] == nil {
			s.Fatal("a failed run has no outputs")
		}
		unchanged("a failed run", bufs[1], state)
		if got := out[1].Wait(ctx); !errors.As(got, &ie) {
			s.Errorf("Wait for a poisoned output: %v", got)
		}
		if got := out[1].Download(ctx, tensor.New(f32(2, 3))); !errors.As(got, &ie) {
			s.Errorf("Download of a poisoned output: %v", got)
		}
		next := make([]accel.Buffer, 2)
		refused, err = start(consumer, args([]accel.Buffer{out[1], bufs[2]}), next)
		s.noError("Run of a consumer", refused)
		if !errors.As(err, &ie) || ie.Index != 7 {
			s.Errorf("a consumer of a poisoned value: %v", err)
		}
		unchanged("a consumer of a poisoned value", bufs[2], own)
		if got := next[1].Wait(ctx); !errors.As(got, &ie) {
			s.Errorf("Wait for the output of a consumer: %v", got)
		}
		next[1].Free()

		s.run(p, in(6, 0), out) // the poisoned buffer is offered
		vals, err := evaluate(g, []tensor.Tensor{table, state, indices(6, 0)})
		s.noError("reference", err)
		state = vals[g.Outs[0].Node][0]
		if why := differ(s.download(bufs[1]), state, 8*ulp(tensor.F32, largest(state))); why != "" {
			s.Errorf("the run after a failed one: %s", why)
		}
		state = s.download(bufs[1])
		if why := sameBits(s.download(out[1]), vals[g.Outs[1].Node][0]); why != "" {
			s.Errorf("a poisoned buffer that was offered: %s", why)
		}
		out[1].Free()
	}
	free(bufs...)
}

// indexErrors checks the node of an error, its index and its limit; of two bad indices the first in order counts, however many workers
// look for one.
func (s *suite) indexErrors() {
	d := s.device()
	const n = 5000
	g := s.build(func(b *builder) {
		x, at := b.param(f32(9, 2)), b.param(tensor.SpecOf(tensor.I64, n))
		y := b.node(ops.UnaryOp{F: ops.Tanh}, b.node(ops.UnaryOp{F: ops.Neg}, x))
		b.out(b.node(ops.UnaryOp{F: ops.Exp}, b.node(ops.GatherOp{}, y, at)), -1)
	})
	p := s.compile(d, g)
	defer p.Close()
	for _, bad := range [][2]int{{0, n - 1}, {n - 1, 1}, {n / 2, n/2 + 1}, {17, 4000}} {
		at := tensor.New(tensor.SpecOf(tensor.I64, n))
		at.SetInt(bad[0], -1)
		at.SetInt(bad[1], 9)
		want := &ops.IndexError{Index: -1, Limit: 9}
		if bad[1] < bad[0] {
			want.Index = 9
		}
		out := make([]accel.Buffer, 1)
		refused, err := start(p, host(ramp(1, f32(9, 2)), at), out)
		s.noError("Run", refused)
		if why := nodeError(err, 4, want); why != "" {
			s.Errorf("bad indices at %v: %s", bad, why)
		}
		free(out...)
	}
}

// userOps runs operations that the driver has never heard of by their reference, if it can: a value, an error, a panic.
func (s *suite) userOps() {
	d := s.device()
	if _, ok := d.(accel.Referencer); !ok {
		return
	}
	for _, deed := range []userDeed{doubles, returnsError, panics, doubles} {
		g := s.build(func(b *builder) {
			x := b.param(f32(2, 5))
			y := b.node(userOp{deed}, b.node(ops.UnaryOp{F: ops.Neg}, x))
			b.Nodes[y.Node].Ref = true
			b.out(b.node(ops.UnaryOp{F: ops.Neg}, y), 0)
			b.out(b.node(ops.UnaryOp{F: ops.ReLU}, y), -1)
		})
		if err := d.Supports(&g.Nodes[2]); err != nil {
			s.Fatalf("a node that says Ref is refused: %v", err)
		}
		p := s.compile(d, g)
		x := ramp(1, f32(2, 5))
		buf := s.upload(d, x)[0]
		out := make([]accel.Buffer, 2)
		refused, err := start(p, args([]accel.Buffer{buf}), out)
		s.noError("Run", refused)
		if deed == doubles {
			s.noError("event", err)
			vals, err := evaluate(g, []tensor.Tensor{x})
			s.noError("reference", err)
			for j, e := range g.Outs {
				if why := differ(s.download(out[j]), vals[e.Node][0], ulp(tensor.F32, 1)); why != "" {
					s.Errorf("output %d of a user's operation: %s", j, why)
				}
			}
		} else {
			cause := map[userDeed]string{returnsError: errUser.Error(), panics: "panic: the user's own panic"}[deed]
			if why := nodeError(err, 2, nil); why != "" || !strings.Contains(fmt.Sprint(err), cause) {
				s.Errorf("%s: %v does not say %q", why, err, cause)
			}
			if deed == returnsError && !errors.Is(err, errUser) {
				s.Errorf("%v does not wrap the user's error", err)
			}
			if why := sameBits(s.download(buf), x); why != "" {
				s.Errorf("a donated value after a user's error: %s", why)
			}
			if out[1].Wait(ctx) == nil {
				s.Error("an output is not poisoned by a user's error")
			}
		}
		free(buf, out[1])
		p.Close()
	}
}
