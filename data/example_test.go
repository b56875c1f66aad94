package data_test

import (
	"context"
	"fmt"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/data/fashion"
	"github.com/cortado-ml/cortado/tensor"
)

func Example() {
	train, _, err := data.OpenIDX(fashion.Files())
	if err != nil {
		fmt.Println(err)
		return
	}
	loader := data.Loader{Data: train, Batch: 64, Shuffle: true, Seed: 1, Transform: data.FlipHorizontal}
	var at data.Position // kept in a checkpoint
	for range 2 {        // epochs
		samples := 0
		for batch, err := range loader.Batches(context.Background(), at) {
			if err != nil {
				fmt.Println(err)
				return
			}
			if samples == 0 {
				fmt.Println(batch.X.Spec(), batch.Y.Spec())
			}
			samples += len(batch.Index)
			at = batch.Next
		}
		fmt.Println(samples, "samples; next", at)
	}
	// Output:
	// f32[64 1 28 28] i64[64]
	// 6000 samples; next {1 0}
	// f32[64 1 28 28] i64[64]
	// 6000 samples; next {2 0}
}

func ExampleTensors() {
	x := tensor.Must(tensor.From([]float32{0, 0, 0, 1, 1, 0, 1, 1}, 4, 2))
	y := tensor.Must(tensor.From([]float32{0, 1, 1, 0}, 4, 1))
	xor, err := data.Tensors(x, y)
	if err != nil {
		fmt.Println(err)
		return
	}
	for batch, err := range (data.Loader{Data: xor, Batch: 3}).Batches(context.Background(), data.Position{}) {
		fmt.Println(batch.X, batch.Y, err)
	}
	// Output:
	// f32[3 2]{0 0 0 1 1 0} f32[3 1]{0 1 1} <nil>
	// f32[1 2]{1 1} f32[1 1]{0} <nil>
}

func ExampleSplit() {
	samples, err := data.Tensors(tensor.New(tensor.SpecOf(tensor.F32, 10, 3)), tensor.New(tensor.SpecOf(tensor.I64, 10)))
	if err != nil {
		fmt.Println(err)
		return
	}
	train, validation, err := data.Split(samples, 8)
	fmt.Println(train.Len(), validation.Len(), err)
	// Output: 8 2 <nil>
}

// halves is a data set of one's own: images of 4 x 4 pixels whose left (class 0) or right half (class 1) is bright.
type halves int

func (n halves) Len() int { return int(n) }

func (halves) Specs() (x, y tensor.Spec) {
	return tensor.SpecOf(tensor.F32, 1, 4, 4), tensor.SpecOf(tensor.I64) // an image with one channel, a label
}

func (halves) Sample(i int, x, y tensor.Tensor) error {
	class := i % 2
	pixels := tensor.Data[float32](x) // []float32, since the spec says F32
	for p := range pixels {
		pixels[p] = 0
		if p%4/2 == class {
			pixels[p] = 1
		}
	}
	y.SetInt(0, int64(class))
	return nil
}

// Three methods make a data set; what makes it need not be in memory.
func ExampleDataset() {
	for batch, err := range (data.Loader{Data: halves(10), Batch: 2}).Batches(context.Background(), data.Position{}) {
		fmt.Println(batch.X.Spec(), batch.X.Row(1).Floats()[:4], batch.Y, err)
		break
	}
	// Output: f32[2 1 4 4] [0 0 1 1] i64[2]{0 1} <nil>
}

// Sentences of two to five words, in buckets of up to three and up to five.
func ExampleBuckets() {
	var sentences []tensor.Tensor
	for n := 2; n <= 5; n++ {
		sentences = append(sentences, tensor.Full(tensor.SpecOf(tensor.I64, n), float64(n)))
	}
	samples, err := data.Ragged(sentences, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	buckets := data.Buckets{Data: samples, Bounds: []int{3, 5}, Batch: 2}
	for batch, err := range buckets.Batches(context.Background(), data.Position{}) {
		fmt.Println(batch.X, err)
	}
	// Output:
	// i64[2 3]{2 2 0 3 3 3} <nil>
	// i64[2 5]{4 4 4 4 0 5 5 5 5 5} <nil>
}

// Three flowers in four train; each kind has its share of the others.
func ExampleSplitClasses() {
	kinds := []int{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}
	train, validation, err := data.SplitClasses(kinds, 0.25, 1)
	fmt.Println(train, validation, err)
	// Output: [0 1 2 4 5 6 7 9 11] [3 8 10] <nil>
}
