package optim_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// onEach runs f with engines over the reference, over a device whose errors come late, and over the processor.
func onEach(t *testing.T, f func(t *testing.T, eng *sched.Engine)) {
	t.Helper()
	dev, err := cpu.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	for name, d := range map[string]accel.Device{"reference": acceltest.Reference("reference"), "hostile": acceltest.Hostile("hostile"), "cpu": dev} {
		eng, err := sched.New(d)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { f(t, eng) })
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}
}

// given are n parameters of one element and type, 0 each, and gradients that are fed.
type given struct {
	tape   *autograd.Tape
	params []*ops.Variable
	feeds  []tensor.Tensor
}

func newGiven(eng *sched.Engine, d tensor.DType, grads ...float64) *given {
	g := &given{tape: autograd.New(eng)}
	for i, x := range grads {
		name := "p" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		g.params = append(g.params, ops.NewVariable(name, tensor.New(tensor.SpecOf(d, 1))))
		g.feeds = append(g.feeds, tensor.Full(tensor.SpecOf(d, 1), x))
	}
	return g
}

// grads records the gradients.
func (g *given) grads() []ops.Value {
	out := make([]ops.Value, len(g.params))
	for i, p := range g.params {
		out[i] = g.tape.Input("gradient of "+p.Name(), g.feeds[i])
	}
	return out
}

// step is an update; its error is that of the whole step.
func (g *given) step(o optim.Optimizer) error {
	o.Apply(g.tape, g.params, g.grads())
	res, err := g.tape.Step(ctx)
	if err != nil {
		return err
	}
	defer res.Release()
	return res.Wait(ctx)
}

func (g *given) values(t *testing.T) (all []float64) {
	for _, p := range g.params {
		all = append(all, values(t, p)...)
	}
	return all
}

func repeat(n int, x float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = x
	}
	return all
}

// TestClipNorm: norms whose squares overflow or vanish are still norms.
func TestClipNorm(t *testing.T) {
	for name, c := range map[string]struct {
		d     tensor.DType
		grads []float64
		norm  float64 // limit
		want  []float64
	}{
		"a hundred of 1e20":      {tensor.F32, repeat(100, 1e20), 1, repeat(100, -0.1)},
		"the largest numbers":    {tensor.F32, repeat(4, 3e38), 1, repeat(4, -0.5)},
		"float64":                {tensor.F64, repeat(4, 1e308), 1, repeat(4, -0.5)},
		"float16":                {tensor.F16, repeat(4, 65504), 1, repeat(4, -0.5)},
		"bfloat16":               {tensor.BF16, repeat(4, 1e38), 1, repeat(4, -0.5)},
		"zeros":                  {tensor.F32, repeat(3, 0), 1, repeat(3, 0)},
		"within":                 {tensor.F32, []float64{0.25, -0.5}, 1, []float64{-0.25, 0.5}},
		"at the limit":           {tensor.F32, []float64{3, -4}, 5, []float64{-3, 4}},
		"beyond":                 {tensor.F32, []float64{30, -40}, 5, []float64{-3, 4}},
		"tiny numbers, a tinier": {tensor.F32, []float64{3e-30, 4e-30}, 5e-31, []float64{-3e-31, -4e-31}},
		"the least number":       {tensor.F64, []float64{5e-324, 0}, 1, []float64{-5e-324, 0}},
	} {
		onEach(t, func(t *testing.T, eng *sched.Engine) {
			g := newGiven(eng, c.d, c.grads...)
			if err := g.step(&optim.Clip{Norm: c.norm, Optimizer: &optim.SGD{LR: 1}}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i, got := range g.values(t) {
				if d := math.Abs(got - c.want[i]); d > 1e-6*math.Abs(c.want[i]) && !(c.d != tensor.F32 && c.d != tensor.F64 && d < 1e-3*math.Abs(c.want[i])) {
					t.Errorf("%s: element %d is %v, want %v", name, i, got, c.want[i])
				}
			}
		})
	}
}

// TestGlobalNorm: the norm itself, of any types, and of nothing.
func TestGlobalNorm(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	onEach(t, func(t *testing.T, eng *sched.Engine) {
		for name, c := range map[string]struct {
			d     tensor.DType
			grads []float64
			want  float64
		}{
			"a hundred of 1e20": {tensor.F32, repeat(100, 1e20), 1e21},
			"beyond float32":    {tensor.F32, repeat(100, 3e38), 3e39},
			"small":             {tensor.F64, []float64{3e-200, -4e-200}, 5e-200},
			"16 bits":           {tensor.F16, repeat(100, 65504), 655040},
			"zeros":             {tensor.F32, repeat(3, 0), 0},
			"none":              {tensor.F32, nil, 0},
			"NaN":               {tensor.F32, []float64{1, nan}, nan},
			"infinite":          {tensor.F32, []float64{-inf, 1}, inf},
		} {
			g := newGiven(eng, c.d, c.grads...)
			got, err := g.tape.Eval(ctx, optim.GlobalNorm(g.tape, g.grads()...))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if x := got[0].At(0); x != c.want && !(math.Abs(x-c.want) <= 1e-6*c.want) && !(x != x && c.want != c.want) {
				t.Errorf("%s: %v, want %v", name, x, c.want)
			}
		}
		tape := autograd.New(eng)
		empty := tape.Input("empty", tensor.New(tensor.SpecOf(tensor.F32, 0, 3)))
		mixed := optim.GlobalNorm(tape, empty, tape.Scalar("x", tensor.F64, 3), tape.Scalar("y", tensor.BF16, 4), tape.Scalar("z", tensor.F32, 0))
		if got, err := tape.Eval(ctx, mixed); err != nil || got[0].At(0) != 5 || got[0].DType() != tensor.F64 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// TestClipRefuses a gradient that is not finite, in the words of the parameter: nothing has changed, and the next step is the one that the
// refused one would have been.
func TestClipRefuses(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for name, limits := range map[string]optim.Clip{"norm": {Norm: 1}, "value": {Value: 1}, "both": {Norm: 1, Value: 1}} {
			onEach(t, func(t *testing.T, eng *sched.Engine) {
				var asked []int
				c := limits
				c.Optimizer = &optim.Adam{Schedule: rates(func(step int) float64 { asked = append(asked, step); return 0.1 })}
				g := newGiven(eng, tensor.F32, 1, 2, 3)
				if err := g.step(&c); err != nil {
					t.Fatal(err)
				}
				before := snapshot(t, append(g.params, c.State()...))
				g.feeds[1].Set(0, bad)
				err := g.step(&c)
				var named *optim.NotFiniteError
				if !errors.As(err, &named) || named.Param != "pba" || !strings.Contains(err.Error(), "optim: the gradient of pba is not finite") {
					t.Fatalf("%s of %v: %v", name, bad, err)
				}
				if after := snapshot(t, append(g.params, c.State()...)); !same(before, after) {
					t.Errorf("%s of %v: %v became %v", name, bad, before, after)
				}
				g.feeds[1].Set(0, 2)
				for range 2 {
					if err := g.step(&c); err != nil {
						t.Fatal(err)
					}
				}
				if want := []int{0, 1, 1, 2}; len(asked) != len(want) || !equal(asked, want) {
					t.Errorf("%s of %v: rates of updates %v, want %v", name, bad, asked, want)
				}
			})
		}
	}
}

// snapshot is the elements of variables, one after the other.
func snapshot(t *testing.T, vars []*ops.Variable) (all []float64) {
	t.Helper()
	for _, v := range vars {
		all = append(all, values(t, v)...)
	}
	return all
}

// TestClipValue: each element by itself, and NaN does not become the limit.
func TestClipValue(t *testing.T) {
	onEach(t, func(t *testing.T, eng *sched.Engine) {
		g := newGiven(eng, tensor.F32, 3e38, -7, 0.25, 0, -0.5)
		if err := g.step(&optim.Clip{Value: 0.5, Optimizer: &optim.SGD{LR: 1}}); err != nil {
			t.Fatal(err)
		}
		if got := g.values(t); !same(got, []float64{-0.5, 0.5, -0.25, 0, 0.5}) {
			t.Error(got)
		}
	})
}
