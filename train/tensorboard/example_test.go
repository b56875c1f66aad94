package tensorboard_test

import (
	"bytes"
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train/tensorboard"
)

func Example() {
	var file bytes.Buffer // tensorboard.Create makes one in a folder
	w, err := tensorboard.NewWriter(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	for step, loss := range []float64{2.5, 1.25} {
		if err := w.Scalar("loss/train", step, loss); err != nil {
			fmt.Println(err)
		}
	}
	if err := w.Histogram("weights", 1, tensor.Must(tensor.From([]float32{-1, 0, 0, 3}))); err != nil {
		fmt.Println(err)
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}

	for e, err := range tensorboard.Read(&file) {
		switch {
		case err != nil:
			fmt.Println(err)
		case e.Version != "":
			fmt.Println(e.Version)
		case e.Values[0].Scalar != nil:
			fmt.Println(e.Step, e.Values[0].Tag, *e.Values[0].Scalar)
		case e.Values[0].Histogram != nil:
			h := e.Values[0].Histogram
			fmt.Println(e.Step, e.Values[0].Tag, h.Num, "from", h.Min, "to", h.Max)
		}
	}
	// Output:
	// brain.Event:2
	// 0 loss/train 2.5
	// 1 loss/train 1.25
	// 1 weights 4 from -1 to 3
}
