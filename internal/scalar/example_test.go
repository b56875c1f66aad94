package scalar_test

import (
	"fmt"

	"github.com/cortado-ml/cortado/internal/scalar"
)

func ExampleGELU() {
	fmt.Printf("%.6e\n", scalar.GELU(-6))
	// Output: -5.919526e-09
}
