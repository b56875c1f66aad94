package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/internal/background"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// Predict is what a net says of each sample of a data set, in their order, computed in batches: row i of the result is of sample i. Targets are not looked
// at, and there may be none. Floats are cast as in Fit: see Config.DType.
func Predict(ctx context.Context, eng *sched.Engine, net *layers.Net, set data.Dataset, batch int) (tensor.Tensor, error) {
	if eng == nil || net == nil {
		return tensor.Tensor{}, errors.New("train: prediction needs an engine and a net")
	}
	if set == nil || set.Len() == 0 {
		return tensor.Tensor{}, errors.New("train: there is nothing to predict: the data are empty")
	}
	var all tensor.Tensor
	tape, done := autograd.New(eng), 0
	for b, err := range (data.Loader{Data: set, Batch: min(batch, set.Len())}).Batches(background.Or(ctx), data.Position{}) {
		var rows tensor.Tensor
		if err == nil {
			rows, err = predict(ctx, tape, net, b)
		}
		if err == nil && all.IsNone() {
			all = tensor.New(tensor.SpecOf(rows.DType(), append([]int{set.Len()}, rows.Shape().Dims()[1:]...)...))
		}
		if err == nil && !all.Rows(done, done+len(b.Index)).CopyFrom(rows) {
			err = fmt.Errorf("%d samples give %v, the ones before gave rows of %v", len(b.Index), rows.Spec(), all.Spec())
		}
		if err != nil {
			return tensor.Tensor{}, fmt.Errorf("train: prediction: %w", cause(err))
		}
		done += len(b.Index)
	}
	return all, nil
}

// predict is what the net says of the samples of a batch.
func predict(ctx context.Context, tape *autograd.Tape, net *layers.Net, b data.Batch) (tensor.Tensor, error) {
	x, lengths := inputs(tape, b)
	predicted, _ := forwardIn(tape, net, x, ops.Value{}, lengths, layers.Eval)
	res, err := tape.Step(ctx, predicted)
	if err != nil {
		return tensor.Tensor{}, err
	}
	defer res.Release()
	rows, err := res.Tensor(ctx, 0)
	if err == nil && (rows.Shape().Rank() == 0 || rows.Shape().Dim(0) != len(b.Index)) {
		err = fmt.Errorf("%d samples give %v: want a row for each", len(b.Index), rows.Spec())
	}
	return rows, err
}
