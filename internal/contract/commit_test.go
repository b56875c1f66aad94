package contract

import (
	"errors"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var errBoom = errors.New("boom")

// pair is a network of two matrices on two devices, and an operation on the second that fails when it is told to.
type pair struct {
	*rig
	tape  *autograd.Tape
	a, b  *ops.Variable
	armed bool
	trap  hook
}

func newPair(r *rig) *pair {
	p := &pair{rig: r, tape: r.tape()}
	p.a, p.b = ops.NewVariable("a", mat(2, 1, 2, 3, 4)), ops.NewVariable("b", mat(2, 1, 0, 0, 1))
	p.trap = newHook(func(tensor.Tensor) error {
		if p.armed {
			return errBoom
		}
		return nil
	})
	return p
}

// step is forward, backward and update, each parameter on its device.
func (p *pair) step() error {
	var h, loss ops.Value
	a, b := p.tape.Var(p.a), p.tape.Var(p.b)
	p.tape.On("d0", func() { h = p.tape.Input("x", mat(1, 1, 1)).MatMul(a) })
	p.tape.On("d1", func() { loss = ops.Apply(p.trap, h.MatMul(b)).Sum() })
	g := p.tape.Grad(loss, a, b)
	p.tape.On("d0", func() { p.tape.Assign(p.a, a.Sub(g[0].Scale(0.5))) })
	p.tape.On("d1", func() { p.tape.Assign(p.b, b.Sub(g[1].Scale(0.5))) })
	_, err := try(p.tape, loss)
	return err
}

func (p *pair) state() []float64 { return append(p.value(p.a), p.value(p.b)...) }

// good is a step that succeeds.
func (p *pair) good() {
	p.Helper()
	if err := p.step(); err != nil {
		p.Fatal(err)
	}
}

// A graph pinned across two devices, and the second fails late: all is intact on both, nothing leaks, the next step works.
func Test16LateFailure(t *testing.T) {
	onEach(t, 2, func(r *rig) {
		p := newPair(r)
		p.good()
		first := p.state()
		r.equal("a step", first, []float64{0.5, 1.5, 2.5, 3.5, -1, -2, -3, -2})
		p.good()
		before := p.state()
		live := r.live()
		for range 5 {
			p.armed = true
			err := p.step()
			r.fails(err, errBoom, "hook", "commit_test.go")
			p.armed = false
			if d := r.fake(1); d != nil {
				d.FailRun(1, errBoom)
				r.fails(p.step(), errBoom)
			}
			r.equal("both after a failure", p.state(), before)
		}
		if l := r.live(); l != live {
			r.Errorf("%d buffers, were %d", l, live)
		}
		p.good()
		if c := r.compiles(); c != 1 {
			r.Errorf("%d compiles", c)
		}
		r.set(p.a, mat(2, 1, 2, 3, 4))
		r.set(p.b, mat(2, 1, 0, 0, 1))
		p.good()
		r.equal("from the start again", p.state(), first)
	})
}

// What fails while variables are being written, after everything that can fail, is ErrStateLost for all variables of the step, until they
// are Set.
func Test16StateLost(t *testing.T) {
	onFake(t, 2, func(r *rig) {
		d := r.fake(1)
		p := newPair(r)
		p.good()
		want := p.state()
		runs := d.Runs()
		p.good()
		perStep := int(d.Runs() - runs)
		for _, fail := range []func(n int, err error){d.FailRun, d.RejectRun} {
			fail(perStep, errBoom)
			r.fails(p.step(), ops.ErrStateLost, "boom")
			r.fails(p.step(), ops.ErrStateLost)
			for _, v := range []*ops.Variable{p.a, p.b} {
				_, err := v.Value(ctx)
				r.fails(err, ops.ErrStateLost, "variable "+v.Name(), "reload the last checkpoint")
			}
			r.set(p.a, mat(2, 1, 2, 3, 4))
			r.fails(p.step(), ops.ErrStateLost, "variable b")
			r.set(p.b, mat(2, 1, 0, 0, 1))
			p.good()
			r.equal("healed", p.state(), want)
		}
	})
}

// A step that a device refuses to start, or for which it has no memory, has not happened either, whichever of its pieces or transfers it
// is; what was lent to it comes back.
func Test16Refused(t *testing.T) {
	for _, n := range []int{1, 2} {
		onFake(t, n, func(r *rig) {
			last := r.fake(n - 1)
			tape := r.tape()
			w, u := ops.NewVariable("w", f64(1, 2)), ops.NewVariable("u", f64(1, 2))
			step := func() error {
				var y ops.Value
				x := tape.Var(w).Neg()
				tape.On(last.ID(), func() {
					y = x.Neg().Add(tape.Var(u))
					tape.Assign(u, y)
				})
				tape.Assign(w, y.Scale(2))
				_, err := try(tape, y, x)
				return err
			}
			for range 4 { // as many results are in flight as there will be
				if err := step(); err != nil {
					r.Fatal(err)
				}
			}
			state := func() []float64 { return append(r.value(w), r.value(u)...) }
			before, live, runs := state(), r.live(), last.Runs()
			refused := func() {
				r.Helper()
				r.fails(step(), errBoom)
				r.equal("variables after a refusal", state(), before)
			}
			for range 4 {
				last.RejectRun(1, errBoom)
				refused()
				if n > 1 { // a transfer
					last.FailUpload(1, errBoom)
					refused()
				}
			}
			if n == 1 && last.Runs() != runs {
				r.Errorf("%d runs of refused steps", last.Runs()-runs)
			}
			for range 4 { // what was lent to a refused step is there again
				last.RejectRun(1, errBoom)
				r.fails(step(), errBoom)
				before = state()
				if err := step(); err != nil {
					r.Fatal(err)
				}
			}
			if l := r.live(); l > live {
				r.Errorf("%d buffers, were %d", l, live)
			}
			r.equal("the last step", r.value(u), []float64{before[0] + before[2], before[1] + before[3]})
		})
	}
}

// A variable whose first upload fails is there at the next try.
func TestFirstUpload(t *testing.T) {
	onFake(t, 1, func(r *rig) {
		d := r.fake(0)
		tape := r.tape()
		w, u := ops.NewVariable("w", f64(1)), ops.NewVariable("u", f64(2))
		for n := 1; n <= 2; n++ {
			d.FailUpload(n, errBoom)
			_, err := try(tape, tape.Var(w).Add(tape.Var(u)))
			r.fails(err, errBoom, "variable")
		}
		r.equal("sum", r.step(tape, tape.Var(w).Add(tape.Var(u))), []float64{3})
	})
}

// One device that fails late; an update that can fail itself; an assigned value that other devices need early; pins that move.
func Test16Commit(t *testing.T) {
	onEach(t, 2, func(r *rig) {
		tape := r.tape()
		w, u := ops.NewVariable("w", f64(1, 2)), ops.NewVariable("u", f64(1, 2))
		run := func(f func() ops.Value) error {
			_, err := try(tape, f())
			return err
		}
		double := func() ops.Value {
			tape.Assign(w, tape.Var(w).Scale(2))
			return tape.Var(w)
		}
		if err := run(double); err != nil {
			r.Fatal(err)
		}
		if d := r.fake(0); d != nil {
			d.FailRun(1, errBoom)
			r.fails(run(double), errBoom)
		}
		r.equal("one device", r.value(w), []float64{2, 4})

		fallible := func() ops.Value { // the operation refuses what is over 2, and runs on the second device
			tape.Assign(u, tape.Var(u).Scale(3))
			tape.On("d1", func() { tape.Assign(w, ops.Apply(bad{At: refError}, tape.Var(w)).Add(tape.Var(w))) })
			return tape.Var(u)
		}
		if err := run(fallible); err != nil {
			r.Fatal(err)
		}
		for range 2 {
			r.fails(run(fallible), errTooLarge, "bad", "commit_test.go")
			r.equal("an update that fails", append(r.value(w), r.value(u)...), []float64{4, 8, 3, 6})
		}

		r.set(w, f64(1, 2))
		early := func() ops.Value { // w's next value is needed by the other device's work, which can fail
			tape.Assign(w, tape.Var(w).Scale(2))
			tape.On("d1", func() { tape.Assign(u, ops.Apply(bad{At: refError}, tape.Var(w)).Add(tape.Var(u))) })
			return tape.Var(u)
		}
		if err := run(early); err != nil {
			r.Fatal(err)
		}
		for range 2 {
			r.fails(run(early), errTooLarge, "bad")
			r.equal("a value that is needed early", append(r.value(w), r.value(u)...), []float64{2, 4, 5, 10})
		}

		x := tape.Input("x", f64(1)) // one expression on two devices is two nodes
		var y, z ops.Value
		tape.On("d0", func() { y = x.Scale(3) })
		tape.On("d1", func() { z = x.Scale(3) })
		before := r.eng.Stats().Transfers
		r.equal("on both devices", r.step(tape, y, z), []float64{3, 3})
		if r.eng.Stats().Transfers != before {
			r.Error("nodes of two devices are merged")
		}
		for range 3 { // the same tape, another pin: another trace
			for i := range r.devs {
				d := r.fake(i)
				if d == nil {
					continue
				}
				before := d.Runs()
				x := tape.Input("x", f64(1))
				tape.On(d.ID(), func() { x = x.Neg() })
				r.step(tape, x)
				if d.Runs() != before+1 {
					r.Errorf("the step did not run on %s", d.ID())
				}
			}
		}
	})
}

// A value that crosses devices is transferred once, however many read it, also there and back.
func TestTransfers(t *testing.T) {
	onEach(t, 3, func(r *rig) {
		tape := r.tape()
		for i := range 3 {
			x := tape.Input("x", f64(1, 2))
			h := x.Scale(2)
			var outs []ops.Value
			for _, d := range []string{"d1", "d2"} {
				tape.On(d, func() { outs = append(outs, h.Neg(), h.Mul(h), h.Add(x)) })
			}
			sum := outs[0]
			for _, v := range outs[1:] {
				sum = sum.Add(v)
			}
			r.equal("sum", r.step(tape, sum), []float64{2 * (-2 + 4 + 3), 2 * (-4 + 16 + 6)})
			if n := r.eng.Stats().Transfers; n != (i+1)*8 { // h to two devices, three values back from each
				r.Errorf("%d transfers in %d steps, want 8 each", n, i+1)
			}
		}
		if c := r.compiles(); c != 1 {
			r.Errorf("%d compiles", c)
		}
	})
}

// A failed step is one that did not happen; steps already in the queue behind it happen, on the values from before it.
func TestFailedStepInQueue(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		w := ops.NewVariable("w", mat(2, 1, 2))
		if d := r.fake(0); d != nil {
			d.Pause()
		}
		var res []autograd.Result
		for i, at := range []int64{7, 0} {
			p := tape.Var(w)
			y := ops.Embedding(p, tape.Input("at", i64(at))).Sum()
			tape.Assign(w, p.Add(tape.Scalar("add", tensor.F64, []float64{10, 100}[i])))
			a, err := tape.Step(ctx, y)
			if err != nil {
				r.Fatal(err)
			}
			res = append(res, a)
		}
		if d := r.fake(0); d != nil {
			d.Resume()
		}
		_, err := res[0].Float(ctx, 0)
		r.fails(err, nil, "step 0", "index 7")
		y, err := res[1].Float(ctx, 0)
		if err != nil {
			r.Fatal(err)
		}
		r.equal("the step behind it", append(r.value(w), y), []float64{101, 102, 1})
	})
}
