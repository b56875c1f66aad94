package cpu_test

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

// What a program compiles to, on the plain level that every processor has: bias and ReLU are part of the product.
func Example() {
	dev, err := cpu.Open(cpu.Level("generic"), cpu.Threads(1))
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		log.Fatal(err)
	}
	tape := autograd.New(eng)
	x := tape.Input("x", tensor.Must(tensor.From([]float32{1, -2}, 1, 2)))
	w := tape.Input("w", tensor.Must(tensor.From([]float32{3, 4, 5, 6}, 2, 2)))
	b := tape.Input("b", tensor.Must(tensor.From([]float32{10, 0.5})))
	out, err := tape.Eval(context.Background(), ops.Linear(x, w, b).ReLU())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out[0])
	for _, step := range eng.Plans()[0].Profile() {
		fmt.Println(step.Kernel)
	}
	// Output:
	// f32[1 2]{5 0}
	// gemm f32 generic
}
