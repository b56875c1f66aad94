package work_test

import (
	"fmt"

	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// square squares its part of x in place.
type square struct{ x []float32 }

func (s *square) Do(i int) { s.x[i] *= s.x[i] }

func Example() {
	pool := work.New(2)
	defer pool.Close()
	x := []float32{1, 2, 3}
	pool.Run(len(x), &square{x})
	fmt.Println(x)
	// Output: [1 4 9]
}
