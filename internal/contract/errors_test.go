package contract

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// An index out of range at step k: typed, with index and limit, placed at the line of this recording and not of the one that was
// compiled; variables are intact.
func Test11Index(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		w := ops.NewVariable("table", mat(3, 1, 2, 3, 4, 5, 6))
		record := func(tape *autograd.Tape, at ...int64) ops.Value {
			p := tape.Var(w)
			loss := ops.Embedding(p, tape.Input("at", i64(at...))).Sum()
			tape.Assign(w, p.Sub(tape.Grad(loss, p)[0]))
			return loss
		}
		tape := r.tape()
		r.step(tape, record(tape, 0, 2))
		r.equal("one step", r.value(w), []float64{0, 1, 3, 4, 4, 5})
		p := tape.Var(w)
		var loss ops.Value
		tape.Scope("model", func() {
			tape.Scope("embed", func() { loss = ops.Embedding(p, tape.Input("at", i64(0, 9))).Sum() })
		})
		_, _, line, _ := runtime.Caller(0)
		tape.Assign(w, p.Sub(tape.Grad(loss, p)[0]))
		_, err := try(tape, loss)
		var ie *ops.IndexError
		if !errors.As(err, &ie) || *ie != (ops.IndexError{Index: 9, Limit: 3}) {
			r.Fatalf("%v", err)
		}
		r.fails(err, nil, "step 1", "gather", "model/embed", fmt.Sprint("errors_test.go:", line-2))
		if c := r.compiles(); c != 1 {
			r.Errorf("%d compiles", c)
		}
		r.equal("intact", r.value(w), []float64{0, 1, 3, 4, 4, 5})
		r.step(tape, record(tape, 1, 1))
		r.equal("the next step works", r.value(w), []float64{0, 1, 1, 2, 4, 5})

		seen := 0 // nobody looks: the error comes at the latest RunAhead steps later, and once
		for i := range 6 {
			at := int64(0)
			if i == 1 {
				at = -1
			}
			if _, err := tape.Step(ctx, record(tape, at, at)); err != nil {
				r.fails(err, nil, "step 4", "index -1")
				seen++
				if i > 1+autograd.RunAhead {
					r.Errorf("told at step %d", i)
				}
			}
		}
		if err := tape.Wait(ctx); err != nil {
			r.fails(err, nil, "step 4", "index -1")
			seen++
		}
		if seen != 1 {
			r.Errorf("told %d times", seen)
		}
	})
}

// Misuse is worded and names the line, and the tape works afterwards.
func Test15Misuse(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape, other := r.tape(), r.tape()
		w := ops.NewVariable("w", f64(1, 2))
		x := tape.Input("x", f64(1, 2))
		keep := x.Exp()
		r.step(tape, keep)
		check := func(words string, f func() ops.Value) {
			r.Helper()
			_, err := tape.Step(ctx, f())
			r.fails(err, ops.ErrMisuse, words, "errors_test.go")
			r.equal("the next step", r.step(tape, tape.Input("x", f64(1, 2)).Neg()), []float64{-1, -2})
		}
		check("stale", func() ops.Value { return tape.Input("x", f64(1, 2)).Add(keep) })
		check("stale", func() ops.Value { return keep })
		check("another tape", func() ops.Value { return tape.Input("x", f64(1, 2)).Add(other.Var(w)) })
		check("another tape", func() ops.Value { return other.Var(w) })
		check("zero Value", func() ops.Value { return tape.Input("x", f64(1, 2)).Add(ops.Value{}) })
		check("zero Value", func() ops.Value { return ops.Value{}.Add(ops.Value{}) })
		check("forgotten Step", func() ops.Value {
			tape.Input("x", f64(1, 2))
			return tape.Input("x", f64(1, 2))
		})
		check("no tensor", func() ops.Value { return tape.Input("x", tensor.Tensor{}) })
		check("stale", func() ops.Value { tape.Assign(w, keep); return tape.Var(w) })
		check("stale", func() ops.Value { return tape.Grad(keep, tape.Var(w))[0] })
		check("stale", func() ops.Value { return tape.Grad(tape.Var(w).Sum(), keep)[0] })
		tape.VJP(tape.Var(w), ops.Value{}, tape.Var(w))
		_, err := tape.Step(ctx)
		r.fails(err, ops.ErrMisuse, "VJP needs a weight")
		twin, other := r.tape(), r.tape() // recordings of the same number
		twin.Var(w).Add(other.Var(w))
		_, err = twin.Step(ctx)
		r.fails(err, ops.ErrMisuse, "another tape")
		r.equal("the variable", r.value(w), []float64{1, 2})

		// A Value is good after Eval; after Discard it is not.
		y := tape.Input("x", f64(1, 2)).Neg()
		r.eval(tape, y)
		r.equal("after Eval", r.step(tape, y.Neg()), []float64{1, 2})
		y = tape.Input("x", f64(1, 2))
		tape.Discard()
		check("stale", func() ops.Value { return y })
		_, err = autograd.Result{}.Tensor(ctx, 0)
		r.fails(err, nil, "zero Result")
		res, err := tape.Step(ctx, tape.Var(w))
		if err != nil {
			r.Fatal(err)
		}
		_, err = res.Tensor(ctx, 1)
		r.fails(err, ops.ErrMisuse, "result 1 of 1")
		_, err = res.Float(ctx, 0)
		r.fails(err, ops.ErrMisuse, "not one number")
		_, err = tape.Step(ctx, tape.Var(nil))
		r.fails(err, ops.ErrMisuse, "the variable is nil")
		idle := autograd.New(nil)
		_, err = idle.Step(ctx, idle.Input("x", f64(1)))
		r.fails(err, ops.ErrMisuse, "no engine to run on")
		_, err = sched.New(append(r.devs, nil)...)
		r.fails(err, nil, "sched: device 1 is nil")
	})
}

// Integers and a path without gradient are errors by name; a variable that the loss does not need has gradient zero.
func Test17NotDifferentiable(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		table, x, unused := ops.NewVariable("table", mat(2, 1, 2)), ops.NewVariable("x", mat(2, 1, 2, 4, 3)), ops.NewVariable("unused", f64(1))
		choose := func() ops.Value { return ops.Embedding(tape.Var(table), tape.Var(x).ArgMax(1)).Sum() }
		r.equal("gradient", r.step(tape, tape.Grad(choose(), tape.Var(table), tape.Var(unused))...), []float64{1, 1, 0})
		refuse := func(cause error, words ...string) {
			r.Helper()
			_, err := tape.Step(ctx)
			r.fails(err, cause, words...)
		}
		tape.Grad(choose(), tape.Var(x))
		refuse(ops.ErrNotDifferentiable, "variable x", "argmax", "errors_test.go")
		tape.Grad(tape.Var(x).Sum(), tape.Var(x).ArgMax(1))
		refuse(ops.ErrNotDifferentiable, "argmax", "i64")
		tape.Grad(tape.Var(x).Cast(tensor.I32).Sum(), tape.Var(x))
		refuse(ops.ErrNotDifferentiable, "i32")
		tape.Grad(tape.Var(x).Cast(tensor.I32).Cast(tensor.F64).Sum(), tape.Var(x))
		refuse(ops.ErrNotDifferentiable, "variable x", "cast", "errors_test.go")
		tape.Grad(tape.Var(x), tape.Var(x))
		refuse(nil, "must be one number")
		tape.VJP(tape.Var(x), tape.Var(x).Sum(), tape.Var(x))
		refuse(nil, "weight")
		g := tape.Grad(tape.Var(x).StopGradient().Mul(tape.Var(x)).Sum(), tape.Var(x))[0]
		r.equal("a stopped gradient", r.step(tape, g), []float64{1, 2, 4, 3})
	})
}

// After the first error accessors are total, and it is the first error that is told.
func Test18Total(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		var x, y ops.Value
		tape.Scope("model", func() {
			tape.Scope("fc1", func() { x = tape.Input("x", mat(2, 1, 2, 3, 4)).MatMul(tape.Input("w", mat(3, 1, 2, 3))) })
			y = x.Reshape(x.Dim(0), 12/x.Dim(1)).Split(0, 4).Output(3).Mean().Softmax(-1).Transpose().Slice(0, 3, 1).Flatten().MatMul(x)
		})
		_ = make([]int, x.Dim(5), max(y.Dim(-1), 1))
		y = ops.Concat(1, x, y, ops.Conv2D(x, y, ops.Conv{})).ArgMax(7).Cast(tensor.F64)
		g := tape.Grad(y, x, y)
		tape.VJP(y, ops.Value{}, x) // another error
		_ = g[1].Spec().Shape.Size() / g[0].Dim(2)
		for range 2 {
			_, err := tape.Eval(ctx, y)
			r.fails(err, nil, "matmul", "inner dimensions differ: 2 (axis 1 of lhs [2 2]) vs 3 (axis 0 of rhs [3 1])", "model/fc1", "errors_test.go")
		}
		_, err := tape.Step(ctx, g...)
		r.fails(err, nil, "inner dimensions differ")
		var se *tensor.ShapeError
		if !errors.As(err, &se) {
			r.Errorf("%v is no ShapeError", err)
		}
	})
}

// A refused operation is named with its place, its device and the driver's reason; where the device can run a reference it does, unless
// the engine forbids it.
func TestRefused(t *testing.T) {
	for _, hostile := range []bool{false, true} {
		open := acceltest.Reference
		if hostile {
			open = acceltest.Hostile
		}
		d := open("d0", acceltest.Refuse("exp", "hook"))
		eng, err := sched.New(d)
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{TB: t, devs: []accel.Device{d}, eng: eng}
		tape := r.tape()
		look := newHook(func(tensor.Tensor) error { return nil })
		record := func() (y ops.Value) {
			tape.Scope("head", func() { y = ops.Apply(look, tape.Input("x", f64(0))).Exp() })
			return y
		}
		eng.NoFallback = true
		for range 2 {
			_, err := try(tape, record())
			r.fails(err, accel.ErrUnsupported, "exp", "head", "d0", "was told to refuse it", "errors_test.go")
		}
		eng.NoFallback = false
		r.equal("by reference", r.step(tape, record()), []float64{1})
		if n := eng.Stats().Fallbacks; n < 2 {
			t.Errorf("%d fallbacks, want the user's and exp", n)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A device that is not there is named; so is an engine without devices, or with two of one name.
func TestDevices(t *testing.T) {
	r := newRig(t, kinds[0], 2)
	tape := r.tape()
	tape.On("d9", func() { tape.Watch(tape.Input("x", f64(1)).Neg(), func(tensor.Tensor) {}) })
	_, err := tape.Step(ctx)
	r.fails(err, nil, `no device "d9"`, "errors_test.go", "d0", "d1")
	_, err = sched.New()
	r.fails(err, nil, "needs a device")
	_, err = sched.New(r.devs[0], r.devs[0])
	r.fails(err, nil, "two devices", "d0")
}
