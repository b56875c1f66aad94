package accel_test

import (
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/accel"
)

// A driver's error names the node of the graph that it compiled; the engine turns it into operation, scope and line.
func Example() {
	var err error = &accel.NodeError{Node: 3, Err: fmt.Errorf("tpu: sort: %w: no kernel", accel.ErrUnsupported)}
	fmt.Println(err)
	fmt.Println(errors.Is(err, accel.ErrUnsupported))
	// Output:
	// node 3: tpu: sort: accel: unsupported: no kernel
	// true
}
