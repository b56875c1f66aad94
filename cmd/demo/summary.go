package main

import (
	"context"
	"fmt"
	"io"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

func summaryCommand(ctx context.Context, args []string, out io.Writer) error {
	f := newFlags("summary", "[-model M]", "Lists the layers of a model for the data that the program brings along, with what each makes of one sample, how many numbers\nit trains and what that costs; and where the time of a training step goes, on a batch as the model is trained with.")
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
	net, err := build(set, r, tensor.F32)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, net)
	eng, closeAll, err := openEngine("cpu", 0)
	if err != nil {
		return err
	}
	defer closeAll()
	p, err := profileStep(ctx, eng, net, set, r)
	if err != nil {
		return err
	}
	info := eng.Devices()[0].Info()
	_, err = fmt.Fprintf(out, "a step on a batch of %d, with %d threads of %s, %s:\n\n%v", r.batch, info.Threads, info.Name, info.ISA, p.ByOp())
	return err
}

// profileStep measures a step of training.
func profileStep(ctx context.Context, eng *sched.Engine, net *layers.Net, set corpus, r recipe) (sched.Profile, error) {
	opt, err := optimizerOf(r.optimizer, optim.Constant{LR: r.rate}, r.decay)
	if err != nil {
		return nil, err
	}
	tape := autograd.New(eng)
	return eng.Profile(ctx, func(ctx context.Context) error {
		for b, err := range (data.Loader{Data: set.train, Batch: r.batch}).Batches(ctx, data.Position{}) {
			if err != nil {
				return err
			}
			loss := set.loss(net.Forward(tape, tape.Input("x", b.X), layers.Train), tape.Input("y", b.Y))
			opt.Update(tape, loss, net.Params()...)
			res, err := tape.Step(ctx, loss)
			if err != nil {
				return err
			}
			defer res.Release()
			return res.Wait(ctx)
		}
		return nil
	})
}
