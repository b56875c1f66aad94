package optim_test

import (
	"context"
	"fmt"

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
