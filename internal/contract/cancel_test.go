package contract

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// until lets other goroutines work until cond holds.
func until(cond func() bool) {
	for !cond() {
		time.Sleep(100 * time.Microsecond)
	}
}

// settled waits for goroutines that have ended, and reports how many are left.
func settled(want int) int {
	for range 2000 {
		if runtime.NumGoroutine() <= want {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return runtime.NumGoroutine()
}

// Cancelling a context while a step runs leaves no goroutine and no half-updated variable, wherever in the step it is: an operation of
// the test cancels, on each device in turn.
func Test20Cancel(t *testing.T) {
	onEach(t, 1, func(r *rig) { newRig(r.TB, r.kind, 2).eng.Close() }) // what a process starts once
	before := runtime.NumGoroutine()
	t.Run("steps", func(t *testing.T) {
		for _, n := range []int{1, 2} {
			onEach(t, n, func(r *rig) {
				tape := r.tape()
				a, b := ops.NewVariable("a", f64(0)), ops.NewVariable("b", f64(0))
				var cancel context.CancelFunc
				armed := -1
				var stop [2]hook
				for i := range stop {
					stop[i] = newHook(func(tensor.Tensor) error {
						if armed == i {
							cancel()
						}
						return nil
					})
				}
				record := func() ops.Value {
					one := tape.Input("one", f64(1))
					h := one
					for i, d := range r.devs {
						tape.On(d.ID(), func() { h = ops.Apply(stop[i], h.Neg()).Neg() })
					}
					tape.Assign(a, tape.Var(a).Add(one))
					tape.On(r.devs[n-1].ID(), func() { tape.Assign(b, tape.Var(b).Add(h)) })
					return h
				}
				record()
				r.step(tape) // the variables are at home
				for i := range 3 * n {
					var c context.Context
					c, cancel = context.WithCancel(ctx)
					armed = i % n
					if i >= 2*n { // before it starts
						cancel()
					}
					h := record()
					if i < n { // an Eval that is abandoned must not disturb the step behind it
						_, _ = tape.Eval(c, h)
						c, cancel = context.WithCancel(ctx)
					}
					res, err := tape.Step(c)
					if err == nil {
						err = res.Wait(c)
					}
					if err != nil {
						r.fails(err, context.Canceled)
					}
					cancel()
					x, y := r.value(a), r.value(b)
					r.equal("both variables", x, y)
				}
				armed = -1
				if err := tape.Wait(ctx); err != nil && !errors.Is(err, context.Canceled) {
					r.Fatal(err)
				}
				want := r.value(a)[0] + 1
				record()
				r.step(tape)
				r.equal("the next step", append(r.value(a), r.value(b)...), []float64{want, want})
			})
		}
	})
	if n := settled(before); n > before {
		t.Errorf("%d goroutines, were %d", n, before)
	}
}

// What an abandoned run still owns is not used again, so that its end is never taken for another's: the wait is cancelled while a device
// stands still; the run behind it fails, and it is that one which is told.
func Test20Abandoned(t *testing.T) {
	for name, c := range map[string]struct {
		devs    int
		depends bool // the variable, on what the last device computes
	}{"one device": {1, true}, "two devices": {2, true}, "two devices, apart": {2, false}} {
		t.Run(name, func(t *testing.T) {
			onHostile(t, c.devs, func(r *rig) {
				tape := r.tape()
				w := ops.NewVariable("w", f64(1))
				last := r.fake(c.devs - 1)
				record := func() (h ops.Value) {
					one := tape.Input("one", f64(1))
					tape.On(last.ID(), func() { h = one.Scale(3) })
					by := h
					if !c.depends {
						by = one.Scale(3)
					}
					tape.Assign(w, tape.Var(w).Add(by))
					return h
				}
				r.step(tape, record())
				want := r.value(w)
				h := record()
				dead, cancel := context.WithCancel(ctx)
				runs := last.Runs()
				last.Pause()
				go func() {
					until(func() bool { return last.Runs() > runs })
					cancel()
				}()
				var err error
				if c.devs == 1 {
					_, err = tape.Eval(dead, h)
					tape.Discard()
				} else {
					_, err = tape.Step(dead, h)
				}
				r.fails(err, context.Canceled)
				last.FailRun(1, errBoom)
				var vs []ops.Value
				if h := record(); c.devs == 2 {
					vs = append(vs, h)
				}
				last.Advance(1) // the abandoned run ends well
				go func() {
					until(func() bool { return last.Runs() > runs+1 })
					last.Resume()
				}()
				_, err = try(tape, vs...)
				r.fails(err, errBoom)
				if errors.Is(err, ops.ErrStateLost) {
					r.Error(err)
				}
				r.equal("intact", r.value(w), want)
				r.step(tape, record())
				r.equal("the next step", r.value(w), []float64{want[0] + 3})
			})
		})
	}
}

// Runs stay asynchronous: Step returns while the device stands still, but never runs ahead further than RunAhead.
func TestRunAhead(t *testing.T) {
	onHostile(t, 1, func(r *rig) {
		tape := r.tape()
		w := ops.NewVariable("w", f64(1))
		step := func(c context.Context) error {
			tape.Assign(w, tape.Var(w).Scale(2))
			_, err := tape.Step(c)
			return err
		}
		if err := step(ctx); err != nil { // compiles
			r.Fatal(err)
		}
		if err := tape.Wait(ctx); err != nil {
			r.Fatal(err)
		}
		d := r.fake(0)
		d.Pause()
		for i := range autograd.RunAhead {
			if err := step(ctx); err != nil {
				r.Fatalf("step %d ahead: %v", i, err)
			}
		}
		for range 3 {
			dead, cancel := context.WithCancel(ctx)
			cancel()
			r.fails(step(dead), context.Canceled)
		}
		if n := tape.StepCount(); n != 1+autograd.RunAhead {
			r.Errorf("step %d, the device stands still", n)
		}
		d.Advance(1)
		if err := step(ctx); err != nil {
			r.Fatal(err)
		}
		d.Resume()
		r.equal("doubled", r.value(w), []float64{16})
	})
}

// Waiting for an engine or a variable that a long step holds obeys the context.
func TestBusy(t *testing.T) {
	onHostile(t, 2, func(r *rig) {
		w := ops.NewVariable("w", f64(1))
		tape := r.tape()
		record := func(t *autograd.Tape) {
			x := t.Var(w)
			t.On("d1", func() { x = x.Neg() })
			t.Assign(w, x.Scale(-2))
		}
		d := r.fake(1)
		d.Pause()
		var wg sync.WaitGroup
		wg.Go(func() {
			record(tape)
			if _, err := try(tape); err != nil {
				r.Error(err)
			}
		})
		until(func() bool { return d.Runs() == 1 })
		for _, e := range []*autograd.Tape{autograd.New(r.eng), autograd.New(r.engine())} {
			dead, cancel := context.WithTimeout(ctx, time.Millisecond)
			record(e)
			_, err := e.Step(dead)
			r.fails(err, context.DeadlineExceeded)
			_, err = w.Value(dead)
			r.fails(err, context.DeadlineExceeded)
			r.fails(w.Set(dead, f64(5)), context.DeadlineExceeded)
			cancel()
		}
		d.Resume()
		wg.Wait()
		r.equal("the long step", r.value(w), []float64{2})
	})
}

// Only the program's own references keep memory alive: results that nobody released, and a model that was dropped with its tape.
func TestCleanup(t *testing.T) {
	for _, k := range kinds[:2] {
		r := newRig(t, k, 1)
		d := r.fake(0)
		keep := ops.NewVariable("keep", f64(1))
		func() {
			tape := r.tape()
			n := newNet(tensor.F64, 4, 8, 3)
			for range 20 {
				loss := n.train(tape, formula(tensor.F64, 3, 6, 4), classes(6), 1e-3)
				tape.Assign(keep, tape.Var(keep).Neg())
				if _, err := tape.Step(ctx, loss, tape.Var(keep)); err != nil {
					t.Fatal(err)
				}
			}
			if err := tape.Wait(ctx); err != nil {
				t.Fatal(err)
			}
		}()
		for range 500 {
			runtime.GC()
			if d.Live() == 1 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if n := d.Live(); n != 1 {
			t.Errorf("%s: %d buffers are live, want the one that is kept", d.Info().Name, n)
		}
		r.equal("keep", r.value(keep), []float64{1})
	}
}

// A tape and an engine let go of a step's inputs when the step is over.
func TestInputsAreLetGo(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		step := func() weak.Pointer[float64] {
			data := make([]float64, 1000)
			x := tape.Input("x", tensor.Must(tensor.From(data)))
			r.step(tape, x.Sum())
			return weak.Make(&data[0])
		}
		step()
		data := step()
		runtime.GC()
		if data.Value() != nil {
			r.Error("an input is kept alive after its step")
		}
		runtime.KeepAlive(tape)
	})
}
