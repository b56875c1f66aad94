package ops

import (
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(SoftmaxOp{}, SoftmaxGradOp{}, CrossEntropyOp{}, CrossEntropyGradOp{})

// SoftmaxOp is exp(x) over its sum along an axis, computed as exp(x - max) so that no finite x overflows. A line that holds NaN or +inf,
// or nothing but -inf, is NaN, as in PyTorch.
type SoftmaxOp struct {
	total
	Axis int8
}

// Name is "softmax".
func (SoftmaxOp) Name() string { return "softmax" }

// Infer keeps the spec.
func (o SoftmaxOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkAxis(o.Axis, 1, in); err != nil {
		return nil, err
	}
	return inferFloat(in)
}

// Ref takes each line by itself.
func (o SoftmaxOp) Ref(out, in []tensor.Tensor) error {
	eachLine(in[0].Shape(), o.Axis, func(_, first, n, stride int) {
		top, sum := expSum(in[0], first, n, stride)
		for i := first; i < first+n*stride; i += stride {
			out[0].Set(i, math.Exp(in[0].At(i)-top)/sum)
		}
	})
	return nil
}

// expSum is the maximum of a line, and the sum of exp(x - maximum) over it.
func expSum(x tensor.Tensor, first, n, stride int) (top, sum float64) {
	top = math.Inf(-1)
	for i := first; i < first+n*stride; i += stride {
		top = maxNaN(top, x.At(i))
	}
	for i := first; i < first+n*stride; i += stride {
		sum += math.Exp(x.At(i) - top)
	}
	return top, sum
}

// Grad is said in terms of the output.
func (o SoftmaxOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, Apply(SoftmaxGradOp{Axis: o.Axis}, b.Out(0), dy))
}

// Cost counts an exponential as ten operations.
func (SoftmaxOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(13, in, out) }

// Batch keeps another axis.
func (o SoftmaxOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	if axis[0] == int(o.Axis) {
		return nil, Mixes
	}
	return axis, Rowwise
}

// Samples fold every axis.
func (SoftmaxOp) Samples() []Sample {
	nan, inf := math.NaN(), math.Inf(1)
	last := SoftmaxOp{Axis: 1}
	return []Sample{
		{Name: "first axis", Op: SoftmaxOp{Axis: 0}, In: []tensor.Tensor{ramp(1, 4, 3)}},
		{Name: "middle axis", Op: SoftmaxOp{Axis: 1}, In: []tensor.Tensor{ramp(1, 2, 4, 3)}},
		{Name: "last axis", Op: SoftmaxOp{Axis: 2}, In: []tensor.Tensor{ramp(1, 2, 2, 5)}},
		{Name: "size 1", Op: last, In: []tensor.Tensor{ramp(1, 4, 1)}},
		{Name: "size 0", Op: last, In: []tensor.Tensor{ramp(1, 4, 0)}},
		{Name: "no row", Op: last, In: []tensor.Tensor{ramp(1, 0, 3)}},
		{Name: "long", Op: last, In: []tensor.Tensor{ramp(1, 2, 1031)}, ULP: 16},
		{Name: "large", Op: last, In: []tensor.Tensor{farr(d(3, 3), 1e4, -1e4, 9999, -3e38, -3e38, 3e38, 1e4, 1e4, 1e4)}, ValueOnly: true},
		{Name: "special", Op: last, In: []tensor.Tensor{farr(d(6, 3), nan, 1, 2, -inf, 1, 2, -inf, -inf, -inf, inf, 1, 2, 0, inf, inf, -inf, -inf, 3)}, ValueOnly: true},
		{Name: "integers", Op: SoftmaxOp{}, In: []tensor.Tensor{iarr(d(1), 1)}, Refused: "wants one float value"},
		{Name: "rank 0", Op: SoftmaxOp{}, In: []tensor.Tensor{ramp(1)}, Refused: "there is no axis 0 in rank 0"},
		{Name: "negative axis", Op: SoftmaxOp{Axis: -3}, In: []tensor.Tensor{ramp(1, 2, 2)}, Refused: "there is no axis -3 in rank 2"},
	}
}

// SoftmaxGradOp is the gradient of softmax from its output y and dy, of one shape: y (dy - sum(y dy)).
type SoftmaxGradOp struct {
	total
	NoGrad
	Axis int8
}

// Name is "softmax gradient".
func (SoftmaxGradOp) Name() string { return "softmax gradient" }

// Infer wants two equal float specs.
func (o SoftmaxGradOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkAxis(o.Axis, 2, in); err != nil {
		return nil, err
	}
	return ReLUGradOp{}.Infer(in)
}

// Ref takes each line by itself.
func (o SoftmaxGradOp) Ref(out, in []tensor.Tensor) error {
	y, dy := in[0], in[1]
	eachLine(y.Shape(), o.Axis, func(_, first, n, stride int) {
		sum := 0.0
		for i := first; i < first+n*stride; i += stride {
			sum += y.At(i) * dy.At(i)
		}
		for i := first; i < first+n*stride; i += stride {
			out[0].Set(i, y.At(i)*(dy.At(i)-sum))
		}
	})
	return nil
}

// Decompose is the formula.
func (o SoftmaxGradOp) Decompose(in []Value) []Value {
	y, dy := in[0], in[1]
	return []Value{y.Mul(dy.Sub(y.Mul(dy).SumKeep(int(o.Axis))))}
}

// Cost is four operations for each element.
func (SoftmaxGradOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(4, in, out) }

// Batch keeps another axis that both have.
func (o SoftmaxGradOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	if axis[0] != axis[1] || axis[0] == int(o.Axis) {
		return nil, Mixes
	}
	return axis[:1], Rowwise
}

// Samples are those of softmax, with any y: the op does not know that it sums to 1.
func (SoftmaxGradOp) Samples() []Sample {
	last := SoftmaxGradOp{Axis: 1}
	return []Sample{
		{Name: "first axis", Op: SoftmaxGradOp{Axis: 0}, In: []tensor.Tensor{ramp(1, 4, 3), ramp(2, 4, 3)}},
		{Name: "middle axis", Op: SoftmaxGradOp{Axis: 1}, In: []tensor.Tensor{ramp(1, 2, 4, 3), ramp(2, 2, 4, 3)}},
		{Name: "last axis", Op: last, In: []tensor.Tensor{ramp(1, 2, 5), ramp(2, 2, 5)}},
		{Name: "size 0", Op: last, In: []tensor.Tensor{ramp(1, 4, 0), ramp(2, 4, 0)}},
		{Name: "long", Op: last, In: []tensor.Tensor{ramp(1, 2, 1031), ramp(2, 2, 1031)}, ULP: 16},
		{Name: "special", Op: last, In: []tensor.Tensor{farr(d(2, 2), math.NaN(), 1, 0.5, 0.5), farr(d(2, 2), 1, 1, math.Inf(1), 0)}, ValueOnly: true},
		{Name: "shapes", Op: last, In: []tensor.Tensor{ramp(1, 2, 5), ramp(2, 2, 1)}, Refused: "of one spec"},
		{Name: "no axis", Op: SoftmaxGradOp{Axis: 2}, In: []tensor.Tensor{ramp(1, 2, 5), ramp(2, 2, 5)}, Refused: "there is no axis 2"},
	}
}

// CrossEntropyOp is the loss of a classifier: the mean over all rows of lse(logits) - logits[label], where lse is log(sum(exp)). Its
// hidden output 1 is the lse of each row, for the gradient. The lse is -inf for a row of nothing but -inf, +inf for one with +inf;
// a loss between two infinities is NaN, and so is the mean over no row. A label out of range is an *IndexError.
type CrossEntropyOp struct{}

// Name is "cross-entropy".
func (CrossEntropyOp) Name() string { return "cross-entropy" }

// Infer wants logits [..., classes] and integer labels [...].
func (CrossEntropyOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := inferLabels(in); err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: in[0].DType}, {DType: in[0].DType, Shape: in[1].Shape}}, nil
}

func inferLabels(in []tensor.Spec) error {
	if len(in) < 2 || !in[0].DType.Float() || in[1].DType != tensor.I32 && in[1].DType != tensor.I64 {
		return &tensor.ShapeError{Msg: "wants float logits, then labels of type i32 or i64; write a Cast", In: in}
	}
	if r := in[0].Shape.Rank(); r == 0 || tensor.Of(in[0].Shape.Dims()[:r-1]...) != in[1].Shape {
		return &tensor.ShapeError{Msg: "wants one label for each row of logits: [...] for [..., classes]", In: in}
	}
	return nil
}

// Ref takes each row by itself.
func (CrossEntropyOp) Ref(out, in []tensor.Tensor) error {
	logits, labels := in[0], in[1]
	n, c, sum := labels.Len(), logits.Shape().Dim(-1), 0.0
	for row := range n {
		label := labels.Int(row)
		if err := CheckIndex(label, c); err != nil {
			return err
		}
		top, s := expSum(logits, row*c, c, 1)
		lse := top + math.Log(s)
		if math.IsInf(top, 0) {
			lse = top
		}
		sum += lse - logits.At(row*c+int(label))
		if !out[1].IsNone() {
			out[1].Set(row, lse)
		}
	}
	if !out[0].IsNone() {
		out[0].Set(0, sum/float64(n))
	}
	return nil
}

// Grad is an op of its own for the mean; d lse = softmax, which arrives in second order only.
func (CrossEntropyOp) Grad(b *Backward) {
	var dx Value
	if dy, ok := b.Dy(0); ok {
		rows := float64(b.InSpec(1).Shape.Size())
		dx = Apply(CrossEntropyGradOp{}, b.In(0), b.In(1), b.Out(1), dy.Scale(1/rows))
	}
	if dlse, ok := b.Dy(1); ok {
		column := columnOf(b.InSpec(1).Shape)
		dl := b.In(0).Sub(b.Out(1).reshapeTo(column)).Exp().Mul(dlse.reshapeTo(column))
		if dx.IsNone() {
			dx = dl
		} else {
			dx = dx.Add(dl)
		}
	}
	b.Set(0, dx)
}

// columnOf is the shape with an axis of size 1 behind it.
func columnOf(s tensor.Shape) tensor.Shape { return tensor.Of(append(s.Dims(), 1)...) }

// Cost counts an exponential as ten operations.
func (CrossEntropyOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(12, in[1:], in[:1]) }

// Batch keeps the rows' axis in the lse, and takes the mean of the losses.
func (CrossEntropyOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	if axis[0] != axis[1] {
		return nil, Mixes
	}
	return []int{-1, axis[1]}, Mean
}

// Samples have rows of any rank, and labels out of range.
func (o CrossEntropyOp) Samples() []Sample {
	nan, inf := math.NaN(), math.Inf(1)
	return []Sample{
		{Name: "rows", Op: o, In: []tensor.Tensor{ramp(1, 4, 3), iarr(d(4), 0, 2, 1, 2)}},
		{Name: "i32 labels", Op: o, In: []tensor.Tensor{ramp(1, 2, 3), arr[int32](d(2), 0, 2)}},
		{Name: "sequences", Op: o, In: []tensor.Tensor{ramp(1, 2, 2, 3), iarr(d(2, 2), 0, 2, 1, 1)}},
		{Name: "one row without an axis", Op: o, In: []tensor.Tensor{ramp(1, 5), iarr(nil, 3)}},
		{Name: "one class", Op: o, In: []tensor.Tensor{ramp(1, 2, 1), iarr(d(2), 0, 0)}},
		{Name: "no row", Op: o, In: []tensor.Tensor{ramp(1, 0, 3), iarr(d(0))}, ValueOnly: true},
		{Name: "many classes", Op: o, In: []tensor.Tensor{ramp(1, 2, 131), iarr(d(2), 130, 0)}, ULP: 16},
		{Name: "large", Op: o, In: []tensor.Tensor{farr(d(3, 3), 1e4, -1e4, 0, -1e4, 1e4, 0, 1e4, 1e4, 1e4), iarr(d(3), 0, 0, 2)}, ValueOnly: true},
		{Name: "masked classes", Op: o, In: []tensor.Tensor{farr(d(2, 3), -inf, 1, 2, 0, -inf, -inf), iarr(d(2), 1, 0)}, ValueOnly: true},
		{Name: "NaN", Op: o, In: []tensor.Tensor{farr(d(2, 3), nan, 1, 2, 0, 1, 2), iarr(d(2), 1, 0)}, ValueOnly: true},
		{Name: "infinite", Op: o, In: []tensor.Tensor{farr(d(3, 2), inf, 1, -inf, -inf, -inf, 0), iarr(d(3), 0, 0, 0)}, ValueOnly: true},
		{Name: "label too large", Op: o, In: []tensor.Tensor{ramp(1, 2, 3), iarr(d(2), 0, 3)}, Fails: "index 3 out of range [0,3)"},
		{Name: "label negative", Op: o, In: []tensor.Tensor{ramp(1, 2, 3), iarr(d(2), -1, 0)}, Fails: "index -1 out of range [0,3)"},
		{Name: "no class", Op: o, In: []tensor.Tensor{ramp(1, 1, 0), iarr(d(1), 0)}, Fails: "index 0 out of range [0,0)"},
		{Name: "float labels", Op: o, In: []tensor.Tensor{ramp(1, 2, 3), ramp(1, 2)}, Refused: "labels of type i32 or i64"},
		{Name: "labels' shape", Op: o, In: []tensor.Tensor{ramp(1, 2, 3), iarr(d(3), 0, 0, 0)}, Refused: "one label for each row"},
		{Name: "rank 0", Op: o, In: []tensor.Tensor{ramp(1), iarr(nil, 0)}, Refused: "one label for each row"},
		{Name: "no labels", Op: o, In: []tensor.Tensor{ramp(1, 2, 3)}, Refused: "labels"},
	}
}

// CrossEntropyGradOp is the gradient of cross-entropy from logits [..., classes], labels [...], lse [...] and the weight of a row, which is the loss's gradient
// over the number of rows: (exp(logits - lse) - onehot(labels)) weight. The labels were checked by the forward node.
type CrossEntropyGradOp struct {
	total
	NoGrad
}

// Name is "cross-entropy gradient".
func (CrossEntropyGradOp) Name() string { return "cross-entropy gradient" }

// Infer wants what CrossEntropyOp wants and gives, and one number.
func (CrossEntropyGradOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := inferLabels(in); err != nil {
		return nil, err
	}
	if d := in[0].DType; len(in) != 4 || in[2] != (tensor.Spec{DType: d, Shape: in[1].Shape}) || in[3] != (tensor.Spec{DType: d}) {
		return nil, &tensor.ShapeError{Msg: "wants logits, labels, an lse for each label and one weight", In: in}
	}
	return in[:1:1], nil
}

// Ref takes each element by itself.
func (CrossEntropyGradOp) Ref(out, in []tensor.Tensor) error {
	logits, labels, lse, weight := in[0], in[1], in[2], in[3].At(0)
	c := logits.Shape().Dim(-1)
	for i := range logits.Len() {
		p := math.Exp(logits.At(i) - lse.At(i/c))
		if labels.Int(i/c) == int64(i%c) {
			p--
		}
		out[0].Set(i, p*weight)
	}
	return nil
}

// Decompose is the formula.
func (CrossEntropyGradOp) Decompose(in []Value) []Value {
	logits, labels, lse, weight := in[0], in[1], in[2], in[3]
	p := logits.Sub(lse.reshapeTo(columnOf(lse.Shape()))).Exp()
	return []Value{p.Sub(OneHot(labels, logits.Dim(-1), logits.DType())).Mul(weight)}
}

// Cost counts an exponential as ten operations.
func (CrossEntropyGradOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(13, in, out) }

// Batch keeps the rows' axis.
func (CrossEntropyGradOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	if axis[0] != axis[1] || axis[0] != axis[2] {
		return nil, Mixes
	}
	return axis[:1], Rowwise
}

// Samples take any lse: the op does not know where it is from.
func (o CrossEntropyGradOp) Samples() []Sample {
	return []Sample{
		{Name: "rows", Op: o, In: []tensor.Tensor{ramp(1, 4, 3), iarr(d(4), 0, 2, 1, 2), ramp(2, 4), ramp(3)}},
		{Name: "sequences", Op: o, In: []tensor.Tensor{ramp(1, 2, 2, 3), iarr(d(2, 2), 0, 2, 1, 1), ramp(2, 2, 2), ramp(3)}},
		{Name: "one row without an axis", Op: o, In: []tensor.Tensor{ramp(1, 5), arr[int32](nil, 3), ramp(2), ramp(3)}},
		{Name: "no row", Op: o, In: []tensor.Tensor{ramp(1, 0, 3), iarr(d(0)), ramp(2, 0), farr(nil, math.Inf(1))}, ValueOnly: true},
		{Name: "many classes", Op: o, In: []tensor.Tensor{ramp(1, 2, 131), iarr(d(2), 130, 0), ramp(2, 2), ramp(3)}},
		{Name: "masked classes", Op: o, In: []tensor.Tensor{farr(d(1, 3), math.Inf(-1), 1, 2), iarr(d(1), 1), farr(d(1), 2.3), farr(nil, 1)}, ValueOnly: true},
		{Name: "NaN", Op: o, In: []tensor.Tensor{ramp(1, 2, 3), iarr(d(2), 1, 0), farr(d(2), math.NaN(), 1), farr(nil, 1)}, ValueOnly: true},
		{Name: "lse's shape", Op: o, In: []tensor.Tensor{ramp(1, 2, 3), iarr(d(2), 1, 0), ramp(1, 3), ramp(3)}, Refused: "an lse for each label"},
		{Name: "weights", Op: o, In: []tensor.Tensor{ramp(1, 2, 3), iarr(d(2), 1, 0), ramp(1, 2), ramp(3, 2)}, Refused: "one weight"},
		{Name: "no labels", Op: o, In: []tensor.Tensor{ramp(1, 2, 3)}, Refused: "labels"},
	}
}

// Softmax is exp(x) over its sum along axis, counted from the end if negative.
//
//go:noinline
func (x Value) Softmax(axis int) Value { return Apply(SoftmaxOp{Axis: axisOf(axis, x.Rank())}, x) }

// CrossEntropy is the mean loss of a classifier, in nats, for logits [..., classes] and labels i32 or i64 [...].
//
//go:noinline
func CrossEntropy(logits, labels Value) Value { return Apply(CrossEntropyOp{}, logits, labels) }
