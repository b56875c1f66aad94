package tensor_test

import (
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
)

func Example() {
	pixels := []float32{1, 2, 3, 4, 5, 6}
	t, err := tensor.From(pixels, 2, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	pixels[0] = 10 // t shares the slice
	fmt.Println(t)
	fmt.Println(t.Row(1))
	fmt.Println(tensor.Data[float32](t)[5])
	// Output:
	// f32[2 3]{10 2 3 4 5 6}
	// f32[3]{4 5 6}
	// 6
}

func ExampleTensor_Set() {
	t := tensor.New(tensor.SpecOf(tensor.U8, 3))
	t.Set(0, 2.9)
	t.Set(1, 300)
	t.Set(2, -1)
	fmt.Println(t)
	// Output: u8[3]{2 255 0}
}

func ExampleFull() {
	fmt.Println(tensor.Full(tensor.SpecOf(tensor.BF16, 2), 1.0/3)) // rounded to 8 bits
	// Output: bf16[2]{0.333984375 0.333984375}
}

func ExampleBroadcast() {
	fmt.Println(tensor.Broadcast(tensor.Of(64, 10), tensor.Of(10)))
	fmt.Println(tensor.Broadcast(tensor.Of(64, 10), tensor.Of(64, 1)))
	_, ok := tensor.Broadcast(tensor.Of(64, 10), tensor.Of(64))
	fmt.Println(ok)
	// Output:
	// [64 10] true
	// [64 10] true
	// false
}
