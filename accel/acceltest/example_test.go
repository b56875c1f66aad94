package acceltest_test

import (
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/tensor"
)

// A hostile device fails when it is told to, and remembers what its caller did wrong.
func Example() {
	d := acceltest.Hostile("test:0")
	defer d.Close()

	d.FailUpload(2, errors.New("the wire is cut"))
	b, err := d.Upload(ctx, tensor.Scalar(float32(1)))
	fmt.Println(d.Live(), err)
	_, err = d.Upload(ctx, tensor.Scalar(float32(2)))
	fmt.Println(d.Live(), err)

	b.Free()
	b.Free()
	fmt.Println(d.Faults())
	// Output:
	// 1 <nil>
	// 1 the wire is cut
	// [acceltest: broken contract: a buffer of f32[] is freed twice]
}
