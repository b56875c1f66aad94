package optim_test

import (
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
)

// TestApply: an update by given gradients is that by the loss whose gradients they are.
func TestApply(t *testing.T) {
	for name, fresh := range map[string]func() optim.Optimizer{
		"SGD":   func() optim.Optimizer { return &optim.SGD{LR: 0.01, Momentum: 0.9} },
		"Adam":  func() optim.Optimizer { return &optim.Adam{} },
		"AdamW": func() optim.Optimizer { return &optim.AdamW{} },
	} {
		tape := newTape(t)
		p, q := ops.NewVariable("p", f64(1, -2, 3, 0.5)), ops.NewVariable("p", f64(1, -2, 3, 0.5))
		byLoss, byGradient := fresh(), fresh()
		for step := range 5 {
			loss := cubic(tape, p, step)
			byLoss.Update(tape, loss, p)
			commit(t, tape, loss)
			loss = cubic(tape, q, step)
			byGradient.Apply(tape, []*ops.Variable{q}, tape.Grad(byGradient.Loss(tape, loss), tape.Var(q)))
			commit(t, tape, loss)
		}
		if a, b := values(t, p), values(t, q); !same(a, b) {
			t.Errorf("%s: %v by gradients, %v by the loss", name, b, a)
		}
	}
}

func same(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// TestApplyOtherType: the gradient of a 16-bit parameter may be in float32, and keeps its digits on the way to the state.
func TestApplyOtherType(t *testing.T) {
	tape := newTape(t)
	p := ops.NewVariable("p", tensor.New(tensor.SpecOf(tensor.BF16, 1)))
	opt := &optim.SGD{LR: 1, Momentum: 0.5}
	g := tape.Scalar("g", tensor.F32, 1.001953125).Reshape(1) // two digits more than bf16 has
	opt.Apply(tape, []*ops.Variable{p}, []ops.Value{g})
	commit(t, tape)
	if got := values(t, opt.State()[1])[0]; got != 1.001953125 {
		t.Error(got)
	}
}

// TestApplyMistakes are errors of the step, in words.
func TestApplyMistakes(t *testing.T) {
	p, q := ops.NewVariable("p", f64(1, 2)), ops.NewVariable("q", tensor.Must(tensor.From([]int64{1, 2})))
	for words, f := range map[string]func(t *autograd.Tape, o optim.Optimizer){
		"there are 0 gradients for 1 parameters":         func(t *autograd.Tape, o optim.Optimizer) { o.Apply(t, []*ops.Variable{p}, nil) },
		"there are no parameters to update":              func(t *autograd.Tape, o optim.Optimizer) { o.Apply(t, nil, nil) },
		"parameter 0 is nil":                             func(t *autograd.Tape, o optim.Optimizer) { o.Apply(t, []*ops.Variable{nil}, []ops.Value{t.Var(p)}) },
		"parameter p is f64[2], and its gradient f64[]":  func(t *autograd.Tape, o optim.Optimizer) { o.Apply(t, []*ops.Variable{p}, []ops.Value{t.Var(p).Sum()}) },
		"parameter p is f64[2], and its gradient i64[2]": func(t *autograd.Tape, o optim.Optimizer) { o.Apply(t, []*ops.Variable{p}, []ops.Value{t.Var(q)}) },
		"parameter p is given twice": func(t *autograd.Tape, o optim.Optimizer) {
			o.Apply(t, []*ops.Variable{p, p}, []ops.Value{t.Var(p), t.Var(p)})
		},
		"parameter q is i64[2]: not differentiable":                func(t *autograd.Tape, o optim.Optimizer) { o.Apply(t, []*ops.Variable{q}, []ops.Value{t.Var(p)}) },
		"parameter p is f64[2], and its gradient " + none.String(): func(t *autograd.Tape, o optim.Optimizer) { o.Apply(t, []*ops.Variable{p}, make([]ops.Value, 1)) },
	} {
		for _, o := range []optim.Optimizer{&optim.SGD{Momentum: 0.9}, &optim.Adam{}, &optim.AdamW{}} {
			tape := autograd.New(nil)
			f(tape, o)
			if err := tape.Err(); err == nil || !strings.HasPrefix(err.Error(), "optim: ") || !strings.Contains(err.Error(), ": "+words) {
				t.Errorf("%T: %v, want %q", o, err, words)
			}
		}
	}
}

// none is the spec of no value.
var none tensor.Spec
