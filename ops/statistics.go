package ops

import (
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// Reductions that are said in terms of others.

// axesOf are the axes that a reduction folds, counted from the start and in ascending order, or the reason why there are none such.
func (x Value) axesOf(axes []int) (list []int, refused string) {
	mask, refused := maskOf(axes, x.Rank())
	for i := range x.Rank() {
		if mask&(1<<i) != 0 {
			list = append(list, i)
		}
	}
	return list, refused
}

// dropAxes removes axes of size 1.
func (x Value) dropAxes(axes []int) Value {
	var dims []int
	for i := range x.Rank() {
		if len(axes) > 0 && axes[0] == i {
			axes = axes[1:]
		} else {
			dims = append(dims, x.Dim(i))
		}
	}
	return x.reshapeTo(tensor.Of(dims...))
}

// MinKeep is Min whose axes stay, with size 1.
//
//go:noinline
func (x Value) MinKeep(axes ...int) Value { return x.reduce(MinOf, true, axes) }

// ArgMin is the i64 position of the first minimum along axis, counted from the end if negative. NaN counts as smaller than any number.
//
//go:noinline
func (x Value) ArgMin(axis int) Value {
	y := x.Neg()
	if x.DType().Int() {
		y = y.Sub(x.constant(1)) // all bits inverted: the order is reversed, and nothing overflows
	}
	return y.ArgMax(axis)
}

// Prod multiplies along axes, counted from the end if negative; without axes along all. Integers wrap around, and the product of nothing
// is 1. Halves are multiplied with each other, so that the gradient is right where elements are 0.
//
//go:noinline
func (x Value) Prod(axes ...int) Value {
	list, refused := x.axesOf(axes)
	if refused != "" {
		return x.refuse(ReduceOp{}, refused)
	}
	for _, a := range list {
		x = x.prod(a)
	}
	return x.dropAxes(list)
}

// prod leaves size 1 along the axis.
func (x Value) prod(axis int) Value {
	if x.Dim(axis) == 0 {
		return x.constant(1).expandTo(x.Shape().With(axis, 1))
	}
	var rest Value
	for n := x.Dim(axis); n > 1; n /= 2 {
		if n%2 == 1 {
			last := x.Slice(axis, n-1, n)
			if !rest.IsNone() {
				last = rest.Mul(last)
			}
			rest = last
		}
		x = x.Slice(axis, 0, n/2).Mul(x.Slice(axis, n/2, n/2*2))
	}
	if !rest.IsNone() {
		x = x.Mul(rest)
	}
	return x
}

// Var is the variance along axes, counted from the end if negative; without axes along all: the sum of (x - mean)^2 over the number of
// elements less correction, which is 1 for the estimate from a sample and 0 for the variance of the elements themselves. It is computed in
// two passes, so that a large mean costs no digits. The variance of no more elements than the correction is NaN, or +inf.
//
//go:noinline
func (x Value) Var(correction float64, axes ...int) Value {
	list, refused := x.axesOf(axes)
	if refused != "" {
		return x.refuse(ReduceOp{}, refused)
	}
	if len(list) == 0 { // of rank 0
		return x.Sub(x).Square().Scale(1 / max(0, 1-correction))
	}
	n := 1.0
	for _, a := range list {
		n *= float64(x.Dim(a))
	}
	return x.Sub(x.MeanKeep(list...)).Square().Sum(list...).Scale(1 / max(0, n-correction))
}

// Std is the square root of Var. Its gradient is 0 where it is 0.
//
//go:noinline
func (x Value) Std(correction float64, axes ...int) Value {
	v := x.Var(correction, axes...)
	positive := v.Greater(v.constant(0))
	return Where(positive, Where(positive, v, v.constant(1)).Sqrt(), v)
}

// peak is the maximum along axes, which stay with size 1, as a constant; 0 where it is infinite.
func (x Value) peak(axes []int) Value {
	m := x.StopGradient().MaxKeep(axes...)
	return Where(m.IsNaN().Or(m.IsFinite()), m, m.constant(0))
}

// LogSumExp is log(sum(exp(x))) along axes, counted from the end if negative; without axes along all. No finite x overflows. Of nothing
// but -inf it is -inf, with a gradient of 0.
//
//go:noinline
func (x Value) LogSumExp(axes ...int) Value {
	list, refused := x.axesOf(axes)
	if refused != "" {
		return x.refuse(ReduceOp{}, refused)
	}
	for _, a := range list {
		if x.Dim(a) == 0 {
			return x.Exp().Sum(list...).Log()
		}
	}
	if len(list) == 0 {
		return x.Identity()
	}
	m := x.peak(list)
	sum := x.Sub(m).Exp().Sum(list...)
	zero := sum.constant(0)
	none := sum.Equal(zero)
	log := Where(none, sum.constant(1), sum).Log() // the logarithm sees no 0: its gradient would be infinite
	return Where(none, sum.constant(math.Inf(-1)), log.Add(m.dropAxes(list)))
}

// LogSoftmax is log(softmax(x)) along an axis, counted from the end if negative, which does not underflow. A line that holds NaN or
// +inf, or nothing but -inf, is NaN, as in Softmax.
//
//go:noinline
func (x Value) LogSoftmax(axis int) Value {
	a := axisOf(axis, x.Rank())
	if a < 0 || int(a) >= x.Rank() {
		return x.refuse(SoftmaxOp{Axis: a}, noAxis(axis, x.Rank()))
	}
	if x.Dim(axis) == 0 {
		return x.Identity()
	}
	s := x.Sub(x.StopGradient().MaxKeep(axis))
	return s.Sub(s.Exp().SumKeep(axis).Log())
}
