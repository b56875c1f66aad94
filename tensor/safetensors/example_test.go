package safetensors_test

import (
	"bytes"
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

func Example() {
	weight := tensor.Must(tensor.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3))
	var file bytes.Buffer // or safetensors.WriteFile("model.safetensors", …)
	err := safetensors.Write(&file, []safetensors.Named{{Name: "fc.weight", Tensor: weight}}, map[string]string{"epoch": "5"})
	if err != nil {
		fmt.Println(err)
		return
	}

	f, err := safetensors.Read(bytes.NewReader(file.Bytes()), int64(file.Len())) // or safetensors.Open("model.safetensors")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Names(), f.Metadata(), f.Verify())
	fmt.Println(f.Tensor("fc.weight"))
	fmt.Println(f.Tensor("fc.bias"))
	fmt.Println(f.Tensors()) // all that are there, as Write takes them
	// Output:
	// [fc.weight] map[epoch:5] <nil>
	// f32[2 3]{1 2 3 4 5 6} <nil>
	// none safetensors: there is no tensor "fc.bias"
	// [{fc.weight f32[2 3]{1 2 3 4 5 6}}] <nil>
}
