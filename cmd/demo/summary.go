package main

import (
	"context"
	"fmt"
	"io"

	"github.com/cortado-ml/cortado/data/fashion"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/tensor"
)

func summaryCommand(_ context.Context, args []string, out io.Writer) error {
	f := newFlags("summary", "[-model M]", "Lists the layers of a model for gray images of 28 x 28 pixels, with what each makes of one image and how many numbers it\ntrains.")
	name := f.String("model", "cnn", "the `model`: "+modelNames())
	if err := parse(f, args, out, false); err != nil {
		return err
	}
	r, err := recipeOf(*name)
	if err != nil {
		return err
	}
	net, err := layers.Build(r.build(len(fashion.Classes())), tensor.SpecOf(tensor.F32, 1, 1, 28, 28), 0, tensor.F32)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(out, net)
	return err
}
