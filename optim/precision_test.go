package optim_test

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// ulps are the largest relative errors of rounding to 16 bits.
var ulps = map[tensor.DType]float64{tensor.BF16: 1.0 / 256, tensor.F16: 1.0 / 2048}

// TestMultiPrecision: SGD of 16-bit parameters, with momentum, decay and loss scaling, against the same in float64 over 200 steps. The loss
// is sum(k/2 (p-c)²) with k from 0.5 to 2, so its gradient k (p-c) has two roundings, of p before and of the scaled gradient after: an error
// of at most u k (|p| + |p-c|), where u bounds a rounding. With decay w the steady error of p is that over k+w, and momentum, whose
// response overshoots, at most doubles it: the masters stay within 2u(|p| + |p-c|), where |p| and |c| are at most 2, and the parameters
// within a rounding more.
func TestMultiPrecision(t *testing.T) {
	const lr, momentum, decay, n, steps = 0.05, 0.8, 0.01, 8, 200
	start, c, k := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		start[i], c[i], k[i] = 1-float64(i)/4, float64(i*i%7)/4-0.75, 0.5+1.5*float64(i)/(n-1)
	}
	for d, u := range ulps {
		onEach(t, func(t *testing.T, eng *sched.Engine) {
			x := tensor.New(tensor.SpecOf(d, n))
			for i := range n {
				x.Set(i, start[i])
			}
			tape, p := autograd.New(eng), ops.NewVariable("p", x)
			opt := &optim.LossScale{Every: 50, Optimizer: &optim.SGD{LR: lr, Momentum: momentum, WeightDecay: decay}}
			exact, m := append([]float64(nil), start...), make([]float64, n)
			farthest := 0.0
			for range steps {
				diff := tape.Var(p).Cast(tensor.F32).Sub(tape.Input("c", single(c)))
				opt.Update(tape, diff.Mul(diff).Mul(tape.Input("k", single(k))).Sum().Scale(0.5), p)
				commit(t, tape)
				master, param := values(t, named(t, opt, "p.master")), values(t, p)
				for i := range n {
					g := k[i]*(exact[i]-c[i]) + decay*exact[i]
					m[i] = momentum*m[i] + g
					exact[i] -= lr * m[i]
					e, bound := math.Abs(master[i]-exact[i]), 2*u*(math.Abs(exact[i])+math.Abs(exact[i]-c[i])+u)
					farthest = max(farthest, e/bound)
					if !(e <= bound) || math.Abs(param[i]-master[i]) > u*math.Abs(master[i]) {
						t.Fatalf("%v: element %d is %v and its master %v, want %v within %v", d, i, param[i], master[i], exact[i], bound)
					}
				}
			}
			if farthest < 0.01 { // the bound would see a fault
				t.Errorf("%v: the largest error is %v of the bound", d, farthest)
			}
			if n := values(t, named(t, opt, "optim.step"))[0] + values(t, named(t, opt, "optim.skipped"))[0]; n != steps {
				t.Errorf("%v: %v updates happened or were skipped", d, n)
			}
		})
	}
}

func single(x []float64) tensor.Tensor {
	y := tensor.New(tensor.SpecOf(tensor.F32, len(x)))
	for i, v := range x {
		y.Set(i, v)
	}
	return y
}

// TestMasters: where gradients are the same, the masters of 16-bit parameters are float32 parameters bit for bit, and the parameters are
// their masters rounded; a power of two as loss scale changes no bit.
func TestMasters(t *testing.T) {
	steps := 50
	if testing.Short() {
		steps = 10
	}
	for name, fresh := range golden {
		for d := range ulps {
			for scaled, around := range map[string]func(optim.Optimizer) optim.Optimizer{
				"": func(o optim.Optimizer) optim.Optimizer { return o },
				" and loss scale": func(o optim.Optimizer) optim.Optimizer {
					return &optim.LossScale{Optimizer: o, Scale: 1024, Static: true}
				},
			} {
				half, full := ops.NewVariable("p", tensor.Full(tensor.SpecOf(d, 3), 0.5)), ops.NewVariable("p", tensor.Full(tensor.SpecOf(tensor.F32, 3), 0.5))
				tape, a, b := newTape(t), around(fresh()), around(fresh())
				for step := range steps {
					slope := tape.Input("slope", single([]float64{1 - float64(step%16)/8, -0.5, float64(step%7) / 4}))
					a.Update(tape, tape.Var(half).Cast(tensor.F32).Mul(slope).Sum(), half)
					b.Update(tape, tape.Var(full).Mul(slope).Sum(), full)
					commit(t, tape)
				}
				master, want := values(t, named(t, a, "p.master")), values(t, full)
				if !same(master, want) {
					t.Errorf("%s in %v%s: masters %v, in float32 %v", name, d, scaled, master, want)
				}
				rounded := tensor.New(half.Spec())
				for i, x := range master {
					rounded.Set(i, x)
				}
				if got := values(t, half); !same(got, rounded.Floats()) {
					t.Errorf("%s in %v%s: %v, but its master is %v", name, d, scaled, got, master)
				}
			}
		}
	}
}

// TestSmallUpdates that are far below the distance of two 16-bit numbers add up, and weight decay does.
func TestSmallUpdates(t *testing.T) {
	for d := range ulps {
		tape, p := newTape(t), ops.NewVariable("p", tensor.Full(tensor.SpecOf(d, 1), 1))
		opt := &optim.SGD{LR: 1e-5, WeightDecay: 1}
		for range 2000 {
			opt.Update(tape, tape.Var(p).Scale(0).Sum(), p)
			commit(t, tape)
		}
		if got, want := values(t, p)[0], math.Pow(1-1e-5, 2000); math.Abs(got-want) > 1.1*ulps[d] || got == 1 {
			t.Errorf("%v: %v, want %v", d, got, want)
		}
	}
}

// TestSetParameter: a 16-bit parameter that somebody sets between steps is what training goes on from, whatever its master was.
func TestSetParameter(t *testing.T) {
	tape, p := newTape(t), ops.NewVariable("p", tensor.Full(tensor.SpecOf(tensor.BF16, 2), 1))
	opt := &optim.SGD{LR: 0.001}
	opt.Init(p)
	update := func() {
		opt.Update(tape, tape.Var(p).Sum(), p)
		commit(t, tape)
	}
	for i, start := range []float64{3, -5, math.NaN(), math.Inf(1), 7} {
		if err := p.Set(ctx, tensor.Full(p.Spec(), start)); err != nil {
			t.Fatal(err)
		}
		update()
		update()
		if got, want := values(t, named(t, opt, "p.master"))[0], start-0.002; !(math.Abs(got-want) < 1e-6) && !(got != got && want != want) && got != want {
			t.Errorf("%d: %v, want %v", i, got, want)
		}
	}
}

// TestOverflow: a parameter beyond float16 is infinite, its master is not, and both come back.
func TestOverflow(t *testing.T) {
	tape, p := newTape(t), ops.NewVariable("p", tensor.Full(tensor.SpecOf(tensor.F16, 1), 65504))
	opt := &optim.SGD{LR: 1}
	for i, c := range []struct{ slope, master, param float64 }{{-1000, 66504, math.Inf(1)}, {0, 66504, math.Inf(1)}, {2000, 64504, 64512}} {
		opt.Apply(tape, []*ops.Variable{p}, []ops.Value{tape.Input("g", single([]float64{c.slope}))})
		commit(t, tape)
		if m, x := values(t, named(t, opt, "p.master"))[0], values(t, p)[0]; m != c.master || x != c.param {
			t.Errorf("%d: %v and %v, want %v and %v", i, m, x, c.master, c.param)
		}
	}
}
