package table_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/data/table"
)

const flowers = `petal length, colour, kind
1.4, white, setosa
4.7, blue, versicolor
5.1, , virginica
1.6, blue, setosa
4.5, white, versicolor
5.9, blue, virginica
`

func Example() {
	t, err := table.Read(strings.NewReader(flowers), table.Format{})
	if err != nil {
		fmt.Println(err)
		return
	}
	train := []int{0, 1, 2, 3} // data.SplitClasses draws them at random
	encoder, err := t.Fit("kind", train)
	if err != nil {
		fmt.Println(err)
		return
	}
	all, err := t.Data(encoder)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(encoder.Target.Classes)
	for batch, err := range (data.Loader{Data: all, Batch: 2}).Batches(context.Background(), data.Position{}) {
		fmt.Println(batch.X, batch.Y, err)
	}
	// Output:
	// [setosa versicolor virginica]
	// f32[2 3]{-1.0542734 0 1 0.87856114 1 0} i64[2]{0 1} <nil>
	// f32[2 3]{1.1128441 0 0 -0.9371319 1 0} i64[2]{2 0} <nil>
	// f32[2 3]{0.76141965 0 1 1.58141 1 0} i64[2]{1 2} <nil>
}

// A file of any length is read twice as it comes, once to learn about its columns, once in each epoch.
func ExampleScan() {
	encoder, err := table.Scan(strings.NewReader(flowers), table.Format{}, "petal length")
	if err != nil {
		fmt.Println(err)
		return
	}
	stream := data.Stream{Batch: 4, Shuffle: 3, Seed: 1, Open: func(int) (data.Source, error) {
		return encoder.Rows(io.NopCloser(strings.NewReader(flowers)))
	}}
	for batch, err := range stream.Batches(context.Background(), data.Position{}) {
		fmt.Println(batch.X.Spec(), batch.Y.Spec(), batch.Index, err)
	}
	// Output:
	// f32[4 5] f32[4 1] [1 3 4 2] <nil>
	// f32[2 5] f32[2 1] [0 5] <nil>
}
