package train

import (
	"fmt"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Loss is a number that training makes small, recorded from what a net predicts of a batch and the batch's targets. It is the mean over the samples
// of the batch, one number: ops.CrossEntropy is one. Where not every target counts, padding say, it is MeanOf: two numbers. A loss of one
// number weighs by samples in the mean of an epoch, of an evaluation and of accumulated gradients, also ops.CrossEntropyWith, which within a batch weighs
// by classes: CrossEntropy weighs by them throughout. For a loss by Sub y has the shape of predicted: [n 1] minus [n] is [n n].
type Loss = func(predicted, y ops.Value) ops.Value

// MeanOf is the mean that is sum/count, for a Loss or a metric over batches of which not everything counts: sum is of what counts, count says how
// many that are. Batches then have their counts as weights, in the mean of an epoch and where gradients are accumulated; one with a count of 0 has
// none, and no gradient.
//
//go:noinline
func MeanOf(sum, count ops.Value) ops.Value {
	for _, v := range []ops.Value{sum, count} {
		if r := v.Recorder(); r != nil && r.Err() == nil && (v.Spec().Shape.Size() != 1 || !v.DType().Float()) {
			return r.Fail(fmt.Errorf("train: a mean is of two floats, a sum and a count, not of %v and %v", sum.Spec(), count.Spec()))
		}
	}
	d := working(sum.DType())
	return ops.Stack(0, sum.Cast(d).Reshape(), count.Cast(d).Reshape()).Reshape(pair.Dims()...)
}

// pair is the shape of MeanOf: one that no loss of samples has which somebody forgot to take the mean of.
var pair = tensor.Of(1, 1, 1, 1, 1, 2)

// CrossEntropy is a Loss of logits [..., classes] and labels [...], in nats, that is exact where labels are ignored or classes have weights: its
// mean is over what counts. Padded batches have their padding ignored so:
//
//	data.Buckets{..., Padding: data.Padding{Y: -100}}
//	train.CrossEntropy(ops.ClassLoss{Ignore: true, Ignored: -100})
func CrossEntropy(c ops.ClassLoss) Loss { return classLoss(c).crossEntropy }

// classLoss makes a method of what would be a function literal: inlined into the caller, that would count as the caller's line in errors.
type classLoss ops.ClassLoss

func (c classLoss) crossEntropy(logits, labels ops.Value) ops.Value {
	loss, weight := ops.CrossEntropyRows(logits, labels, ops.ClassLoss(c))
	return MeanOf(loss.Sum(), weight.Sum())
}

// working is the type in which sums and means of numbers of type d are kept.
func working(d tensor.DType) tensor.DType {
	if d == tensor.F64 {
		return d
	}
	return tensor.F32
}

// mean is a recorded mean in its parts.
type mean struct{ value, sum, count ops.Value }

// partsOf takes one number, the mean over n samples, or the two of MeanOf.
func partsOf(v ops.Value, n int) mean {
	v = v.Cast(working(v.DType()))
	if isPair(v.Spec()) {
		m := mean{sum: v.Slice(-1, 0, 1).Reshape(), count: v.Slice(-1, 1, 2).Reshape()}
		m.value = over(m.sum, m.count)
		return m
	}
	if v.Rank() > 0 {
		v = v.Reshape()
	}
	return mean{v, v.Scale(float64(n)), v.Scale(0).Shift(float64(n))}
}

// over is sum/count, and 0 where nothing counts.
func over(sum, count ops.Value) ops.Value {
	zero := count.Scale(0)
	return sum.Div(ops.Where(count.Equal(zero), zero.Shift(1), count))
}

// isPair reports whether a spec is that of MeanOf.
func isPair(s tensor.Spec) bool { return s.Shape == pair }

// isMean reports whether a spec is that of a mean.
func isMean(s tensor.Spec) bool { return s.DType.Float() && (s.Shape.Size() == 1 || isPair(s)) }
