package main

import (
	"context"
	"fmt"
	"io"
)

func summaryCommand(_ context.Context, args []string, out io.Writer) error {
	f := newFlags("summary", "[-model M]", "Lists the layers of a model for the data that the program brings along, with what each makes of one sample and how many\nnumbers it trains.")
	name := f.String("model", "cnn", "the `model`: "+modelNames())
	if err := parse(f, args, out, false); err != nil {
		return err
	}
	_, k, r, err := recipeOf(*name, "")
	if err != nil {
		return err
	}
	set, err := k.open(k.data, r)
	if err != nil {
		return err
	}
	net, err := build(set, r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(out, net)
	return err
}
