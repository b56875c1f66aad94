package optim_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// Update records the gradient and the update; Step runs both with the loss.
func Example() {
	eng, err := sched.New(acceltest.Reference("reference")) // a driver's device in a program
	if err != nil {
		fmt.Println(err)
		return
	}
	tape := autograd.New(eng)
	w := ops.NewVariable("w", tensor.Must(tensor.From([]float64{3, -1})))
	opt := &optim.SGD{LR: 0.25, Momentum: 0.5}
	for range 4 {
		x := tape.Var(w)
		loss := x.Mul(x).Sum()
		opt.Update(tape, loss, w)
		res, err := tape.Step(context.Background(), loss)
		if err != nil {
			fmt.Println(err)
			return
		}
		l, err := res.Float(context.Background(), 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(l)
		res.Release()
	}
	for _, v := range opt.State() {
		fmt.Println(v.Name(), v.Spec())
	}
	// Output:
	// 10
	// 2.5
	// 0
	// 0.625
	// optim.step i64[]
	// w.momentum_buffer f64[2]
}

// newExample is a tape on a reference device, and a model of a weight and a bias whose loss is (2w + b)².
func newExample() (tape *autograd.Tape, params []*ops.Variable, loss func() ops.Value) {
	eng, err := sched.New(acceltest.Reference("reference")) // a driver's device in a program
	if err != nil {
		fmt.Println(err)
	}
	tape = autograd.New(eng)
	w, b := ops.NewVariable("weight", tensor.Scalar(1.0)), ops.NewVariable("bias", tensor.Scalar(1.0))
	return tape, []*ops.Variable{w, b}, func() ops.Value {
		y := tape.Var(w).Scale(2).Add(tape.Var(b))
		return y.Mul(y)
	}
}

// show runs a step and prints its result, and variables afterwards.
func show(tape *autograd.Tape, loss ops.Value, vars ...*ops.Variable) {
	ctx := context.Background()
	res, err := tape.Step(ctx, loss)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Release()
	l, err := res.Float(ctx, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("loss %.4g", l)
	for _, v := range vars {
		x, err := v.Value(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf(", %s %.4g", v.Name(), x.At(0))
	}
	fmt.Println()
}

// Weights decay, biases do not; all gradients together are no longer than 1.
func ExampleGroups() {
	tape, params, loss := newExample()
	opt := &optim.Clip{Norm: 1, Optimizer: optim.Groups{
		{Match: func(name string) bool { return name == "weight" }, Optimizer: &optim.SGD{LR: 0.1, WeightDecay: 0.5}},
		{Optimizer: &optim.SGD{LR: 0.1}},
	}}
	for range 3 {
		l := loss()
		opt.Update(tape, l, params...)
		show(tape, l, params...)
	}
	// Output:
	// loss 9, weight 0.8606, bias 0.9553
	// loss 7.163, weight 0.7281, bias 0.9106
	// loss 5.601, weight 0.6022, bias 0.8658
}

// A gradient that is not finite is an error by the parameter's name, and changes nothing.
func ExampleClip() {
	tape, params, loss := newExample()
	opt := &optim.Clip{Norm: 1, Optimizer: &optim.SGD{LR: 0.1}}
	l := loss().Scale(math.Inf(1))
	opt.Update(tape, l, params...)
	res, err := tape.Step(context.Background(), l)
	if err == nil {
		err = res.Wait(context.Background())
	}
	var e *optim.NotFiniteError
	fmt.Println(errors.As(err, &e), e)
	// Output:
	// true optim: the gradient of weight is not finite
}

// A loop that sums gradients of its own takes those of Loss and gives them to Apply.
func ExampleLossScale() {
	tape, params, loss := newExample()
	opt := &optim.LossScale{Optimizer: &optim.Adam{LR: 0.1}}
	for range 2 {
		l := loss()
		grads := tape.Grad(opt.Loss(tape, l), tape.Var(params[0]), tape.Var(params[1]))
		opt.Apply(tape, params, grads)
		show(tape, l, params...)
	}
	for _, v := range opt.State() {
		fmt.Println(v)
	}
	// Output:
	// loss 9, weight 0.9, bias 0.9
	// loss 7.29, weight 0.8004, bias 0.8004
	// optim.step i64[]
	// weight.exp_avg f64[]
	// weight.exp_avg_sq f64[]
	// bias.exp_avg f64[]
	// bias.exp_avg_sq f64[]
	// optim.loss_scale f32[]
	// optim.good_steps i64[]
	// optim.skipped i64[]
}

// The averages are lent to the parameters while a function evaluates or saves them.
func ExampleEMA() {
	tape, params, loss := newExample()
	opt := &optim.EMA{Decay: 0.5, Optimizer: &optim.SGD{LR: 0.05}}
	for range 3 {
		l := loss()
		opt.Update(tape, l, params...)
		show(tape, l, params...)
	}
	err := opt.With(context.Background(), func() error {
		show(tape, loss(), params...)
		return nil
	})
	fmt.Println(err)
	show(tape, loss(), params...)
	// Output:
	// loss 9, weight 0.4, bias 0.7
	// loss 2.25, weight 0.1, bias 0.55
	// loss 0.5625, weight -0.05, bias 0.475
	// loss 0.8789, weight 0.175, bias 0.5875
	// <nil>
	// loss 0.1406, weight -0.05, bias 0.475
}

// Ten updates of warm-up, then a fall in steps; half the rate for the head.
func ExampleWarmup() {
	rate := optim.Warmup{Steps: 10, Then: optim.Step{LR: 0.1, Every: 100}}
	head := optim.Scaled{By: 0.5, Of: rate}
	for _, step := range []int{0, 4, 9, 10, 110, 210} {
		fmt.Printf("%.3g %.3g\n", rate.Rate(step), head.Rate(step))
	}
	// Output:
	// 0.01 0.005
	// 0.05 0.025
	// 0.1 0.05
	// 0.1 0.05
	// 0.01 0.005
	// 0.001 0.0005
}

// The rate of a schedule is a function of the number of the update alone.
func ExampleOneCycle() {
	s := optim.OneCycle{Max: 0.004, Steps: 100}
	for _, step := range []int{0, 29, 99, 1000} {
		fmt.Printf("%.2g\n", s.Rate(step))
	}
	// Output:
	// 0.00016
	// 0.004
	// 1.6e-08
	// 1.6e-08
}

// Two groups, as PyTorch scripts make them: matrices decay, biases and the scales of norms, which have one axis, do not. AdamW whose WeightDecay is 0 has
// the default, 0.01; AdamW without any decay is Adam.
func ExampleGroups_noDecay() {
	_, params, _ := newExample()
	rate := optim.Warmup{Steps: 100, Then: optim.Cosine{LR: 1e-3, Steps: 10000}}
	none := func(name string) bool { return strings.HasSuffix(name, "bias") || strings.Contains(name, "norm") }
	opt := optim.Groups{
		{Match: none, Optimizer: &optim.Adam{Schedule: rate}},
		{Optimizer: &optim.AdamW{Schedule: rate, WeightDecay: 0.1}},
	}
	opt.Init(params...)
	for _, v := range opt.State() {
		fmt.Println(v.Name())
	}
	// Output:
	// optim.step
	// bias.exp_avg
	// bias.exp_avg_sq
	// weight.exp_avg
	// weight.exp_avg_sq
}

// What PyTorch's clip_grad_norm_ returns is a result of the step.
func ExampleMeasures() {
	tape, params, loss := newExample()
	opt := &optim.Clip{Norm: 1, Optimizer: &optim.SGD{LR: 0.1}}
	l := loss()
	opt.Update(tape, l, params...)
	norm := optim.Measures(tape, opt)[0]
	res, err := tape.Step(context.Background(), l, norm.Value)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Release()
	x, err := res.Float(context.Background(), 1)
	fmt.Printf("%s %.2f %v\n", norm.Name, x, err)
	// Output:
	// gradient_norm 13.42 <nil>
}
