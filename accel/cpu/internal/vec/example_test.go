package vec_test

import (
	"fmt"
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/vec"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

func bytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// A layer's bias and activation are one chain: the sum never leaves the cache.
func Example() {
	p := &vec.Program{Shape: tensor.Of(2, 3)}
	x, bias := p.Input(tensor.F32, p.Shape), p.Input(tensor.F32, tensor.Of(3))
	p.Outputs = []vec.Reg{p.Op(vec.ReLU, p.Op(vec.Add, x, bias))}
	chain, err := vec.Compile(isa.Detect(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	pool := work.New(2)
	defer pool.Close()
	y := []float32{1, 2, 3, 4, 5, 6}
	// In place: the output may be the memory of an input of the same shape.
	if err := chain.Run(pool, [][]byte{bytes(y), bytes([]float32{0, -3, 10})}, [][]byte{bytes(y)}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(y)
	// Output: [1 0 13 4 2 16]
}
