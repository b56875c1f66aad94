package formula_test

import (
	"fmt"

	"github.com/cortado-ml/cortado/internal/formula"
)

func Example() {
	weights := make([]float64, 3)
	formula.Fill(weights, 7, 0.5)
	labels := make([]int64, 3)
	formula.Labels(labels, 8, 10)
	fmt.Printf("%.4f %d\n", weights, labels)
	// Output: [-0.0551 -0.2416 0.2004] [5 5 4]
}
