package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// Losses. Those of pairs give a number for each element, of which Mean or Sum makes one; a weight is a Mul before.

// SquaredError is (x - y)^2 for each element; shapes broadcast.
//
//go:noinline
func SquaredError(x, y Value) Value { return x.Sub(y).Square() }

// MSE is the mean of SquaredError.
//
//go:noinline
func MSE(x, y Value) Value { return SquaredError(x, y).Mean() }

// AbsoluteError is |x - y| for each element; shapes broadcast.
//
//go:noinline
func AbsoluteError(x, y Value) Value { return x.Sub(y).Abs() }

// L1 is the mean of AbsoluteError.
//
//go:noinline
func L1(x, y Value) Value { return AbsoluteError(x, y).Mean() }

// Huber is for each element (x - y)^2 / 2 where |x - y| is at most delta, and delta (|x - y| - delta/2) beyond (Huber, 1964). Delta is positive.
//
//go:noinline
func Huber(x, y Value, delta float64) Value {
	if !(delta > 0 && delta <= math.MaxFloat64) {
		return x.refuse(WhereOp{}, fmt.Sprintf("Huber's delta, or SmoothL1's beta, is %v: wants a positive number", delta))
	}
	d := x.Sub(y)
	a := d.Abs()
	return Where(a.Greater(a.constant(delta)), a.Shift(-delta/2).Scale(delta), d.Square().Scale(0.5))
}

// SmoothL1 is Huber over beta: |x - y| - beta/2 beyond beta, which is not negative. A beta of 0 makes it AbsoluteError.
//
//go:noinline
func SmoothL1(x, y Value, beta float64) Value {
	if beta == 0 {
		return AbsoluteError(x, y)
	}
	return Huber(x, y, beta).Scale(1 / beta)
}

// times is w v, but 0 where w is 0 and v infinite: what has no weight does not count, however bad it is.
func times(w, v Value) Value {
	zero := w.constant(0)
	idle := w.Equal(zero).And(v.Abs().Equal(v.constant(math.Inf(1))))
	return Where(idle, zero, w.Mul(Where(idle, zero, v)))
}

// XLogY is x log(y), and 0 where x is 0, whatever number y is; NaN where y is NaN. Shapes broadcast.
//
//go:noinline
func XLogY(x, y Value) Value {
	zero := x.constant(0)
	// A logarithm that is finite stays, for its gradient.
	return xLogY(x, y, x.Equal(zero).And(y.LessEqual(zero).Or(y.Equal(y.constant(math.Inf(1))))))
}

// xLogY is x log(y), and 0 where it is idle.
func xLogY(x, y, idle Value) Value {
	return Where(idle, x.constant(0), x.Mul(Where(idle, x.constant(1), y).Log()))
}

// BinaryCrossEntropy is -(y log(p) + (1-y) log(1-p)) for each probability p and target y, in nats; 0 where both are 0 or both are 1, and
// NaN where p is not between 0 and 1, whatever y is. Where a model gives logits, BCEWithLogits loses no digits.
//
//go:noinline
func BinaryCrossEntropy(p, y Value) Value {
	term := func(y, p Value) Value {
		zero := y.constant(0)
		return xLogY(y, p, y.Equal(zero).And(p.Equal(zero)))
	}
	return term(y, p).Add(term(y.Neg().Shift(1), p.Neg().Shift(1))).Neg()
}

// BCEWithLogits is BinaryCrossEntropy of sigmoid(x) and y for each element, which neither overflows nor loses digits.
//
//go:noinline
func BCEWithLogits(x, y Value) Value { return WeightedBCEWithLogits(x, y, Value{}) }

// WeightedBCEWithLogits is BCEWithLogits in which y counts times positive; none is 1. Shapes broadcast.
//
//go:noinline
func WeightedBCEWithLogits(x, y, positive Value) Value {
	yes := x.Neg().Softplus() // -log(sigmoid(x))
	if !positive.IsNone() {
		yes = yes.Mul(positive)
	}
	return times(y, yes).Add(times(y.Neg().Shift(1), x.Softplus()))
}

// KLDivergence is y (log(y) - logp) for each log-probability logp and target probability y, in nats; 0 where y is 0. The divergence of a
// distribution is its Sum along the classes.
//
//go:noinline
func KLDivergence(logp, y Value) Value { return XLogY(y, y).Sub(times(y, logp)) }

// KLDivergenceLog is KLDivergence for a target given as its logarithm.
//
//go:noinline
func KLDivergenceLog(logp, logy Value) Value {
	y := logy.Exp()
	return times(y, logy).Sub(times(y, logp))
}

// ClassLoss says how classes count in a loss. Its zero value is the plain mean. It belongs to no recording: one serves all steps.
type ClassLoss struct {
	// Weight is that of each class, [classes], of the logits' type; nil means 1. It is a variable that nobody trains, as any constant array:
	//
	//	ops.NewVariable("class weights", tensor.Must(tensor.From([]float32{1, 2, 0.5})))
	Weight    *Variable
	Smoothing float64 // share of a label that is spread over all classes alike, from 0 to 1 (Szegedy et al., 2015)
	Ignore    bool    // labels equal to Ignored do not count
	Ignored   int64
}

// CrossEntropyWith is the weighted mean of the losses of a classifier, in nats: of CrossEntropyRows, the sum of the losses over the sum of
// the weights. Where no row counts, it is 0, and so is its gradient.
//
//go:noinline
func CrossEntropyWith(logits, labels Value, c ClassLoss) Value {
	return weightedMean(CrossEntropyRows(logits, labels, c))
}

// NLLWith is CrossEntropyWith for log-probabilities.
//
//go:noinline
func NLLWith(logp, labels Value, c ClassLoss) Value { return weightedMean(NLLRows(logp, labels, c)) }

func weightedMean(loss, weight Value) Value {
	sum := weight.Sum()
	none := sum.Equal(sum.constant(0))
	return loss.Sum().Div(Where(none, sum.constant(1), sum))
}

// CrossEntropyRows is the loss and the weight of each row of logits [..., classes]. Labels are i32 or i64 [...], or floats [..., classes]
// with a probability for each class. The loss is multiplied by the weight already: that of the label's class; 1 for probabilities, whose
// classes are weighted one by one. A row whose label is ignored has loss and weight 0, and its logits, even NaN, get no gradient. Another
// label out of range is an *IndexError.
//
//go:noinline
func CrossEntropyRows(logits, labels Value, c ClassLoss) (loss, weight Value) {
	return c.rows(logits, labels, true)
}

// NLLRows is CrossEntropyRows for log-probabilities.
//
//go:noinline
func NLLRows(logp, labels Value, c ClassLoss) (loss, weight Value) {
	return c.rows(logp, labels, false)
}

func (c ClassLoss) rows(x, labels Value, logits bool) (loss, weight Value) {
	weights, err := c.weights(x)
	if err != "" {
		refused := x.refuse(CrossEntropyOp{}, err)
		return refused, refused
	}
	if labels.DType().Float() {
		return c.soft(logProbabilities(x, logits), labels, weights)
	}
	if err := inferLabels([]tensor.Spec{x.Spec(), labels.Spec()}); err != nil && x.r != nil {
		refused := x.refuse(CrossEntropyOp{}, err.(*tensor.ShapeError).Msg)
		return refused, refused
	}
	zero := x.constant(0)
	var ignored Value
	if c.Ignore {
		labels = labels.Cast(tensor.I64)
		ignored = labels.Equal(whole(labels, c.Ignored))
		labels = Where(ignored, labels.constant(0), labels)
		x = Where(ignored.Unsqueeze(-1), zero, x) // NaN there shall have no gradient
	}
	logp := logProbabilities(x, logits)
	weight = x.constant(1).expandTo(labels.Shape())
	if !weights.IsNone() {
		weight = weights.Gather(0, labels)
	}
	loss = times(weight, logp.TakeAlong(-1, labels.Unsqueeze(-1)).Squeeze(-1).Neg())
	if c.Smoothing != 0 {
		all := logp.Neg()
		if !weights.IsNone() {
			all = times(weights, all)
		}
		loss = loss.Scale(1 - c.Smoothing).Add(all.Mean(-1).Scale(c.Smoothing))
	}
	if c.Ignore {
		loss, weight = Where(ignored, zero, loss), Where(ignored, zero, weight)
	}
	return loss, weight
}

// weights is Weight in the recording of x, none for nil, or why it does not fit.
func (c ClassLoss) weights(x Value) (w Value, err string) {
	if !(c.Smoothing >= 0 && c.Smoothing <= 1) {
		return w, fmt.Sprintf("ClassLoss.Smoothing is %v: it lies between 0 and 1", c.Smoothing)
	}
	if c.Weight == nil || x.r == nil || x.r.err != nil {
		return w, ""
	}
	switch s := c.Weight.Spec(); {
	case s.Shape.Rank() != 1 || s.Shape.Dim(0) != x.Dim(-1):
		return w, fmt.Sprintf("ClassLoss.Weight has %d weights, %v, the logits %d classes", s.Shape.Size(), s, x.Dim(-1))
	case s.DType != x.DType():
		return w, fmt.Sprintf("ClassLoss.Weight is %v, the logits are %v: both have one type", s.DType, x.DType())
	}
	return x.r.Var(c.Weight), ""
}

// whole is an i64 constant to meet x, exact also where a float64 is not.
func whole(x Value, i int64) Value {
	high, low := x.constant(float64(i>>32)), x.constant(float64(i&math.MaxUint32))
	return high.Mul(x.constant(1 << 32)).Add(low)
}

func logProbabilities(x Value, logits bool) Value {
	if logits {
		return x.LogSoftmax(-1)
	}
	return x
}

// soft is rows for a probability of each class.
func (c ClassLoss) soft(logp, p, weights Value) (loss, weight Value) {
	if c.Smoothing != 0 {
		p = p.Scale(1 - c.Smoothing).Shift(c.Smoothing / float64(logp.Dim(-1)))
	}
	if !weights.IsNone() {
		p = p.Mul(weights)
	}
	loss = times(p, logp.Neg()).Sum(-1)
	return loss, loss.constant(1).expandTo(loss.Shape())
}

// Norm is the p-norm along axes, counted from the end if negative; without axes along all: the p-th root of the sum of |x|^p. For an infinite p
// it is the largest |x|, for 0 the number of elements that are not 0, whose gradient is 0. That of the others is 0 at 0.
//
//go:noinline
func (x Value) Norm(p float64, axes ...int) Value {
	a := x.Abs()
	switch {
	case math.IsInf(p, 1):
		return a.Max(axes...)
	case math.IsInf(p, -1):
		return a.Min(axes...)
	case p == 0:
		return Where(a.Equal(a.constant(0)), a, a.constant(1)).Sum(axes...) // |x| has the gradient 0 at 0
	case p == 1:
		return a.Sum(axes...)
	case p == 2:
		sum := x.Square().Sum(axes...)
		some := sum.Greater(sum.constant(0)).Or(sum.IsNaN())
		return Where(some, Where(some, sum, sum.constant(1)).Sqrt(), sum)
	}
	zero := a.constant(0)
	none := a.Equal(zero)
	if p > 0 { // the power has no gradient at 0
		a = Where(none, zero, Where(none, a.constant(1), a).Pow(a.constant(p)))
	} else {
		a = a.Pow(a.constant(p))
	}
	sum := a.Sum(axes...)
	none = sum.Equal(zero)
	return Where(none, zero, Where(none, zero.constant(1), sum).Pow(zero.constant(1/p)))
}

// Normalize is x over its p-norm along an axis, counted from the end if negative; over eps where the norm is less.
//
//go:noinline
func Normalize(x Value, p float64, axis int, eps float64) Value {
	n := x.Norm(p, axis)
	return x.Div(n.Maximum(n.constant(eps)).Unsqueeze(behind(axis, x.Rank())))
}

// behind is an axis of x as one of the shape without it.
func behind(axis, rank int) int {
	if axis < 0 {
		return axis + rank
	}
	return axis
}

// CosineSimilarity is the product of x and y along an axis, counted from the end if negative, over that of their lengths, neither of which
// counts as less than eps; shapes broadcast. No square overflows or underflows, as numbers are divided by the largest of their line before.
//
//go:noinline
func CosineSimilarity(x, y Value, axis int, eps float64) Value {
	if s, ok := tensor.Broadcast(x.Shape(), y.Shape()); ok { // an axis means the same for both
		x, y = x.expandTo(s), y.expandTo(s)
	}
	if x.Shape().Size() == 0 { // a line of nothing has no largest number
		return x.Mul(y).Sum(axis)
	}
	scaled := func(v Value) (u, length Value) { // both over one number, which has no say in the gradient: the quotient is the same for any
		least := v.constant(eps)
		by := v.Abs().MaxKeep(axis).Maximum(least).StopGradient()
		u = v.Div(by)
		return u, u.Norm(2, axis).Maximum(least.Div(by).Squeeze(axis))
	}
	u, m := scaled(x)
	v, n := scaled(y)
	return u.Mul(v).Sum(axis).Div(m.Mul(n))
}
