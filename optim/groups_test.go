package optim_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
)

func weights(name string) bool { return strings.HasSuffix(name, "weight") }

// TestGroups: the first group that matches updates a parameter, by its own options; biases do not decay.
func TestGroups(t *testing.T) {
	tape := newTape(t)
	w, b, head := ops.NewVariable("0.weight", f64(1)), ops.NewVariable("0.bias", f64(1)), ops.NewVariable("head.weight", f64(1))
	asked := map[string]int{}
	opt := optim.Groups{
		{Match: func(name string) bool { asked[name]++; return name == "head.weight" }, Optimizer: &optim.SGD{LR: 1}},
		{Match: weights, Optimizer: &optim.SGD{LR: 0.5, WeightDecay: 0.5}},
		{Optimizer: &optim.SGD{LR: 0.5}},
	}
	for range 3 {
		opt.Update(tape, tape.Var(w).Add(tape.Var(b)).Add(tape.Var(head)).Scale(0).Sum(), w, b, head)
		commit(t, tape)
	}
	if got := snapshot(t, []*ops.Variable{w, b, head}); !same(got, []float64{0.75 * 0.75 * 0.75, 1, 1}) {
		t.Error(got)
	}
	for name, n := range asked {
		if n != 1 {
			t.Errorf("Match was asked %d times for %s", n, name)
		}
	}
	if s := opt.State(); len(s) != 1 || s[0].Name() != "optim.step" || values(t, s[0])[0] != 3 {
		t.Errorf("%v", s)
	}
}

// TestGroupsMistakes are told by number and name.
func TestGroupsMistakes(t *testing.T) {
	p := ops.NewVariable("0.bias", f64(1))
	for words, opt := range map[string]optim.Groups{
		"optim: Groups: parameter 0.bias is in no group":                                     {{Match: weights, Optimizer: &optim.SGD{}}},
		"optim: Groups: there are none":                                                      {},
		"optim: Groups: group 1: Optimizer is needed":                                        {{Optimizer: &optim.SGD{}}, {}},
		"optim: Groups: group 0: its Optimizer is a LossScale, which goes around all others": {{Optimizer: &optim.LossScale{Optimizer: &optim.SGD{}}}},
		"optim: SGD: Momentum is 2":                                                          {{Optimizer: &optim.SGD{Momentum: 2}}},
	} {
		tape := autograd.New(nil)
		opt.Init(p)
		opt.Update(tape, tape.Var(p).Sum(), p)
		if err := tape.Err(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
}

// TestEMA: nothing is averaged before the first update; With lends the averages, rounded, and gives every bit back, whatever happens.
func TestEMA(t *testing.T) {
	for d := range ulps {
		tape, p := newTape(t), ops.NewVariable("p", full(d, 1))
		opt := &optim.EMA{Decay: 0.5, Optimizer: &optim.SGD{LR: 0.001}}
		opt.Init(p)
		if err := p.Set(ctx, full(d, 2)); err != nil { // such as a model that is loaded after Init
			t.Fatal(err)
		}
		saw := func() (x float64) {
			if err := opt.With(ctx, func() error { x = values(t, p)[0]; return nil }); err != nil {
				t.Fatal(err)
			}
			return x
		}
		if got := saw(); got != 2 {
			t.Errorf("%v before the first update", got)
		}
		for range 2 {
			opt.Update(tape, tape.Var(p).Cast(opt.Average(p).Spec().DType).Scale(1000).Sum(), p)
			commit(t, tape)
		}
		// 2, then 1 and 1.5, then 0 and 0.75.
		if a := values(t, opt.Average(p))[0]; math.Abs(a-0.75) > 1e-6 || math.Abs(saw()-a) > 0.01 {
			t.Errorf("average %v, seen as %v", a, saw())
		}
		before := snapshot(t, append(opt.State(), p))
		func() {
			defer func() { _ = recover() }()
			_ = opt.With(ctx, func() error { panic("in the evaluation") })
		}()
		if after := snapshot(t, append(opt.State(), p)); !same(before, after) {
			t.Errorf("%v became %v", before, after)
		}
		late := ops.NewVariable("late", full(d, 5))
		opt.Update(tape, tape.Var(p).Sum(), p, late)
		commit(t, tape)
		if got := values(t, opt.Average(late))[0]; got != 5 {
			t.Errorf("a parameter that joins late: %v", got)
		}
	}
	if err := (&optim.EMA{}).With(ctx, nil); err == nil {
		t.Error("no error")
	}
}

// TestResumeAll: every optimiser, saved after an update that was skipped where there are such, and loaded by name into another order of
// parameters, and of groups, goes on bit for bit.
func TestResumeAll(t *testing.T) {
	for name, fresh := range map[string]func(swap bool) optim.Optimizer{
		"everything": func(swap bool) optim.Optimizer {
			o := everything().(*optim.LossScale)
			if swap {
				g := o.Optimizer.(*optim.EMA).Optimizer.(*optim.Clip).Optimizer.(optim.Groups)
				g[1].Match = func(name string) bool { return !weights(name) }
				slices.Reverse(g)
			}
			return o
		},
	} {
		checkResume(t, name, fresh)
	}
	for name, fresh := range golden {
		checkResume(t, name, func(bool) optim.Optimizer { return fresh() })
	}
}

func checkResume(t *testing.T, name string, fresh func(swap bool) optim.Optimizer) {
	t.Helper()
	type run struct {
		g   *given
		opt optim.Optimizer
		all map[string]*ops.Variable
	}
	start := func(swap bool) *run {
		r := &run{g: &given{tape: newTape(t)}, opt: fresh(swap), all: map[string]*ops.Variable{}}
		for i, d := range floats {
			n := string(rune('a' + i))
			r.g.params = append(r.g.params, ops.NewVariable(n+".weight", full(d, 0.5)), ops.NewVariable(n+".bias", full(d, 0.5)))
		}
		if swap {
			slices.Reverse(r.g.params)
		}
		r.opt.Init(r.g.params...)
		for _, v := range append(slices.Clone(r.g.params), r.opt.State()...) {
			if r.all[v.Name()] != nil {
				t.Fatalf("%s: two variables are called %s", name, v.Name())
			}
			r.all[v.Name()] = v
		}
		return r
	}
	train := func(r *run, from, to int) {
		for step := from; step < to; step++ {
			r.g.feeds = r.g.feeds[:0]
			for _, p := range r.g.params {
				x := 0.25*float64(step%3) + 0.125*float64(p.Name()[0]-'a') - 0.25
				if name == "everything" && (step == 1 || step == 5) {
					x = math.Inf(1)
				}
				r.g.feeds = append(r.g.feeds, full(p.Spec().DType, x))
			}
			if err := r.g.step(r.opt); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	whole, first, second := start(false), start(false), start(true)
	train(whole, 0, 9)
	train(first, 0, 4)
	for n, v := range first.all {
		x, err := v.Value(ctx)
		if err != nil || second.all[n] == nil || second.all[n].Set(ctx, x) != nil {
			t.Fatalf("%s: %s: %v", name, n, err)
		}
	}
	train(second, 4, 9)
	for n, v := range whole.all {
		want, err := v.Value(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := second.all[n].Value(ctx); err != nil || !got.Same(want) {
			t.Errorf("%s: %s is %v, want %v, %v", name, n, got, want, err)
		}
	}
}
