package optim_test

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// TestLossScaleSkips a step whose gradient is not finite: what the optimisers keep and the parameters stay, the scale halves; it doubles
// after good steps in a row. The processor and a device whose runs are late agree.
func TestLossScaleSkips(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	onEach(t, func(t *testing.T, eng *sched.Engine) {
		opt := everything().(*optim.LossScale) // Every is 3
		opt.Scale = 8
		var asked []int
		groups := optim.Groups{{Optimizer: &optim.AdamW{Schedule: rates(func(step int) float64 { asked = append(asked, step); return 0.1 })}}}
		opt.Optimizer.(*optim.EMA).Optimizer.(*optim.Clip).Optimizer = groups
		g := newGiven(eng, tensor.F16, 8, -4, 16)
		good, skipped, scale := 0.0, 0.0, 8.0
		for i, x := range []float64{1, inf, 1, 1, 1, 2, nan, -inf, 1, 1, 0, 1} {
			before := snapshot(t, append(g.params, opt.Optimizer.State()...))
			g.feeds[1].Set(0, x)
			if err := g.step(opt); err != nil {
				t.Fatal(err)
			}
			after := snapshot(t, append(g.params, opt.Optimizer.State()...))
			if x-x != 0 {
				good, skipped, scale = 0, skipped+1, scale/2
				if !same(before, after) {
					t.Errorf("step %d: %v became %v", i, before, after)
				}
			} else {
				if good++; good == 3 {
					good, scale = 0, scale*2
				}
				if same(before, after) {
					t.Errorf("step %d: nothing has changed", i)
				}
			}
			for name, want := range map[string]float64{"optim.loss_scale": scale, "optim.good_steps": good, "optim.skipped": skipped, "optim.step": float64(i+1) - skipped} {
				if got := values(t, named(t, opt, name))[0]; got != want {
					t.Errorf("step %d: %s is %v, want %v", i, name, got, want)
				}
			}
		}
		for i, step := range asked {
			if i != step {
				t.Errorf("rates of updates %v: a schedule goes on while steps are skipped", asked)
				break
			}
		}
	})
}

// TestLossScaleLimits: it does not grow beyond 2^24 nor shrink below 2^-24, from where it would not come back.
func TestLossScaleLimits(t *testing.T) {
	for name, c := range map[string]struct {
		o    optim.LossScale
		x    float64
		want float64
	}{
		"most":          {optim.LossScale{Scale: 1 << 23, Every: 1}, 1, 1 << 24},
		"least":         {optim.LossScale{Scale: 1.0 / (1 << 23)}, math.NaN(), 1.0 / (1 << 24)},
		"static, good":  {optim.LossScale{Scale: 3, Every: 1, Static: true}, 1, 3},
		"static, bad":   {optim.LossScale{Scale: 3, Static: true}, math.Inf(1), 3},
		"as it is made": {optim.LossScale{}, 1, 32768},
	} {
		c.o.Optimizer = &optim.SGD{}
		g := newGiven(newEngine(t), tensor.F32, c.x)
		for range 4 {
			if err := g.step(&c.o); err != nil {
				t.Fatal(err)
			}
		}
		if got := values(t, named(t, &c.o, "optim.loss_scale"))[0]; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestLossScaleSaves gradients that float16 would lose.
func TestLossScaleSaves(t *testing.T) {
	for _, scaled := range []bool{false, true} {
		tape, p := newTape(t), ops.NewVariable("p", tensor.New(tensor.SpecOf(tensor.F16, 1)))
		var opt optim.Optimizer = &optim.SGD{LR: 1}
		if scaled {
			opt = &optim.LossScale{Optimizer: opt}
		}
		opt.Update(tape, tape.Var(p).Cast(tensor.F32).Scale(1e-8).Sum(), p)
		commit(t, tape)
		if got := values(t, named(t, opt, "p.master"))[0]; scaled && math.Abs(got+1e-8) > 1e-11 || !scaled && got != 0 {
			t.Errorf("scaled %v: %v", scaled, got)
		}
	}
}

// TestHalfLoss: a loss in float16 is scaled in float32; a scale that its gradient cannot take is halved until it can.
func TestHalfLoss(t *testing.T) {
	tape, p := newTape(t), ops.NewVariable("p", tensor.New(tensor.SpecOf(tensor.F16, 1)))
	opt := &optim.LossScale{Optimizer: &optim.SGD{LR: 1}, Scale: 1 << 20}
	for range 12 {
		opt.Update(tape, tape.Var(p).Scale(0.5).Sum(), p)
		commit(t, tape)
	}
	if scale, got := values(t, named(t, opt, "optim.loss_scale"))[0], values(t, p)[0]; scale != 1<<15 || got != -0.5*7 {
		t.Errorf("scale %v, %v", scale, got)
	}
}

// TestAccumulate: a loop that sums the gradients of the scaled loss over batches, then applies them, trains as one with the whole batch.
func TestAccumulate(t *testing.T) {
	x := []float64{1, 0.5, -2, 3}
	train := func(parts int) []float64 {
		tape, w := newTape(t), ops.NewVariable("w", tensor.Full(tensor.SpecOf(tensor.F32, 1), 1))
		opt := &optim.LossScale{Optimizer: &optim.Clip{Norm: 2, Optimizer: &optim.Adam{LR: 0.1}}}
		sum := ops.NewVariable("sum", tensor.New(w.Spec()))
		for range 5 {
			for i := range parts {
				part := single(x[i*4/parts : (i+1)*4/parts])
				y := tape.Input("x", part).Mul(tape.Var(w))
				g := tape.Grad(opt.Loss(tape, y.Mul(y).Mean()).Scale(1/float64(parts)), tape.Var(w))[0]
				if i == 0 {
					tape.Assign(sum, g)
				} else {
					tape.Assign(sum, tape.Var(sum).Add(g))
				}
				if i == parts-1 {
					opt.Apply(tape, []*ops.Variable{w}, []ops.Value{tape.Var(sum)})
				}
				commit(t, tape)
			}
		}
		return values(t, w)
	}
	near(t, "four parts", train(4), train(1), 1e-6)
}

// TestLossScaleTwice: the scale is one variable however often Loss is asked in a recording.
func TestLossScaleTwice(t *testing.T) {
	tape, p := newTape(t), ops.NewVariable("p", f64(2))
	opt := &optim.LossScale{Optimizer: &optim.SGD{LR: 1}}
	a, b := opt.Loss(tape, tape.Var(p).Sum()), opt.Loss(tape, tape.Var(p).Scale(2).Sum())
	opt.Apply(tape, []*ops.Variable{p}, tape.Grad(a.Add(b), tape.Var(p)))
	commit(t, tape)
	if got := values(t, p)[0]; got != -1 {
		t.Error(got)
	}
}
