package contract

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// Two tapes share variables; an Eval between Steps changes nothing; a step sees what another tape has assigned meanwhile.
func Test09TwoTapes(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		w := ops.NewVariable("w", f64(1, 2))
		a, b := r.tape(), r.tape()
		double := func(t *autograd.Tape) { t.Assign(w, t.Var(w).Scale(2)) }
		double(a)
		mid := a.Var(w) // a's recording has the new value already
		double(b)
		r.step(b)
		drop := ops.Dropout(mid, 0.5)
		first := r.eval(a, mid, drop)
		r.equal("what a will assign", first[:2], []float64{4, 8})
		r.equal("the variable after an Eval", r.value(w), []float64{2, 4})
		r.equal("Eval again", r.eval(a, mid, drop), first)
		r.equal("the step after it", r.step(a, mid, drop), first)
		r.equal("after both", r.value(w), []float64{4, 8})
	})
}

// A generator and a critic in turn, each on its tape, as a GAN trains them; against one tape that does both.
func Test09Adversarial(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		run := func(critic, generator *autograd.Tape) []float64 {
			g, d := ops.NewVariable("g", formula(tensor.F64, 1, 3, 3)), ops.NewVariable("d", formula(tensor.F64, 2, 3, 1))
			real, noise := formula(tensor.F64, 3, 5, 3), formula(tensor.F64, 4, 5, 3)
			score := func(t *autograd.Tape, x ops.Value) ops.Value { return x.MatMul(t.Var(d)).Tanh().Mean() }
			fake := func(t *autograd.Tape) ops.Value { return t.Input("noise", noise).MatMul(t.Var(g)).Tanh() }
			for range 5 {
				loss := score(critic, fake(critic)).Sub(score(critic, critic.Input("real", real)))
				critic.Assign(d, critic.Var(d).Sub(critic.Grad(loss, critic.Var(d))[0].Scale(0.1)))
				r.step(critic, loss)
				loss = score(generator, fake(generator)).Neg()
				generator.Assign(g, generator.Var(g).Sub(generator.Grad(loss, generator.Var(g))[0].Scale(0.1)))
				r.step(generator, loss)
			}
			return append(r.value(g), r.value(d)...)
		}
		one := r.tape()
		want := run(one, one)
		compiles := r.compiles()
		r.equal("both networks", run(r.tape(), r.tape()), want)
		if c := r.compiles(); c != compiles || c != 2 {
			r.Errorf("%d compiles, then %d", compiles, c)
		}
	})
}

// Two engines share variables: what one assigns moves to it, and steps from several goroutines count once each.
func Test09TwoEngines(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		other := newRig(r.TB, kinds[1], 1)
		w := ops.NewVariable("w", f64(1, 2))
		a, b := r.tape(), other.tape()
		for _, t := range []*autograd.Tape{a, b, b, a} {
			t.Assign(w, t.Var(w).Scale(2))
			r.step(t)
		}
		r.equal("doubled by two engines in turn", r.value(w), []float64{16, 32})
		if m, n := r.eng.Stats().Moves, other.eng.Stats().Moves; m != 1 || n != 1 {
			r.Errorf("%d and %d moves", m, n)
		}
		if m, n := r.live(), other.live(); m > 1 || n != 0 {
			r.Errorf("a variable that lives on the first device has %d and %d buffers", m, n)
		}
		u, v := ops.NewVariable("u", f64(0)), ops.NewVariable("v", f64(0))
		var wg sync.WaitGroup
		for i, e := range []*sched.Engine{r.eng, other.eng, r.eng} {
			wg.Go(func() {
				tape := autograd.New(e)
				for range 50 {
					one := tape.Scalar("one", tensor.F64, 1)
					list := []*ops.Variable{u, v}
					if i == 1 {
						list = []*ops.Variable{v, u}
					}
					for _, x := range list {
						tape.Assign(x, tape.Var(x).Add(one))
					}
					res, err := tape.Step(ctx)
					if err != nil {
						r.Error(err)
						return
					}
					res.Release()
				}
				if err := tape.Wait(ctx); err != nil {
					r.Error(err)
				}
			})
		}
		wg.Wait()
		r.equal("counted", append(r.value(u), r.value(v)...), []float64{150, 150})
	})
}

// Engines lock variables in one order. The test holds the contested lock until one step waits for it and another had time to take the
// other lock first, so that a wrong order meets itself.
func Test09LockOrder(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		u, v := ops.NewVariable("u", f64(1)), ops.NewVariable("v", f64(1))
		limit, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		for _, list := range [][]*ops.Variable{{u, v}, {v, u}} {
			held := list[0]
			if err := held.Lock(ctx); err != nil {
				r.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 2 {
				tape := autograd.New(r.engine())
				for _, x := range list {
					tape.Assign(x, tape.Var(x).Neg())
				}
				wg.Go(func() {
					if _, err := tape.Step(limit); err != nil {
						r.Error(err)
					} else if err := tape.Wait(limit); err != nil {
						r.Error(err)
					}
				})
				slices.Reverse(list)
				time.Sleep(5 * time.Millisecond)
			}
			held.Unlock()
			wg.Wait()
		}
		r.equal("negated four times", append(r.value(u), r.value(v)...), []float64{1, 1})
	})
}

// A frozen variable that two engines share stays at home and is copied once for each version.
func TestFrozenShared(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		other := newRig(r.TB, kinds[1], 1)
		w := ops.NewVariable("w", f64(1, 2))
		a, b := r.tape(), other.tape()
		for range 3 {
			r.equal("one", r.step(a, a.Var(w).Neg()), []float64{-1, -2})
			r.equal("other", other.step(b, b.Var(w).Neg()), []float64{-1, -2})
		}
		if n := other.eng.Stats().Transfers; n != 1 {
			r.Errorf("%d transfers", n)
		}
		if n := r.eng.Stats().Moves + other.eng.Stats().Moves; n != 0 {
			r.Errorf("%d moves", n)
		}
		for i := range 3 { // the first moves it, the others assign it beside an older copy
			b.Assign(w, b.Var(w).Scale(2))
			other.step(b)
			k := float64(int(2) << i)
			r.equal("after an assignment", r.step(a, a.Var(w).Neg()), []float64{-k, -2 * k})
		}
	})
}

// Within an engine a frozen variable that is used away from home is transferred once, an assigned one once in each step.
func TestReplicas(t *testing.T) {
	onEach(t, 2, func(r *rig) {
		tape := r.tape()
		frozen, w := ops.NewVariable("frozen", f64(1, 2)), ops.NewVariable("w", f64(1, 1))
		record := func() (y, z ops.Value) {
			a, b := tape.Var(frozen), tape.Var(w)
			y = a.Add(b)
			tape.On("d1", func() { z = a.Mul(b).Add(a).Sub(a) })
			tape.Assign(w, b.Add(b))
			return y, z
		}
		var live int64
		for i := range 5 {
			y, z := record()
			k := float64(int(1) << i)
			r.equal("values", r.step(tape, y, z), []float64{1 + k, 2 + k, k, 2 * k})
			if i == 1 {
				live = r.live()
			}
		}
		if l := r.live(); l > live {
			r.Errorf("%d buffers after five steps, %d after two", l, live)
		}
		if n := r.eng.Stats().Transfers; n != 1+5 {
			r.Errorf("%d transfers", n)
		}
		r.set(frozen, f64(0, 0))
		y, z := record()
		r.equal("after Set", r.step(tape, y, z), []float64{32, 32, 0, 0})
	})
}

// A snapshot that was asked for before the next step reads its old value, whatever donation does later: a checkpoint being written, a
// moving average on a tape of its own.
func Test10Snapshot(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape, snap := r.tape(), r.tape()
		w, mean := ops.NewVariable("w", f64(1, 2)), ops.NewVariable("mean", f64(0, 0))
		want := []float64{1, 2}
		average := []float64{0, 0}
		var taken []autograd.Result
		var old [][]float64
		for range 6 {
			s, err := snap.Step(ctx, snap.Var(w)) // nobody waits for it
			if err != nil {
				r.Fatal(err)
			}
			taken, old = append(taken, s), append(old, append([]float64(nil), want...))
			snap.Assign(mean, snap.Var(mean).Scale(0.5).Add(snap.Var(w).Scale(0.5)))
			if _, err := snap.Step(ctx); err != nil {
				r.Fatal(err)
			}
			tape.Assign(w, tape.Var(w).Neg().Scale(3))
			if _, err := tape.Step(ctx); err != nil {
				r.Fatal(err)
			}
			for i := range want {
				average[i] = average[i]/2 + want[i]/2
				want[i] *= -3
			}
		}
		for k, s := range taken {
			x, err := s.Tensor(ctx, 0)
			if err != nil {
				r.Fatal(err)
			}
			r.equal(fmt.Sprint("snapshot ", k), x.Floats(), old[k])
			s.Release()
		}
		r.equal("the variable", r.value(w), want)
		r.equal("the average", r.value(mean), average)
	})
}

// Who owns what: results that are read many steps later, both the old and the assigned value among them; a watched value; a swap; a
// variable that is overwritten unread.
func Test10Donation(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		w, u := ops.NewVariable("w", f64(1, 2)), ops.NewVariable("u", f64(10, 20))
		var old []autograd.Result
		var watched [][]float64
		for range 8 {
			p := tape.Var(w)
			next := p.Add(tape.Input("x", f64(1, 1)))
			tape.Assign(w, next)
			if len(old) == 3 {
				tape.Watch(p, func(x tensor.Tensor) { watched = append(watched, x.Floats()) })
			}
			res, err := tape.Step(ctx, p, next, p)
			if err != nil {
				r.Fatal(err)
			}
			old = append(old, res)
		}
		for i, res := range old {
			for k, add := range []int{0, 1, 0} {
				x, err := res.Tensor(ctx, k)
				if err != nil {
					r.Fatal(err)
				}
				r.equal(fmt.Sprint("step ", i), x.Floats(), []float64{float64(1 + i + add), float64(2 + i + add)})
			}
			res.Release()
			_, err := res.Tensor(ctx, 0)
			r.fails(err, ops.ErrMisuse, "after Release")
			res.Release() // twice does no harm
		}
		if len(watched) != 1 {
			r.Fatalf("watched %v", watched)
		}
		r.equal("watched", watched[0], []float64{4, 5})
		a, b := tape.Var(w), tape.Var(u)
		tape.Assign(w, b)
		tape.Assign(u, a)
		r.step(tape)
		r.equal("swapped", append(r.value(w), r.value(u)...), []float64{10, 20, 9, 10})
		tape.Assign(u, tape.Input("x", f64(5, 5)))
		r.step(tape)
		r.equal("overwritten", r.value(u), []float64{5, 5})
	})
}

// Corners of the effects: nothing asked for, one value for two variables, a variable assigned twice, a second output assigned, on one
// device and on two.
func TestEffects(t *testing.T) {
	onEach(t, 2, func(r *rig) {
		tape := r.tape()
		r.step(tape)
		a, b, m := ops.NewVariable("a", f64(0, 0)), ops.NewVariable("b", f64(0, 0)), ops.NewVariable("m", f64(0, 0))
		for _, dev := range []string{"d0", "d1"} {
			for i := range 3 {
				x := tape.Input("x", mat(2, 1, 2, 3, float64(i)))
				y, mean, _ := ops.BatchNorm(x, tape.Input("g", f64(1, 1)), tape.Input("b", f64(0, 0)), 1e-5)
				tape.Assign(m, mean)
				var z ops.Value
				tape.On(dev, func() {
					z = tape.Var(a).Add(tape.Input("one", f64(1, 1)))
					tape.Assign(a, z)
					tape.Assign(b, z.Neg())
					tape.Assign(b, z)
				})
				outs := []ops.Value{z}
				if i == 2 {
					outs = append(outs, y.Sum())
				}
				r.step(tape, outs...)
				r.equal("mean", r.value(m), []float64{2, 1 + float64(i)/2})
				r.equal("both", r.value(a), r.value(b))
			}
		}
		r.equal("a", r.value(a), []float64{6, 6})
	})
}

// Results are read, and released, by other goroutines; a Release during a read takes effect after it.
func TestReleaseWhileReading(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		var wg sync.WaitGroup
		for i := range 50 {
			res, err := tape.Step(ctx, tape.Input("x", f64(float64(i))).Neg())
			if err != nil {
				r.Fatal(err)
			}
			for range 2 {
				wg.Go(func() {
					x, err := res.Tensor(ctx, 0)
					if err == nil && x.At(0) != -float64(i) {
						r.Errorf("step %d: %v", i, x.At(0))
					}
					res.Release()
				})
			}
		}
		if err := tape.Wait(ctx); err != nil {
			r.Error(err)
		}
		wg.Wait()
	})
}
