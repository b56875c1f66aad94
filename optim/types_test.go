package optim_test

import (
	"math"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
)

var floats = []tensor.DType{tensor.F64, tensor.F32, tensor.BF16, tensor.F16}

func full(d tensor.DType, x float64) tensor.Tensor { return tensor.Full(tensor.SpecOf(d, 1), x) }

// TestNoGradient: where the gradient is 0 and nothing decays, no type of parameter moves, and the state stays finite. FTRL's parameters
// follow from their gradients alone.
func TestNoGradient(t *testing.T) {
	for name, fresh := range golden {
		for _, d := range floats {
			opt := fresh()
			g := newGiven(newEngine(t), d, 0, 0)
			start := 0.75
			if strings.HasPrefix(name, "FTRL") || name == "AdamW" || strings.Contains(name, "all") || strings.Contains(name, "momentum") {
				start = 0
			}
			for _, p := range g.params {
				if err := p.Set(ctx, full(d, start)); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				if err := g.step(opt); err != nil {
					t.Fatal(err)
				}
			}
			for _, x := range g.values(t) {
				if x != start {
					t.Errorf("%s in %v: %v, want %v", name, d, x, start)
				}
			}
			for _, v := range opt.State() {
				for _, x := range values(t, v) {
					if x-x != 0 {
						t.Errorf("%s in %v: %s is %v", name, d, v.Name(), x)
					}
				}
			}
		}
	}
}

// TestNaNGradient: NaN comes through every optimiser that does not refuse it, and stays in its parameter.
func TestNaNGradient(t *testing.T) {
	for name, fresh := range golden {
		if strings.HasPrefix(name, "Clip") {
			continue
		}
		for _, d := range floats {
			g := newGiven(newEngine(t), d, math.NaN(), 0.5)
			opt := fresh()
			for range 2 {
				if err := g.step(opt); err != nil {
					t.Fatal(err)
				}
			}
			if got := g.values(t); got[0] == got[0] || got[1]-got[1] != 0 {
				t.Errorf("%s in %v: %v", name, d, got)
			}
		}
	}
}

// TestZeroNorms: LARS moves a parameter of zeros by the rate itself, and one without a gradient by its decay alone.
func TestZeroNorms(t *testing.T) {
	g := newGiven(newEngine(t), tensor.F32, 0.5, 0)
	if err := g.params[1].Set(ctx, full(tensor.F32, 1)); err != nil {
		t.Fatal(err)
	}
	if err := g.step(&optim.LARS{LR: 0.25, WeightDecay: 0.5}); err != nil {
		t.Fatal(err)
	}
	if got := g.values(t); !same(got, []float64{-0.125, 1 - 0.25*0.5}) {
		t.Error(got)
	}
	for _, x := range []float64{1e20, 3e38, 1e-30} { // norms whose squares are out of range
		g := newGiven(newEngine(t), tensor.F32, x)
		if err := g.params[0].Set(ctx, full(tensor.F32, 2)); err != nil {
			t.Fatal(err)
		}
		if err := g.step(&optim.LARS{LR: 1, Trust: 0.25}); err != nil {
			t.Fatal(err)
		}
		if got := g.values(t)[0]; math.Abs(got-1.5) > 1e-6 {
			t.Errorf("gradient %v: %v, want 1.5", x, got)
		}
	}
}

// TestCentred: rounding may make the mean of squares less than the square of the mean; its root is 0 then, not NaN.
func TestCentred(t *testing.T) {
	g := newGiven(newEngine(t), tensor.F32, 1.1, 0.3, 1e-20, 12345.678)
	opt := &optim.RMSProp{Centered: true, Alpha: 0.5}
	for range 200 {
		if err := g.step(opt); err != nil {
			t.Fatal(err)
		}
	}
	for i, x := range g.values(t) {
		if x-x != 0 {
			t.Errorf("element %d is %v", i, x)
		}
	}
}

// TestSparse: with L1, FTRL makes what little speaks for exactly 0, and with a rate of 0 it stays as it is.
func TestSparse(t *testing.T) {
	g := newGiven(newEngine(t), tensor.F32, 0.25, -3)
	opt := &optim.FTRL{LR: 0.5, L1: 1, Schedule: rates(func(step int) float64 { return 0.5 * float64(1-step%2) })}
	if err := g.step(opt); err != nil {
		t.Fatal(err)
	}
	first := snapshot(t, append(g.params, opt.State()[1:]...))
	if first[0] != 0 || !(first[1] > 0) {
		t.Error(first)
	}
	if err := g.step(opt); err != nil {
		t.Fatal(err)
	}
	if again := snapshot(t, append(g.params, opt.State()[1:]...)); !same(first, again) {
		t.Errorf("%v became %v", first, again)
	}
}

// TestEmpty: a parameter without elements is updated as any other.
func TestEmpty(t *testing.T) {
	for name, fresh := range golden {
		tape, opt := newTape(t), fresh()
		p, q := ops.NewVariable("p", tensor.New(tensor.SpecOf(tensor.F32, 0, 3))), ops.NewVariable("q", f64(0))
		opt.Update(tape, tape.Var(p).Cast(tensor.F64).Sum().Add(tape.Var(q).Sum()), p, q)
		commit(t, tape)
		if got := values(t, q)[0]; got-got != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
