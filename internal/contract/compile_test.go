package contract

import (
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Schedules and Adam's bias correction never recompile, and the loss falls.
func Test03Schedules(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		n := newNet(tensor.F64, 4, 8, 3)
		tape := r.tape()
		x, y := formula(tensor.F64, 3, 6, 4), classes(6)
		var losses []float64
		misses := 0
		for i := range 40 {
			losses = append(losses, r.step(tape, n.train(tape, x, y, 0.05/(1+0.1*float64(i))))...)
			if i == 0 {
				misses = tape.Misses()
			}
		}
		if last := losses[len(losses)-1]; last > 0.7*losses[0] {
			r.Errorf("the loss went from %v to %v", losses[0], last)
		}
		if tape.Misses() != misses || r.compiles() != 1 {
			r.Errorf("%d nodes recorded anew, %d compiles", tape.Misses()-misses, r.compiles())
		}
	})
}

// Alternating train, eval, tail batch and four sequence lengths: as many compiles as there are programs, and bounded memory.
func Test04Alternation(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		n := newNet(tensor.F32, 4, 8, 3)
		n.drop = 0.5
		tape := r.tape()
		round := func() {
			for _, rows := range []int{6, 4, 7, 8, 9, 10} { // a full batch, a tail, four lengths
				x := formula(tensor.F32, rows, rows, 4)
				r.step(tape, n.train(tape, x, classes(rows), 1e-3))
				if rows < 8 {
					r.eval(tape, n.forward(tape, tape.Input("x", x), false))
					tape.Discard()
				}
			}
		}
		round()
		const programs = 6 + 3
		misses, live := tape.Misses(), r.live()
		for range 10 {
			round()
		}
		if tape.Misses() != misses || r.compiles() != programs {
			r.Errorf("%d nodes recorded anew, %d compiles for %d programs", tape.Misses()-misses, r.compiles(), programs)
		}
		if l := r.live(); l > live+4 {
			r.Errorf("%d buffers, were %d", l, live)
		}
	})
}

// Traces that are another one at every step are forgotten in time, so that memory is bounded; that costs no program its compile.
func Test04EndlessTraces(t *testing.T) {
	r := newRig(t, kinds[0], 1)
	n := newNet(tensor.F32, 4, 8, 3)
	tape := r.tape()
	train := func() { r.step(tape, n.train(tape, formula(tensor.F32, 1, 6, 4), classes(6), 1e-3)) }
	rng := rand.New(rand.NewPCG(5, 6))
	chain := func(factor func() int) {
		x := tape.Input("x", f64(1, 2))
		for range 15 {
			x = x.Scale(float64(factor()))
		}
		if err := tape.Err(); err != nil {
			t.Fatal(err)
		}
		tape.Discard()
	}
	train()
	first := func() int { return 0 }
	chain(first)
	for range 8000 { // of more chains than anybody could keep, none repeats as a whole
		chain(func() int { return rng.IntN(10) })
	}
	before := tape.Misses()
	chain(first)
	if tape.Misses() == before {
		t.Error("a hundred thousand nodes later, the first trace is still remembered")
	}
	train()
	if c := r.compiles(); c != 1 {
		t.Errorf("%d compiles for one program", c)
	}
}

// The order of recording is not in the key of a program, nor are dead code, variables, call sites and names.
func Test04SameProgram(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		for i := range 4 {
			a, b := ops.NewVariable("a", f64(1, 2)), ops.NewVariable("b", f64(3, 4))
			tape := r.tape()
			var x, y ops.Value
			if i%2 == 0 {
				x = tape.Var(a).Scale(8)
				y = tape.Var(b).Neg()
			} else {
				tape.Scope("other", func() {
					y = tape.Var(b).Neg()
					tape.Var(b).Mul(y) // dead
					x = tape.Var(a).Scale(8)
				})
			}
			r.equal("value", r.step(tape, x.Add(y)), []float64{5, 12})
		}
		if c := r.compiles(); c != 1 {
			r.Errorf("%d compiles", c)
		}
	})
}

// NaN and -0 attributes are found again, and are not mistaken for each other; programs that differ in one thing do not mix.
func Test19Keys(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		one := f64(1)
		for range 3 {
			for _, f := range []float64{0, math.Copysign(0, -1), math.NaN(), 2} {
				got := r.step(tape, tape.Input("x", one).Scale(f))
				if f == f {
					r.equal("scale", got, []float64{f})
				} else if got[0] == got[0] {
					r.Errorf("1 times NaN is %v", got[0])
				}
			}
			r.equal("another op", r.step(tape, tape.Input("x", one).Neg()), []float64{-1})
			r.equal("another shape", r.step(tape, tape.Input("x", f64(1, 2)).Neg()), []float64{-1, -2})
			r.equal("one output more", r.step(tape, tape.Input("x", one).Neg(), tape.Input("y", f64(3))), []float64{-1, 3})
		}
		if c := r.compiles(); c != 7 {
			r.Errorf("%d compiles for 7 programs", c)
		}
	})
}

// What an attribute does that should be an input is told: a recompile names the first difference and its line.
func TestRecompileIsTold(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		var log strings.Builder
		r.eng.Log = slog.New(slog.NewTextHandler(&log, nil))
		tape := r.tape()
		for i := range 3 {
			r.step(tape, tape.Input("x", f64(1, 2)).Neg().Scale(0.1*float64(i+1)))
		}
		told := log.String()
		if strings.Count(told, "compiled again") != 2 || !strings.Contains(told, "scale") || !strings.Contains(told, "compile_test.go") {
			r.Errorf("the log says %q", told)
		}
	})
}

// A random subset of layers at every step: as many compiles as there are depths, whatever the order.
func TestRandomDepth(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		rng := rand.New(rand.NewPCG(3, 4))
		w := ops.NewVariable("w", formula(tensor.F64, 1, 2, 2))
		for range 200 {
			x := tape.Input("x", formula(tensor.F64, 2, 2, 2))
			for range 4 {
				if rng.IntN(2) == 0 {
					x = x.MatMul(tape.Var(w)).ReLU()
				}
			}
			loss := x.Mean()
			tape.Assign(w, tape.Var(w).Sub(tape.Grad(loss, tape.Var(w))[0].Scale(0.1)))
			r.step(tape, loss)
		}
		if c := r.compiles(); c != 5 {
			r.Errorf("%d compiles for 5 depths", c)
		}
	})
}

// One-off traces, such as a learning rate written as an attribute, do not push out the traces that come back.
func TestHotTraceSurvives(t *testing.T) {
	r := newRig(t, kinds[0], 1)
	tape := r.tape()
	w := ops.NewVariable("w", f64(1))
	for i := range 300 {
		for k := range 5 { // train, eval, tails
			before := tape.Misses()
			tape.Var(w).Scale(float64(-1 - k)).Neg()
			r.step(tape)
			if i > 0 && tape.Misses() != before {
				t.Fatalf("round %d: trace %d was forgotten", i, k)
			}
		}
		tape.Var(w).Scale(float64(i + 1))
		r.step(tape)
	}
}

// Gradients are remembered by what was asked: two losses and several lists of variables from one prefix, in changing order.
func TestGradMemory(t *testing.T) {
	onEach(t, 2, func(r *rig) {
		tape := r.tape()
		a, b := ops.NewVariable("a", f64(2)), ops.NewVariable("b", f64(3))
		rng := rand.New(rand.NewPCG(1, 2))
		var misses, compiles int
		for i := range 200 {
			x, y := tape.Var(a), tape.Var(b)
			l1, l2 := x.Mul(y).Sum(), x.Mul(x).Mul(y).Sum()
			var want []float64
			var outs []ops.Value
			for range 2 {
				switch rng.IntN(5) {
				case 0:
					outs, want = append(outs, tape.Grad(l1, x)...), append(want, 3)
				case 1:
					outs, want = append(outs, tape.Grad(l1, y, x)...), append(want, 2, 3)
				case 2:
					outs, want = append(outs, tape.Grad(l2, x)...), append(want, 12)
				case 3:
					tape.On("d1", func() { outs = append(outs, tape.Grad(l2.Scale(2), x, y)...) })
					want = append(want, 24, 8)
				case 4:
					outs, want = append(outs, tape.Grad(l1, y)...), append(want, 2)
				}
			}
			r.equal("gradients", r.step(tape, outs...), want)
			if i == 100 {
				misses, compiles = tape.Misses(), r.compiles()
			}
		}
		if tape.Misses() != misses || r.compiles() != compiles {
			r.Errorf("%d nodes recorded anew, %d compiles", tape.Misses()-misses, r.compiles()-compiles)
		}
	})
}

// Scalars are this step's, and an input may be overwritten as soon as Step has returned.
func TestFeeds(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		x := f64(0, 0)
		for i := range 6 {
			x.Set(0, float64(i))
			y := tape.Input("x", x).Mul(tape.Scalar("s", tensor.F64, float64(10*i))).Add(tape.Scalar("t", tensor.F64, 1))
			res, err := tape.Step(ctx, y)
			if err != nil {
				r.Fatal(err)
			}
			x.Set(0, -99)
			got, err := res.Tensor(ctx, 0)
			if err != nil {
				r.Fatal(err)
			}
			r.equal("value", got.Floats(), []float64{float64(10*i*i + 1), 1})
			res.Release()
		}
		if c := r.compiles(); c != 1 {
			r.Errorf("%d compiles", c)
		}
	})
}
