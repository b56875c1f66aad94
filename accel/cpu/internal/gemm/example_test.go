package gemm_test

import (
	"fmt"

	"github.com/cortado-ml/cortado/accel/cpu/internal/gemm"
	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// A linear layer with weights [out, in], bias and ReLU.
func Example() {
	const batch, in, out = 2, 3, 2
	x := []float32{1, 2, 3, 4, 5, 6}
	w := []float32{1, 0, -1, 1, 1, 1}
	bias := []float32{0, 0.5}

	plan, err := gemm.NewPlan[float32](isa.Detect(), gemm.Shape{M: batch, N: out, K: in, TransB: true, Bias: true, ReLU: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	pool := work.New(2)
	defer pool.Close()
	y := make([]float32, batch*out)
	scratch := make([]float32, plan.Scratch(pool.Threads()))
	plan.Run(pool, scratch, x, w, bias, y)
	fmt.Println(y)
	// Output: [0 6.5 0 15.5]
}
