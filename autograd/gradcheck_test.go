package autograd_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// refRunner runs graphs node by node with the operations' references. It knows no effects: a check has none.
type refRunner struct {
	graphs map[*ops.Graph]bool
	runs   int
	fails  error
}

func (r *refRunner) Run(_ context.Context, g *ops.Graph, feeds []tensor.Tensor, rng tensor.Tensor, res *ops.Results) error {
	if r.graphs == nil {
		r.graphs = map[*ops.Graph]bool{}
	}
	r.graphs[g] = true
	r.runs++
	values := make([][]tensor.Tensor, len(g.Nodes))
	res.Explain = func(err error) error { return err }
	res.Done.Reset()
	err := r.fails
	for i, n := range g.Nodes {
		if err != nil {
			break
		}
		out := make([]tensor.Tensor, len(n.Out))
		switch kind, v := g.Kind(uint32(i)); kind {
		case ops.Feed:
			out[0] = feeds[g.Feeds[i]].Clone()
		case ops.Var:
			out[0] = v.Host()
		case ops.RNG:
			out[0] = rng.Clone()
		case ops.Compute:
			var in []tensor.Tensor
			for _, e := range n.In {
				in = append(in, values[e.Node][e.Out])
			}
			for j, s := range n.Out {
				out[j] = tensor.New(s)
			}
			if e := n.Op.Ref(out, in); e != nil {
				err = n.Place(e)
			}
		}
		values[i] = out
	}
	res.Bufs = res.Bufs[:0]
	for _, e := range g.Outs {
		if err == nil {
			res.Bufs = append(res.Bufs, host{values[e.Node][e.Out]})
		}
	}
	res.Done.Finish(err)
	return nil
}

// host is storage in Go memory.
type host struct{ tensor.Tensor }

func (host) Wait(context.Context) error                          { return nil }
func (h host) Download(_ context.Context, t tensor.Tensor) error { t.CopyFrom(h.Tensor); return nil }
func (host) Free()                                               {}

type builder = func(t *autograd.Tape, in []ops.Value) ops.Value

func checkGrad(f builder, in ...tensor.Tensor) error {
	return autograd.CheckGrad(context.Background(), &refRunner{}, f, in, autograd.CheckOptions{})
}

// numbers is an irregular array.
func numbers(seed int, dims ...int) tensor.Tensor {
	t := tensor.New(tensor.SpecOf(tensor.F64, dims...))
	for i := range t.Len() {
		t.Set(i, math.Mod(float64(i+1)*math.Phi+float64(seed)*math.Sqrt2, 2)-0.9)
	}
	return t
}

// TestCheckGradAccepts: right gradients pass, first and second, with integers, narrow floats, zero sizes and random numbers among them.
func TestCheckGradAccepts(t *testing.T) {
	labels := tensor.Must(tensor.From([]int64{2, 0, 1}))
	narrow := tensor.Must(tensor.From([]float32{1, -2, 0.5}))
	for name, c := range map[string]struct {
		f  builder
		in []tensor.Tensor
	}{
		"network": {func(t *autograd.Tape, in []ops.Value) ops.Value {
			h := ops.Linear(in[0], in[1], in[2]).Tanh()
			return ops.CrossEntropy(h, in[3])
		}, []tensor.Tensor{numbers(1, 3, 4), numbers(2, 3, 4), numbers(3, 3), labels}},
		"many outputs": {func(t *autograd.Tape, in []ops.Value) ops.Value { return in[0].Softmax(-1) }, []tensor.Tensor{numbers(1, 2, 5)}},
		"f32 operand":  {func(t *autograd.Tape, in []ops.Value) ops.Value { return in[0].Mul(in[0]) }, []tensor.Tensor{narrow}},
		"zero size":    {func(t *autograd.Tape, in []ops.Value) ops.Value { return in[0].Exp().Sum(0) }, []tensor.Tensor{numbers(1, 0, 3)}},
		"rank 0":       {func(t *autograd.Tape, in []ops.Value) ops.Value { return in[0].Exp() }, []tensor.Tensor{numbers(1)}},
		"dropout":      {func(t *autograd.Tape, in []ops.Value) ops.Value { return ops.Dropout(in[0], 0.5) }, []tensor.Tensor{numbers(1, 9)}},
		"large": {func(t *autograd.Tape, in []ops.Value) ops.Value { return in[0].Scale(1e6).Mul(in[0]) },
			[]tensor.Tensor{tensor.Must(tensor.From([]float64{1e5, -3e4, 2}))}},
		"checkpoint": {func(t *autograd.Tape, in []ops.Value) ops.Value {
			return t.Checkpoint(func() ops.Value { return in[0].Exp().Tanh() }).Mul(in[0])
		}, []tensor.Tensor{numbers(1, 4)}},
		"second order": {func(t *autograd.Tape, in []ops.Value) ops.Value {
			g := t.Grad(in[0].MatMul(in[1]).Tanh().Sum(), in[0])[0]
			return g.Mul(g)
		}, []tensor.Tensor{numbers(1, 2, 3), numbers(2, 3, 2)}},
		"no dependence": {func(t *autograd.Tape, in []ops.Value) ops.Value { return in[0] }, []tensor.Tensor{numbers(1, 2), numbers(2, 2)}},
	} {
		if err := checkGrad(c.f, c.in...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if narrow.At(0) != 1 {
		t.Error("an input was changed")
	}
}

// A wrongOp computes rightly what its kind says, from x, or x and w, and gives a gradient with one fault.
type wrongOp struct{ Kind string }

func (o wrongOp) Name() string                                { return o.Kind }
func (wrongOp) Cost(in, out []tensor.Spec) ops.Cost           { return ops.Traffic(in, out) }
func (wrongOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in[:1], nil }

func (o wrongOp) Ref(out, in []tensor.Tensor) error {
	x, y := in[0], out[0]
	n := x.Shape().Dim(-1)
	for i := range y.Len() {
		switch len(in) {
		case 1: // x²
			y.Set(i, x.At(i)*x.At(i))
		case 2:
			if in[1].Shape().Rank() == 1 { // a bias
				y.Set(i, x.At(i)+in[1].At(i%n))
				continue
			}
			sum := 0.0 // a product of square matrices
			for k := range n {
				sum += x.At(i/n*n+k) * in[1].At(k*n+i%n)
			}
			y.Set(i, sum)
		}
	}
	return nil
}

func (o wrongOp) Grad(b *ops.Backward) {
	dy, _ := b.Dy(0)
	x := b.In(0)
	right := dy.Mul(x).Scale(2)
	switch o.Kind {
	case "missing factor":
		b.Set(0, dy.Mul(x))
	case "double counting":
		b.Set(0, right.Add(right))
	case "wrong sign":
		b.Set(0, right.Neg())
	case "zero":
		b.Set(0, right.Scale(0))
	case "not set":
	case "NaN":
		b.Set(0, right.Scale(math.NaN()))
	case "infinite":
		b.Set(0, right.Scale(math.Inf(1)))
	case "one element":
		last := right.Slice(0, right.Dim(0)-1, right.Dim(0))
		b.Set(0, ops.Concat(0, right.Slice(0, 0, right.Dim(0)-1), last.Scale(1.001)))
	case "a little":
		b.Set(0, right.Scale(1+1e-5))
	case "dy ignored":
		b.Set(0, x.Scale(2))
	case "neighbour's":
		b.Set(0, ops.Concat(0, right.Slice(0, 1, right.Dim(0)), right.Slice(0, 0, 1)))
	case "missing broadcast sum":
		b.Set(0, dy)
		b.Set(1, dy.Slice(0, 0, 1).Reshape(dy.Dim(1)))
	case "mean for sum":
		b.Set(0, dy)
		b.Set(1, dy.Mean(0))
	case "wrong transpose":
		b.Set(0, dy.MatMul(b.In(1)))
		b.Set(1, ops.MatMulT(x, dy, true, false))
	case "transposed result":
		b.Set(0, ops.MatMulT(dy, b.In(1), false, true))
		b.Set(1, ops.MatMulT(dy, x, true, false))
	case "operands exchanged":
		b.Set(0, ops.MatMulT(x, dy, true, false))
		b.Set(1, ops.MatMulT(dy, b.In(1), false, true))
	}
}

// TestCheckGradCatches: each wrong gradient is found, and the error says where and by how much.
func TestCheckGradCatches(t *testing.T) {
	wrong := func(t *autograd.Tape, kind string, in []ops.Value) ops.Value { return ops.Apply(wrongOp{kind}, in...) }
	for kind, c := range map[string]struct {
		in    []tensor.Tensor
		input int // whose gradient is wrong
	}{
		"missing factor":        {[]tensor.Tensor{numbers(1, 4)}, 0},
		"double counting":       {[]tensor.Tensor{numbers(1, 4)}, 0},
		"wrong sign":            {[]tensor.Tensor{numbers(1, 4)}, 0},
		"zero":                  {[]tensor.Tensor{numbers(1, 4)}, 0},
		"not set":               {[]tensor.Tensor{numbers(1, 4)}, 0},
		"NaN":                   {[]tensor.Tensor{numbers(1, 4)}, 0},
		"infinite":              {[]tensor.Tensor{numbers(1, 4)}, 0},
		"one element":           {[]tensor.Tensor{numbers(1, 4)}, 0},
		"a little":              {[]tensor.Tensor{numbers(1, 4)}, 0},
		"dy ignored":            {[]tensor.Tensor{numbers(1, 4)}, 0},
		"neighbour's":           {[]tensor.Tensor{numbers(1, 4)}, 0},
		"missing broadcast sum": {[]tensor.Tensor{numbers(1, 3, 2), numbers(2, 2)}, 1},
		"mean for sum":          {[]tensor.Tensor{numbers(1, 3, 2), numbers(2, 2)}, 1},
		"wrong transpose":       {[]tensor.Tensor{numbers(1, 3, 3), numbers(2, 3, 3)}, 0},
		"transposed result":     {[]tensor.Tensor{numbers(1, 3, 3), numbers(2, 3, 3)}, 1},
		"operands exchanged":    {[]tensor.Tensor{numbers(1, 3, 3), numbers(2, 3, 3)}, -1},
	} {
		for where, f := range map[string]builder{
			"alone":  func(t *autograd.Tape, in []ops.Value) ops.Value { return wrong(t, kind, in) },
			"inside": func(t *autograd.Tape, in []ops.Value) ops.Value { return wrong(t, kind, in).Tanh().Shift(1) },
			"as loss": func(t *autograd.Tape, in []ops.Value) ops.Value {
				y := wrong(t, kind, in)
				return y.Mul(y).Mean()
			},
		} {
			err := checkGrad(f, c.in...)
			var e *autograd.GradError
			if !errors.As(err, &e) {
				t.Errorf("%s, %s: not caught: %v", kind, where, err)
				continue
			}
			if c.input >= 0 && e.Input != c.input || e.Wrong == 0 || e.Of != c.in[e.Input].Len() || e.Rough {
				t.Errorf("%s, %s: %+v", kind, where, e)
			}
			for _, words := range []string{"autograd: gradient check: ", fmt.Sprintf("input %d ", e.Input), fmt.Sprintf("element %d ", e.Element), fmt.Sprint(e.Gradient), fmt.Sprint(e.Difference)} {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%s: %v has no %q", kind, err, words)
				}
			}
			if kind == "one element" && where == "alone" && (e.Element != 3 || e.Wrong != 1) {
				t.Errorf("%s: %+v", kind, e)
			}
		}
	}
}

// TestCheckGradSecondOrder: a gradient that is right, with a derivative that is not, is caught by checking the gradient's gradient.
func TestCheckGradSecondOrder(t *testing.T) {
	f := func(t *autograd.Tape, in []ops.Value) ops.Value { return ops.Apply(flatGrad{}, in[0]) }
	if err := checkGrad(f, numbers(1, 3)); err != nil {
		t.Error(err)
	}
	err := checkGrad(func(t *autograd.Tape, in []ops.Value) ops.Value { return t.Grad(f(t, in).Sum(), in[0])[0] }, numbers(1, 3))
	var e *autograd.GradError
	if !errors.As(err, &e) || e.Gradient != 0 {
		t.Errorf("%v", err)
	}
}

// flatGrad is x² whose gradient hides that it depends on x.
type flatGrad struct{ wrongOp }

func (flatGrad) Grad(b *ops.Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, dy.Mul(b.In(0).StopGradient()).Scale(2))
}

// TestCheckGradRough: at a kink it says that the function is not smooth there.
func TestCheckGradRough(t *testing.T) {
	x := tensor.Must(tensor.From([]float64{1, 0, -1}))
	err := checkGrad(func(t *autograd.Tape, in []ops.Value) ops.Value { return in[0].ReLU() }, x)
	var e *autograd.GradError
	if !errors.As(err, &e) || !e.Rough || e.Element != 1 || e.Wrong != 1 || !strings.Contains(err.Error(), "not smooth there") {
		t.Errorf("%v", err)
	}
	if err := checkGrad(func(t *autograd.Tape, in []ops.Value) ops.Value { return in[0].Log() }, x); !errors.As(err, &e) {
		t.Errorf("NaN: %v", err)
	}
}

// TestCheckGradErrors: what goes wrong in f, in the run or in the arguments is told, with its cause.
func TestCheckGradErrors(t *testing.T) {
	square := func(t *autograd.Tape, in []ops.Value) ops.Value { return in[0].Mul(in[0]) }
	x := numbers(1, 2)
	var shape *tensor.ShapeError
	if err := checkGrad(func(t *autograd.Tape, in []ops.Value) ops.Value { return in[0].Reshape(3) }, x); !errors.As(err, &shape) {
		t.Errorf("%v", err)
	}
	if err := checkGrad(func(t *autograd.Tape, in []ops.Value) ops.Value { return in[0].Cast(tensor.F32) }, x); !errors.As(err, &shape) || !strings.Contains(err.Error(), "f must return a float64 value (f32[2])") {
		t.Errorf("%v", err)
	}
	if err := checkGrad(square, tensor.Must(tensor.From([]int64{1}))); err == nil {
		t.Error("integers have no gradient")
	}
	if err := checkGrad(func(t *autograd.Tape, in []ops.Value) ops.Value { return t.Scalar("s", tensor.F64, 1) }); !errors.Is(err, ops.ErrMisuse) {
		t.Errorf("no input: %v", err)
	}
	if err := checkGrad(square, tensor.Tensor{}); !errors.Is(err, ops.ErrMisuse) {
		t.Errorf("no tensor: %v", err)
	}
	if err := checkGrad(func(t *autograd.Tape, in []ops.Value) ops.Value { return ops.Value{} }, x); err == nil {
		t.Error("no value")
	}
	calls := 0
	if err := checkGrad(func(t *autograd.Tape, in []ops.Value) ops.Value {
		if calls++; calls > 1 {
			return in[0].Sum()
		}
		return in[0].Exp()
	}, x); !errors.As(err, &shape) || !strings.Contains(err.Error(), "another shape") {
		t.Errorf("%v", err)
	}
	broken := errors.New("the machine is on fire")
	if err := autograd.CheckGrad(t.Context(), &refRunner{fails: broken}, square, []tensor.Tensor{x}, autograd.CheckOptions{}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	var index *ops.IndexError
	if err := checkGrad(func(t *autograd.Tape, in []ops.Value) ops.Value { return ops.CrossEntropy(in[0], in[1]) }, x, tensor.Scalar(int64(5))); !errors.As(err, &index) {
		t.Errorf("%v", err)
	}
}

// TestCheckGradOptions: the tolerance and the step are the caller's, and the function is recorded twice only, however many elements.
func TestCheckGradOptions(t *testing.T) {
	f := func(t *autograd.Tape, in []ops.Value) ops.Value { return ops.Apply(wrongOp{"a little"}, in[0]) }
	r := &refRunner{}
	if err := autograd.CheckGrad(t.Context(), r, f, []tensor.Tensor{numbers(1, 20)}, autograd.CheckOptions{Tolerance: 1e-3, Step: 1e-4}); err != nil {
		t.Error(err)
	}
	if len(r.graphs) != 2 || r.runs != 41 {
		t.Errorf("%d graphs, %d runs", len(r.graphs), r.runs)
	}
}

// The square of this op forgets the factor 2 in its gradient. The check names the worst element and both numbers. The runner is an
// engine: sched.New makes one.
func ExampleCheckGrad() {
	x := tensor.Must(tensor.From([]float64{1, -2, 3}))
	err := autograd.CheckGrad(context.Background(), &refRunner{}, func(t *autograd.Tape, in []ops.Value) ops.Value {
		return ops.Apply(wrongOp{"missing factor"}, in[0]).Sum()
	}, []tensor.Tensor{x}, autograd.CheckOptions{Tolerance: 1e-4})
	var e *autograd.GradError
	fmt.Println(errors.As(err, &e))
	fmt.Printf("input %d, element %d: ratio %.3f, %d of %d differ\n", e.Input, e.Element, e.Gradient/e.Difference, e.Wrong, e.Of)
	// Output:
	// true
	// input 0, element 2: ratio 0.500, 3 of 3 differ
}
