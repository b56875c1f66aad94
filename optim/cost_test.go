package optim_test

import (
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// everything is all that composes, around two groups.
func everything() optim.Optimizer {
	matrix := func(name string) bool { return strings.HasSuffix(name, "weight") }
	return &optim.LossScale{Every: 3, Optimizer: &optim.EMA{Warmup: true, Optimizer: &optim.Clip{Norm: 1, Value: 0.5, Optimizer: optim.Groups{
		{Match: matrix, Optimizer: &optim.AdamW{Schedule: optim.Warmup{Steps: 10, Then: optim.Hill{LR: 0.1, Warmup: 5, Gamma: 0.1}}}},
		{Optimizer: &optim.SGD{Momentum: 0.9, Schedule: optim.OneCycle{Max: 0.1, Steps: 10}}},
	}}}}
}

// TestSteadyUpdate: while rates, corrections and scales change, no update compiles, records a node anew or allocates, on a device that
// costs nothing.
func TestSteadyUpdate(t *testing.T) {
	opts := map[string]func() optim.Optimizer{"everything": everything}
	for name, fresh := range golden {
		opts[name] = fresh
	}
	for name, fresh := range opts {
		eng, err := sched.New(acceltest.Null("null"))
		if err != nil {
			t.Fatal(err)
		}
		tape, opt := autograd.New(eng), fresh()
		var params []*ops.Variable
		for i, d := range []tensor.DType{tensor.F64, tensor.F32, tensor.BF16, tensor.F16} {
			n := string(rune('a' + i))
			params = append(params, ops.NewVariable(n+".weight", tensor.New(tensor.SpecOf(d, 2, 3))), ops.NewVariable(n+".bias", tensor.New(tensor.SpecOf(d, 3))))
		}
		step := func() {
			loss := tape.Scalar("zero", tensor.F64, 0)
			for _, p := range params {
				x := tape.Var(p).Cast(tensor.F64)
				loss = loss.Add(x.Mul(x).Sum())
			}
			opt.Update(tape, loss, params...)
			res, err := tape.Step(ctx, loss)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			res.Release()
		}
		for range 5 {
			step()
		}
		misses, compiles := tape.Misses(), eng.Stats().Compiles
		if n := testing.AllocsPerRun(50, step); n != 0 {
			t.Errorf("%s: %v objects a step", name, n)
		}
		if tape.Misses() != misses || eng.Stats().Compiles != compiles {
			t.Errorf("%s: %d nodes recorded anew, %d compiles", name, tape.Misses()-misses, eng.Stats().Compiles-compiles)
		}
	}
}

// TestOnProcessor: the processor has a kernel for all that updates record but the check of Clip, and agrees with the reference.
func TestOnProcessor(t *testing.T) {
	dev, err := cpu.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	for name, fresh := range golden {
		var got [2][]float64
		for i := range got {
			eng := newEngine(t)
			if i == 1 {
				if eng, err = sched.New(dev); err != nil {
					t.Fatal(err)
				}
				eng.NoFallback = true
			}
			tape, opt := autograd.New(eng), fresh()
			p := ops.NewVariable("p", f64(1, -2, 3, 0.5))
			var compiles int
			for step := range 6 {
				loss := cubic(tape, p, step)
				opt.Update(tape, loss, p)
				commit(t, tape, loss)
				if step == 0 {
					compiles = eng.Stats().Compiles
				}
			}
			got[i] = values(t, p)
			if s := eng.Stats(); s.Compiles != compiles {
				t.Errorf("%s: %d compiles after the first step", name, s.Compiles-compiles)
			}
			if err := eng.Close(); err != nil {
				t.Error(err)
			}
		}
		near(t, name, got[1], got[0], 1e-13)
	}
}

// near wants x and y to differ by no more than tol, relative to y where that is larger than 1.
func near(t *testing.T, what string, x, y []float64, tol float64) {
	t.Helper()
	for i := range y {
		if d := x[i] - y[i]; !(d <= tol*max(1, y[i], -y[i]) && -d <= tol*max(1, y[i], -y[i])) {
			t.Errorf("%s: element %d is %v, want %v", what, i, x[i], y[i])
		}
	}
}
