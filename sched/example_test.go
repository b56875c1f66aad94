package sched_test

import (
	"context"
	"fmt"
	"log"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// Two devices, a pin, and the plan that comes of it.
func Example() {
	first, err := cpu.Open(cpu.ID("cpu:0"), cpu.Threads(1))
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close()
	second, err := cpu.Open(cpu.ID("cpu:1"), cpu.Threads(1))
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close()
	eng, err := sched.New(first, second)
	if err != nil {
		log.Fatal(err)
	}
	tape := autograd.New(eng)
	x := tape.Input("x", tensor.Must(tensor.From([]float32{1, 2, 3})))
	y := x.Exp()
	tape.On("cpu:1", func() { y = y.Sum() })
	out, err := tape.Eval(context.Background(), y)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", out[0].At(0))
	fmt.Print(eng.Plans()[0])
	// Output:
	// 30.193
	// piece 0 on cpu:0: 1 operations, 0 bytes between parameters and outputs
	//   %0  f32[3]  input
	//   %1  f32[3]  exp %0  30 FLOP
	//   %1 -> value 0
	// piece 1 on cpu:1: 1 operations, 0 bytes between parameters and outputs
	//   %0  f32[3]  transfer of value 0 from cpu:0, 12 bytes
	//   %1  f32[]   sum %0  3 FLOP
	//   %1 -> result 0
}
