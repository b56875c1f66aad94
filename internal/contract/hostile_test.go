package contract

import (
	"fmt"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// calm turns a panic into a failure.
func (r *rig) calm(what string, f func()) {
	r.Helper()
	defer func() {
		r.Helper()
		if p := recover(); p != nil {
			r.Errorf("%s: panic: %v", what, p)
		}
	}()
	f()
}

// TestHostileArguments: what is given wrongly to a tape is an error in words, at the latest of the step; the next step works.
func TestHostileArguments(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		for what, f := range map[string]func(t *autograd.Tape, x ops.Value) ops.Value{
			"a scalar of no type":      func(t *autograd.Tape, x ops.Value) ops.Value { return t.Scalar("s", tensor.None, 1) },
			"a scalar of an odd type":  func(t *autograd.Tape, x ops.Value) ops.Value { return t.Scalar("s", 77, 1) },
			"a batch axis beyond":      func(t *autograd.Tape, x ops.Value) ops.Value { return t.Input("b", f64(1), autograd.BatchAxis(256)) },
			"a negative batch axis":    func(t *autograd.Tape, x ops.Value) ops.Value { return t.Input("b", f64(1), autograd.BatchAxis(-2)) },
			"no tensor":                func(t *autograd.Tape, x ops.Value) ops.Value { return t.Input("b", tensor.Tensor{}) },
			"no variable":              func(t *autograd.Tape, x ops.Value) ops.Value { return t.Var(nil) },
			"no variable to assign":    func(t *autograd.Tape, x ops.Value) ops.Value { t.Assign(nil, x); return x },
			"a scope of nothing":       func(t *autograd.Tape, x ops.Value) ops.Value { t.Scope("s", nil); return x },
			"a pin of nothing":         func(t *autograd.Tape, x ops.Value) ops.Value { t.On("d0", nil); return x },
			"a segment of nothing":     func(t *autograd.Tape, x ops.Value) ops.Value { return t.Checkpoint(nil) },
			"watching for nobody":      func(t *autograd.Tape, x ops.Value) ops.Value { t.Watch(x, nil); return x },
			"watching nothing":         func(t *autograd.Tape, x ops.Value) ops.Value { t.Watch(ops.Value{}, func(tensor.Tensor) {}); return x },
			"a gradient of nothing":    func(t *autograd.Tape, x ops.Value) ops.Value { return t.Grad(ops.Value{}, x)[0] },
			"a gradient by nothing":    func(t *autograd.Tape, x ops.Value) ops.Value { return t.Grad(x.Sum(), ops.Value{})[0] },
			"another output":           func(t *autograd.Tape, x ops.Value) ops.Value { return x.Output(math.MinInt) },
			"an axis far away":         func(t *autograd.Tape, x ops.Value) ops.Value { return x.Sum(math.MaxInt) },
			"an operation that is nil": func(t *autograd.Tape, x ops.Value) ops.Value { return ops.Apply[ops.Op](nil, x) },
			"a random value of no shape": func(t *autograd.Tape, x ops.Value) ops.Value {
				return ops.Normal(t.Recorder(), tensor.SpecOf(tensor.F32, -1), 0, 1)
			},
			"a device that is not there": func(t *autograd.Tape, x ops.Value) (y ops.Value) { t.On("tpu:9", func() { y = x.Neg() }); return y },
		} {
			tape := r.tape()
			r.calm(what, func() {
				if _, err := try(tape, f(tape, tape.Input("x", f64(1, 2)))); err == nil {
					r.Errorf("%s: no error", what)
				}
			})
			tape.Discard()
			r.equal(what+", afterwards", r.step(tape, tape.Input("x", f64(1, 2)).Neg()), []float64{-1, -2})
		}
	})
}

// TestHostileResults: a result that there is not is an error, whatever its number.
func TestHostileResults(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		res, err := tape.Step(ctx, tape.Input("x", f64(3)))
		if err != nil {
			r.Fatal(err)
		}
		for _, i := range []int{-1, 1, math.MinInt, math.MaxInt} {
			r.calm(fmt.Sprint("result ", i), func() {
				_, err := res.Tensor(ctx, i)
				r.fails(err, ops.ErrMisuse, "of 1")
				_, err = res.Float(ctx, i)
				r.fails(err, ops.ErrMisuse, "of 1")
			})
		}
		res.Release()
		res.Release()
		_, err = res.Float(ctx, 0)
		r.fails(err, ops.ErrMisuse, "after Release")
	})
}

// TestAnyStepNumber: a tape goes on at any number, also one that no checkpoint has.
func TestAnyStepNumber(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		w := ops.NewVariable("w", f64(0))
		for _, n := range []int64{0, 1, -1, -2, math.MinInt64, 5, math.MaxInt64, 3, 3, 3} {
			r.calm(fmt.Sprint("step ", n), func() {
				tape.SetStep(n)
				tape.Assign(w, tape.Var(w).Shift(1))
				res, err := tape.Step(ctx)
				if err != nil {
					r.Error(err)
				}
				res.Release()
			})
		}
		if err := tape.Wait(ctx); err != nil {
			r.Fatal(err)
		}
		r.equal("w", r.value(w), []float64{10})
	})
}

// TestStepWithinScope: a loop of steps within a scope records every step in that scope, and on that device.
func TestStepWithinScope(t *testing.T) {
	onEach(t, 2, func(r *rig) {
		tape := r.tape()
		x := formula(tensor.F64, 1, 50)
		var got [][]float64
		tape.Scope("outer", func() {
			tape.On("d1", func() {
				for range 3 {
					tape.SetStep(0) // the same random numbers, if the scope is the same
					got = append(got, r.step(tape, ops.Dropout(tape.Input("x", x), 0.5)))
				}
			})
		})
		r.equal("the second step", got[1], got[0])
		r.equal("the third step", got[2], got[0])
		if n := r.compiles(); n != 1 {
			r.Errorf("%d compiles: the pin was lost", n)
		}
	})
}

// TestHostileWatch: a watch function may not step the tape whose step it watches; what else it does to it harms nothing.
func TestHostileWatch(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape, w := r.tape(), ops.NewVariable("w", f64(0))
		seen := 0
		record := func(f func(tensor.Tensor)) {
			y := tape.Var(w).Shift(1)
			tape.Assign(w, y)
			tape.Watch(y, f)
			tape.Watch(y, func(tensor.Tensor) { seen++ })
		}
		record(func(tensor.Tensor) {
			_, err := tape.Step(ctx)
			r.fails(err, ops.ErrMisuse, "watch")
		})
		r.calm("a step within a step", func() { r.step(tape) })
		record(func(tensor.Tensor) { tape.Discard() })
		r.calm("a discard within a step", func() { r.step(tape) })
		record(func(tensor.Tensor) { panic("the user's") })
		func() {
			defer func() { recover() }()
			r.step(tape)
		}()
		record(func(tensor.Tensor) {})
		r.step(tape)
		r.equal("w", r.value(w), []float64{4})
		if seen != 3 {
			r.Errorf("%d watches were told, want 3", seen)
		}
	})
}

// TestHostileEngine: an engine of nothing, and of nothing to run, says so.
func TestHostileEngine(t *testing.T) {
	r := newRig(t, kinds[0], 1)
	r.calm("no device", func() {
		for _, devs := range [][]accel.Device{nil, {nil}, {acceltest.Reference("a"), nil}} {
			if _, err := sched.New(devs...); err == nil {
				t.Errorf("an engine of %v", devs)
			}
		}
	})
	r.calm("no graph", func() {
		if r.eng.Run(ctx, nil, nil, tensor.Tensor{}, nil) == nil {
			t.Error("no error")
		}
	})
	r.calm("too few feeds", func() {
		tape := r.tape()
		g, err := tape.Recorder().Graph(true, tape.Input("x", f64(1)).Neg())
		if err != nil {
			t.Fatal(err)
		}
		if r.eng.Run(ctx, g, nil, tensor.Tensor{}, &ops.Results{}) == nil {
			t.Error("no error")
		}
	})
	r.calm("the zero engine", func() {
		var zero sched.Engine
		tape := autograd.New(&zero)
		if _, err := try(tape, tape.Input("x", f64(1))); err == nil {
			t.Error("no error")
		}
		_, _, _ = zero.Stats(), zero.Plans(), zero.Devices()
		if err := zero.Close(); err != nil {
			t.Error(err)
		}
	})
	r.calm("after Close", func() {
		tape := r.tape()
		first := r.step(tape, tape.Input("x", f64(1)).Neg())
		if err := r.eng.Close(); err != nil {
			t.Error(err)
		}
		r.equal("after Close", r.step(tape, tape.Input("x", f64(1)).Neg()), first)
	})
}

// TestVariableMovesWhileOthersRead: a variable moves to where its next value is made in the very step in which another device reads it, early
// and for an assignment of its own.
func TestVariableMovesWhileOthersRead(t *testing.T) {
	onEach(t, 2, func(r *rig) {
		tape := r.tape()
		v, w := ops.NewVariable("v", f64(1)), ops.NewVariable("w", f64(10))
		on := func(device string, v *ops.Variable, next func() ops.Value) {
			tape.On(device, func() { tape.Assign(v, next()) })
		}
		for i := range 4 { // w goes to and fro
			reads, moves := "d0", "d1"
			if i%2 == 1 {
				reads, moves = moves, reads
			}
			var early ops.Value
			x, y := tape.Var(v), tape.Var(w)
			tape.On(reads, func() { early = y.Shift(1) })
			on(reads, v, func() ops.Value { return x.Add(y) })
			on(moves, w, func() ops.Value { return y.Scale(2) })
			r.equal("what is read early", r.step(tape, early), []float64{10*float64(int(1)<<i) + 1})
		}
		r.equal("v", r.value(v), []float64{1 + 10 + 20 + 40 + 80})
		r.equal("w", r.value(w), []float64{160})
	})
}
