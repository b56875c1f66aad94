package contract

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// bad is a user's operation with a fault at one place; elsewhere it is a copy.
type bad struct {
	square
	At place
}

type place int

const (
	refError place = iota // if the first element is over 2
	refPanic              // likewise
	inferPanic
	gradPanic
	gradShape
	gradRandom
)

func (bad) Name() string { return "bad" }

func (o bad) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if o.At == inferPanic {
		panic("Infer went wrong")
	}
	return in[:1:1], nil
}

var errTooLarge = errors.New("too large")

func (o bad) Ref(out, in []tensor.Tensor) error {
	if in[0].At(0) > 2 {
		switch o.At {
		case refError:
			return errTooLarge
		case refPanic:
			panic("Ref went wrong")
		}
	}
	out[0].CopyFrom(in[0])
	return nil
}

func (o bad) Grad(b *ops.Backward) {
	dy, _ := b.Dy(0)
	switch o.At {
	case gradPanic:
		panic("Grad went wrong")
	case gradShape:
		dy = dy.Sum()
	case gradRandom:
		dy = ops.Dropout(dy, 0.5)
	}
	b.Set(0, dy)
}

// Attributes that do not compare by content.
type floaty struct {
	bad
	F float64
}

type hidden struct {
	bad
	F any
}

// A user's operation: with a gradient; one that returns an error or panics, wherever; one with attributes that do not compare. The step
// fails and names operation and call site, variables are intact, the next step works.
func Test08UserOp(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		w := ops.NewVariable("w", f64(3, 5))
		g := tape.Grad(ops.Apply(square{}, tape.Var(w)).Sum(), tape.Var(w))[0]
		r.equal("gradient", r.step(tape, g), []float64{6, 10})
		use := func(f func(x ops.Value) ops.Value) error {
			y := f(tape.Var(w))
			tape.Assign(w, y.Add(y))
			_, err := try(tape, y)
			return err
		}
		for at, words := range map[place]string{refError: "too large", refPanic: "panic: Ref went wrong", inferPanic: "panic in Infer: Infer went wrong"} {
			err := use(func(x ops.Value) ops.Value { return ops.Apply(bad{At: at}, x) })
			r.fails(err, nil, "bad", words, "userop_test.go")
			if at == refError {
				r.fails(err, errTooLarge)
			}
			var placed *ops.OpError
			if !errors.As(err, &placed) || placed.Op != "bad" {
				r.Errorf("%v is no OpError of bad", err)
			}
			r.equal("the variable", r.value(w), []float64{3, 5})
		}
		for at, words := range map[place]string{gradPanic: "panic in the gradient rule: Grad went wrong", gradShape: "wants its own spec", gradRandom: "no new random stream"} {
			x := tape.Var(w)
			tape.Grad(ops.Apply(bad{At: at}, x).Sum(), x)
			_, err := tape.Step(ctx)
			r.fails(err, nil, words, "userop_test.go")
		}
		r.fails(use(func(x ops.Value) ops.Value { return ops.Apply(floaty{}, x) }), ops.ErrMisuse, "F is a float64", "ops.Bits")
		r.fails(use(func(x ops.Value) ops.Value { return ops.Apply(hidden{F: []int{1}}, x) }), ops.ErrMisuse, "does not compare")
		r.fails(use(func(x ops.Value) ops.Value { return ops.Apply(&hidden{}, x) }), ops.ErrMisuse, "by value")
		r.equal("the variable", r.value(w), []float64{3, 5})
		if err := use(func(x ops.Value) ops.Value { return x }); err != nil {
			r.Fatal(err)
		}
		r.equal("the next step", r.value(w), []float64{6, 10})
	})
}

// thrice has three outputs and notes which are computed.
type thrice struct{ square }

var computed [3]int

func (thrice) Name() string { return "thrice" }

func (thrice) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{in[0], in[0], in[0]}, nil
}

func (thrice) Ref(out, in []tensor.Tensor) error {
	for i, t := range out {
		if !t.IsNone() {
			computed[i]++
			t.CopyFrom(in[0])
		}
	}
	return nil
}

func (thrice) Grad(b *ops.Backward) {
	sum := b.DyOrZero(0)
	for i := 1; i < 3; i++ {
		if dy, ok := b.Dy(i); ok {
			sum = sum.Add(dy)
		}
	}
	b.Set(0, sum)
}

// Several outputs, some unused: they are not computed, and a gradient arrives at those that are used.
func Test14Outputs(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		computed = [3]int{}
		tape := r.tape()
		x := tape.Input("x", mat(2, 1, 2, 3, 4))
		v := ops.Apply(thrice{}, x)
		second := x.Split(0, 2).Output(1)
		g := tape.Grad(v.Output(2).Sum().Add(second.Mul(second).Sum()), x)[0]
		r.equal("gradient", r.step(tape, g), []float64{1, 1, 7, 9})
		if computed != [3]int{} {
			r.Errorf("%v outputs computed for a gradient that needs none", computed)
		}
		r.step(tape, ops.Apply(thrice{}, tape.Input("x", f64(1))).Output(2))
		if computed != [3]int{0, 0, 1} {
			r.Errorf("computed %v, asked for the last", computed)
		}
		ops.Apply(thrice{}, tape.Input("x", f64(1))).Output(3)
		_, err := tape.Step(ctx)
		r.fails(err, ops.ErrMisuse, "no output 3", "userop_test.go")
	})
}

// A user's operation between the engine's own, where a driver would fuse; and one that the engine may not drop, because it can fail, but
// may, because nobody reads it.
func TestUserOpInChain(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		calls := 0
		look := newHook(func(in tensor.Tensor) error {
			if calls++; in.At(0) != -4 {
				return fmt.Errorf("the operation before gave %v", in.At(0))
			}
			return nil
		})
		unused := newHook(func(tensor.Tensor) error { return errors.New("nobody asked for this") })
		for range 3 {
			x := tape.Input("x", f64(1, 2))
			h := ops.Apply(look, x.Add(x).Scale(-2))
			ops.Apply(unused, h)
			r.equal("value", r.step(tape, h.Neg().Shift(1).ReLU(), h), []float64{5, 9, -4, -8})
		}
		if calls != 3 {
			r.Errorf("%d calls in 3 steps", calls)
		}
	})
}

// Watch in the middle: in order, before Step returns, only if the step succeeds, and the function is not in the program's key.
func Test13Watch(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		var got []float64
		for i := range 4 {
			x := tape.Input("x", f64(float64(i), 1))
			h := x.Scale(3)
			tape.Watch(h, func(t tensor.Tensor) { got = append(got, t.At(0)) })
			tape.Watch(x, func(t tensor.Tensor) { got = append(got, -t.At(0)-100) })
			at := int64(0)
			if i == 2 {
				at = 5
			}
			y := h.Reshape(2, 1).Gather(0, tape.Input("i", i64(at))).Sum()
			if i == 1 { // an Eval watches nothing
				r.eval(tape, y)
			}
			res, err := tape.Step(ctx, y)
			if (err != nil) != (i == 2) {
				r.Fatalf("step %d: %v", i, err)
			}
			res.Release()
		}
		r.equal("watched", got, []float64{0, -100, 3, -101, 9, -103})
		if c := r.compiles(); c != 2 {
			r.Errorf("%d compiles for a step and an Eval", c)
		}
		// The watched value may be the result, the assigned value, and watched twice.
		got = nil
		w := ops.NewVariable("w", f64(2))
		next := tape.Var(w).Scale(2)
		tape.Assign(w, next)
		for range 2 {
			tape.Watch(next, func(t tensor.Tensor) { got = append(got, t.At(0)) })
		}
		r.equal("result", r.step(tape, next), []float64{4})
		r.equal("watched", append(got, r.value(w)...), []float64{4, 4, 4})
	})
}
