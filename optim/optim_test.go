package optim_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

var ctx = context.Background()

// newEngine is an engine over a reference device.
func newEngine(t *testing.T) *sched.Engine {
	t.Helper()
	eng, err := sched.New(acceltest.Reference("reference"))
	if err != nil {
		t.Fatal(err)
	}
	return eng
}

func newTape(t *testing.T) *autograd.Tape { return autograd.New(newEngine(t)) }

func f64(x ...float64) tensor.Tensor { return tensor.Must(tensor.From(x)) }

func values(t *testing.T, v *ops.Variable) []float64 {
	t.Helper()
	x, err := v.Value(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return x.Floats()
}

// cubic is the loss of the figures from PyTorch: sum(c p³ + (step-1) p).
func cubic(tape *autograd.Tape, p *ops.Variable, step int) ops.Value {
	x := tape.Var(p)
	c := tape.Input("c", f64(1, 0.5, -0.25, 2))
	return x.Mul(x).Mul(x).Mul(c).Add(x.Mul(tape.Scalar("slope", tensor.F64, float64(step-1)))).Sum()
}

func commit(t *testing.T, tape *autograd.Tape, vs ...ops.Value) {
	t.Helper()
	res, err := tape.Step(ctx, vs...)
	if err == nil {
		err = res.Wait(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	res.Release()
}

// TestZeroGradient: no gradient, no change, in every type; and the first update of Adam is the rate, however small the gradient.
func TestZeroGradient(t *testing.T) {
	for _, dt := range []tensor.DType{tensor.F64, tensor.F32, tensor.BF16, tensor.F16} {
		for name, opt := range map[string]optim.Optimizer{
			"SGD": &optim.SGD{Momentum: 0.9, Nesterov: true}, "Adam": &optim.Adam{},
		} {
			tape := newTape(t)
			start := tensor.Full(tensor.SpecOf(dt, 3), 0.7)
			p := ops.NewVariable("p", start)
			for range 3 {
				loss := tape.Var(p).Scale(0).Sum()
				opt.Update(tape, loss, p)
				commit(t, tape, loss)
			}
			if x, err := p.Value(ctx); err != nil || !x.Same(start) {
				t.Errorf("%s in %v: %v, %v", name, dt, x, err)
			}
			for _, v := range opt.State()[1:] {
				if want := map[bool]tensor.DType{true: tensor.F64, false: tensor.F32}[dt == tensor.F64]; v.Spec().DType != want {
					t.Errorf("%s in %v: %s is %v", name, dt, v.Name(), v.Spec())
				}
				want := 0.0
				if v.Name() == "p.master" {
					want = start.At(0)
				}
				for _, x := range values(t, v) {
					if x != want {
						t.Errorf("%s in %v: %s is %v", name, dt, v.Name(), x)
					}
				}
			}
		}
		tape := newTape(t)
		p := ops.NewVariable("p", tensor.New(tensor.SpecOf(dt, 1)))
		loss := tape.Var(p).Scale(1e-4).Sum()
		opt := &optim.Adam{LR: 0.125}
		opt.Update(tape, loss, p)
		commit(t, tape, loss)
		if got := values(t, p)[0]; math.Abs(got+0.125) > 1e-3 {
			t.Errorf("%v: the first update is %v, want -0.125", dt, got)
		}
	}
}

// TestUnusedParameter: a parameter that the loss does not know stays.
func TestUnusedParameter(t *testing.T) {
	tape := newTape(t)
	p, q := ops.NewVariable("p", f64(1)), ops.NewVariable("q", f64(2))
	loss := tape.Var(p).Sum()
	(&optim.Adam{}).Update(tape, loss, p, q)
	commit(t, tape, loss)
	if got := values(t, q)[0]; got != 2 {
		t.Error(got)
	}
}

// TestTiedParameter: a variable used in two places, and given twice, has one state, the sum of its gradients, and decays once.
func TestTiedParameter(t *testing.T) {
	tape := newTape(t)
	p := ops.NewVariable("p", f64(2))
	opt := &optim.SGD{LR: 0.1, Momentum: 0.9, WeightDecay: 0.5}
	loss := tape.Var(p).Scale(3).Add(tape.Var(p).Scale(4)).Sum()
	opt.Update(tape, loss, p, p)
	commit(t, tape, loss)
	if got, want := values(t, p)[0], 2-0.1*(3+4+0.5*2); math.Abs(got-want) > 1e-15 {
		t.Errorf("%v, want %v", got, want)
	}
	if len(opt.State()) != 2 {
		t.Errorf("%d variables", len(opt.State()))
	}
	for name, fresh := range golden {
		var got [2][]float64
		for i := range got {
			tape, p, opt := newTape(t), ops.NewVariable("p", f64(1, -2, 3, 0.5)), fresh()
			params := []*ops.Variable{p, p, p}[:1+2*i]
			for step := range 3 {
				loss := cubic(tape, p, step)
				opt.Update(tape, loss, params...)
				commit(t, tape, loss)
			}
			got[i] = snapshot(t, append(opt.State(), p))
		}
		if !same(got[0], got[1]) {
			t.Errorf("%s: %v, given once %v", name, got[1], got[0])
		}
	}
}

// TestResume: state that is saved and loaded by name, into another order of parameters, continues bit for bit.
func TestResume(t *testing.T) {
	for name, fresh := range map[string]func() optim.Optimizer{
		"SGD":   func() optim.Optimizer { return &optim.SGD{LR: 0.01, Momentum: 0.9} },
		"AdamW": func() optim.Optimizer { return &optim.AdamW{Schedule: optim.Cosine{LR: 0.1, Steps: 9, Warmup: 3}} },
	} {
		type run struct {
			opt  optim.Optimizer
			a, b *ops.Variable
			tape *autograd.Tape
		}
		start := func(swap bool) *run {
			r := &run{opt: fresh(), a: ops.NewVariable("a", f64(1, -2, 3, 0.5)), b: ops.NewVariable("b", f64(1, 1, -1, 2)), tape: newTape(t)}
			if swap {
				r.opt.Init(r.b, r.a)
			} else {
				r.opt.Init(r.a, r.b)
			}
			return r
		}
		train := func(r *run, from, to int) {
			for step := from; step < to; step++ {
				x := r.tape.Var(r.b)
				loss := cubic(r.tape, r.a, step).Add(x.Mul(x).Sum())
				r.opt.Update(r.tape, loss, r.a, r.b)
				commit(t, r.tape, loss)
			}
		}
		all := func(r *run) map[string]*ops.Variable {
			m := map[string]*ops.Variable{}
			for _, v := range append([]*ops.Variable{r.a, r.b}, r.opt.State()...) {
				m[v.Name()] = v
			}
			return m
		}
		whole, first, second := start(false), start(false), start(true)
		train(whole, 0, 7)
		train(first, 0, 4)
		loaded := all(second)
		for name, v := range all(first) {
			x, err := v.Value(ctx)
			if err != nil || loaded[name] == nil || loaded[name].Set(ctx, x) != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		train(second, 4, 7)
		resumed := all(second)
		for key, v := range all(whole) {
			want, got := values(t, v), values(t, resumed[key])
			for i := range want {
				if math.Float64bits(want[i]) != math.Float64bits(got[i]) {
					t.Errorf("%s: %s is %v, want %v", name, key, got, want)
				}
			}
		}
		if n := values(t, resumed["optim.step"])[0]; n != 7 {
			t.Errorf("%s: %v updates, want 7", name, n)
		}
	}
}

// TestCount: recordings that are dropped, refused or only evaluated are no updates; two updates in one step are one.
func TestCount(t *testing.T) {
	for name, around := range map[string]func(o optim.Optimizer) optim.Optimizer{
		"alone": func(o optim.Optimizer) optim.Optimizer { return o },
		"clip":  func(o optim.Optimizer) optim.Optimizer { return &optim.Clip{Norm: 10, Optimizer: o} },
		"groups": func(o optim.Optimizer) optim.Optimizer {
			return optim.Groups{{Optimizer: o}, {Optimizer: &optim.Adam{}}}
		},
		"average": func(o optim.Optimizer) optim.Optimizer { return &optim.EMA{Optimizer: o} },
	} {
		t.Run(name, func(t *testing.T) { checkCount(t, around) })
	}
}

func checkCount(t *testing.T, around func(o optim.Optimizer) optim.Optimizer) {
	tape := newTape(t)
	p, q := ops.NewVariable("p", f64(0)), ops.NewVariable("q", f64(0))
	var asked []int
	opt := around(&optim.SGD{Schedule: rates(func(step int) float64 { asked = append(asked, step); return 1 })})
	record := func() ops.Value {
		loss := tape.Var(p).Add(tape.Var(q)).Sum()
		opt.Update(tape, loss, p)
		opt.Update(tape, loss, q)
		return loss
	}
	for range 2 {
		record()
		tape.Discard()
		if _, err := tape.Eval(ctx, record()); err != nil {
			t.Fatal(err)
		}
		commit(t, tape, tape.Var(p))
		record()
		if _, err := tape.Step(ctx, tape.Input("x", f64(1)).Add(tape.Input("y", f64(1, 2, 3)).Reshape(7))); err == nil {
			t.Fatal("no error")
		}
	}
	if got, want := asked, []int{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2}; len(got) != len(want) || !equal(got, want) {
		t.Errorf("updates %v, want %v", got, want)
	}
	if n := values(t, opt.State()[0])[0]; n != 2 || values(t, p)[0] != -2 || values(t, q)[0] != -2 {
		t.Errorf("%v updates, p = %v, q = %v", n, values(t, p), values(t, q))
	}
	for _, v := range opt.State() {
		if x := values(t, v)[0]; v.Name() == "optim.ema_updates" && x != 2 || strings.HasSuffix(v.Name(), ".ema") && math.Abs(x+0.001+0.999*0.001+0.001) > 1e-12 {
			t.Errorf("%s is %v", v.Name(), x)
		}
	}
}

// rates is a schedule made of a function.
type rates func(step int) float64

func (f rates) Rate(step int) float64 { return f(step) }

func equal(a, b []int) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestMistakes in the fields are errors of the step, in words, and change nothing.
func TestMistakes(t *testing.T) {
	bad := rates(func(int) float64 { return math.NaN() })
	for words, opt := range map[string]optim.Optimizer{
		"SGD: the rate of update 0 is -1":                            &optim.SGD{LR: -1},
		"SGD: the rate of update 0 is NaN":                           &optim.SGD{Schedule: bad},
		"SGD: Nesterov wants Momentum":                               &optim.SGD{Nesterov: true},
		"SGD: Momentum is 1: it must be at least 0 and less than 1":  &optim.SGD{Momentum: 1},
		"SGD: WeightDecay is -0.1: it must be at least 0":            &optim.SGD{WeightDecay: -0.1},
		"Adam: the rate of update 0 is +Inf":                         &optim.Adam{LR: math.Inf(1)},
		"Adam: Beta1 is -0.5: it must be at least 0 and less than 1": &optim.Adam{Beta1: -0.5},
		"AdamW: Beta2 is NaN: it must be at least 0 and less than 1": &optim.AdamW{Beta2: math.NaN()},
		"AdamW: Eps is -1: it must be at least 0 and less than +Inf": &optim.AdamW{Eps: -1},
		"AdamW: WeightDecay is NaN: it must be at least 0":           &optim.AdamW{WeightDecay: math.NaN()},
	} {
		tape := newTape(t)
		p := ops.NewVariable("p", f64(1))
		loss := tape.Var(p).Sum()
		opt.Update(tape, loss, p)
		_, err := tape.Step(ctx, loss)
		if err == nil || !strings.Contains(err.Error(), "optim: "+words) {
			t.Errorf("%v, want %q", err, words)
		}
		if got := values(t, p)[0]; got != 1 {
			t.Errorf("%s: p is %v", words, got)
		}
	}
	tape := newTape(t)
	p := ops.NewVariable("p", f64(1, 2))
	(&optim.SGD{}).Update(tape, tape.Var(p), p)
	if err := tape.Err(); err == nil || !strings.Contains(err.Error(), "the loss must be one number") {
		t.Error(err)
	}
	tape.Discard()
	(&optim.Adam{}).Update(tape, tape.Var(p).Sum(), p, nil)
	if err := tape.Err(); err == nil || err.Error() != "optim: Adam: parameter 1 is nil" {
		t.Error(err)
	}
	tape.Discard()
	(&optim.SGD{}).Update(tape, tape.Var(p).Sum())
	if err := tape.Err(); err == nil || err.Error() != "optim: SGD: there are no parameters to update" {
		t.Error(err)
	}
	tape.Discard()
	n := ops.NewVariable("n", tensor.Must(tensor.From([]int64{1})))
	(&optim.SGD{}).Update(tape, tape.Var(p).Sum(), n)
	if err := tape.Err(); !errors.Is(err, ops.ErrNotDifferentiable) {
		t.Error(err)
	}
}
