package conv_test

import (
	"fmt"

	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// A 3x3 convolution with ReLU and 2x2 max-pool over one image, from NCHW and back.
func Example() {
	pool := work.New(work.DefaultThreads())
	defer pool.Close()
	shape := conv.Shape{N: 1, Cin: 1, H: 4, W: 4, Cout: 1, Groups: 1, Window: conv.Square(3, 1, 1)}
	plan, err := conv.NewFirst(isa.Detect(), shape, conv.Epilogue{ReLU: true, Pool: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	image := []float32{
		0, 0, 0, 0,
		0, 1, 2, 0,
		0, 3, 4, 0,
		0, 0, 0, 0,
	}
	weights := make([]float32, plan.WeightLen())
	plan.PackWeights(pool, weights, []float32{
		1, 0, 0,
		0, 1, 0,
		0, 0, -1,
	})
	y, win := make([]float32, plan.Result().Len()), make([]uint8, plan.Result().Len())
	plan.Run(pool, y, win, image, weights, []float32{0.5}, make([]float32, plan.Scratch(pool.Threads())))

	layout, err := conv.NewLayout(isa.Detect(), plan.Result())
	if err != nil {
		fmt.Println(err)
		return
	}
	plain := make([]float32, 4)
	layout.FromBlocked(pool, plain, y)
	fmt.Println(plain)
	for p := range 4 {
		fmt.Print(conv.Winner(win[p*conv.Block]), " ")
	}
	// Output:
	// [0 2.5 3.5 5.5]
	// -1 2 1 0
}
