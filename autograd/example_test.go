package autograd_test

import (
	"context"
	"fmt"
	"log"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// Fit a line to four points. A step is recorded in plain Go, and runs as one graph.
func Example() {
	dev, err := cpu.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		log.Fatal(err)
	}
	x := tensor.Must(tensor.From([]float32{0, 1, 2, 3}, 4, 1))
	y := tensor.Must(tensor.From([]float32{1, 3, 5, 7}, 4, 1))
	w := ops.NewVariable("w", tensor.New(tensor.SpecOf(tensor.F32, 1, 1)))
	b := ops.NewVariable("b", tensor.New(tensor.SpecOf(tensor.F32, 1)))

	tape, ctx := autograd.New(eng), context.Background()
	for range 400 {
		predicted := tape.Input("x", x).MatMul(tape.Var(w)).Add(tape.Var(b))
		miss := predicted.Sub(tape.Input("y", y))
		loss := miss.Mul(miss).Mean()
		for i, g := range tape.Grad(loss, tape.Var(w), tape.Var(b)) {
			v := []*ops.Variable{w, b}[i]
			tape.Assign(v, tape.Var(v).Sub(g.Scale(0.1)))
		}
		if _, err := tape.Step(ctx, loss); err != nil { // runs it; all assignments happen, or none
			log.Fatal(err)
		}
	}
	if err := tape.Wait(ctx); err != nil { // what the last steps have to tell
		log.Fatal(err)
	}
	slope, _ := w.Value(ctx)
	shift, _ := b.Value(ctx)
	fmt.Printf("y = %.2f x + %.2f, compiled %d graph\n", slope.At(0), shift.At(0), eng.Stats().Compiles)
	// Output: y = 2.00 x + 1.00, compiled 1 graph
}

// A wrong shape is an error that names the operation, both operands and the line; it comes from the call that returns a result.
func ExampleTape_Step_error() {
	dev, err := cpu.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		log.Fatal(err)
	}
	tape := autograd.New(eng)
	a := tape.Input("a", tensor.New(tensor.SpecOf(tensor.F32, 3, 4)))
	b := tape.Input("b", tensor.New(tensor.SpecOf(tensor.F32, 5, 6)))
	tape.Scope("model", func() { a = a.MatMul(b).ReLU() })
	_, err = tape.Step(context.Background(), a)
	fmt.Println(err)
	// Output: autograd: step 0: matmul: inner dimensions differ: 4 (axis 1 of lhs [3 4]) vs 5 (axis 0 of rhs [5 6]) in scope model at example_test.go:67
}
