package philox_test

import (
	"fmt"

	"github.com/cortado-ml/cortado/internal/philox"
)

// A dropout mask needs no memory: whoever knows the four numbers draws it again.
func Example() {
	const seed, stream, step = 1, 0, 7
	for i := range uint64(4) {
		fmt.Println(philox.Uniform(seed, stream, step, i) >= 0.5)
	}
	// Output:
	// false
	// false
	// true
	// false
}
