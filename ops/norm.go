package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(BatchNormOp{}, BatchNormGradOp{}, BatchNormInferOp{})

// BatchNormOp normalises each channel of a training batch: (x [n, c, ...], scale [c], bias [c]) gives
//
//	y = (x - mean) / sqrt(variance + eps) * scale + bias
//
// and, hidden, mean [c] and the biased variance [c] of the batch, in two passes, so that a large mean costs no digits. Source: S. Ioffe and
// C. Szegedy, "Batch normalization", 2015.
type BatchNormOp struct {
	total
	mixes // the statistics are those of the whole batch
	Eps   Bits
}

// Name is "batch-norm".
func (BatchNormOp) Name() string { return "batch-norm" }

// Infer refuses a batch from which no variance can be told.
func (BatchNormOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkChannels(3, in); err != nil {
		return nil, err
	}
	if n := perChannel(in[0].Shape); n < 2 {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("variance wants two values of each channel at least, and this batch has %d: avoid a short last batch, or normalise with running statistics", n), In: in}
	}
	return []tensor.Spec{in[0], in[1], in[1]}, nil
}

// checkChannels wants n values: x, and then one number for each of its channels.
func checkChannels(n int, in []tensor.Spec) error {
	if err := checkCount(n, in); err != nil {
		return err
	}
	x := in[0]
	if !x.DType.Float() || x.Shape.Rank() < 2 {
		return &tensor.ShapeError{Msg: "wants floats [n, channels, ...]", In: in}
	}
	for _, s := range in[1:] {
		if s != tensor.SpecOf(x.DType, x.Shape.Dim(1)) {
			return &tensor.ShapeError{Msg: fmt.Sprintf("wants %v, one number for each channel (axis 1 of x)", tensor.SpecOf(x.DType, x.Shape.Dim(1))), In: in}
		}
	}
	return nil
}

// perChannel is the number of values of each channel.
func perChannel(s tensor.Shape) int {
	outer, _, inner := around(s, 1)
	return outer * inner
}

// eachOfChannel calls f for every element i of channel c.
func eachOfChannel(s tensor.Shape, c int, f func(i int)) {
	outer, n, inner := around(s, 1)
	for r := range outer {
		for i := range inner {
			f((r*n+c)*inner + i)
		}
	}
}

// Ref takes two passes for the statistics and one for y.
func (o BatchNormOp) Ref(out, in []tensor.Tensor) error {
	x, n := in[0], float64(perChannel(in[0].Shape()))
	for c := range x.Shape().Dim(1) {
		var mean, variance float64
		eachOfChannel(x.Shape(), c, func(i int) { mean += x.At(i) })
		mean /= n
		eachOfChannel(x.Shape(), c, func(i int) { variance += (x.At(i) - mean) * (x.At(i) - mean) })
		variance /= n
		if y := out[0]; !y.IsNone() {
			root := math.Sqrt(variance + o.Eps.Float())
			eachOfChannel(x.Shape(), c, func(i int) { y.Set(i, (x.At(i)-mean)/root*in[1].At(c)+in[2].At(c)) })
		}
		for k, s := range []float64{mean, variance} {
			if !out[1+k].IsNone() {
				out[1+k].Set(c, s)
			}
		}
	}
	return nil
}

// Grad goes through the statistics too: by BatchNormGradOp for y, and for the hidden outputs, which receive gradients in second order,
//
//	dx += dmean / n + dvariance * 2 (x - mean) / n
func (o BatchNormOp) Grad(b *Backward) {
	var dx Value
	plus := func(v Value) {
		if dx.IsNone() {
			dx = v
		} else {
			dx = dx.Add(v)
		}
	}
	s := b.InSpec(0).Shape
	n := float64(perChannel(s))
	if dy, ok := b.Dy(0); ok {
		g := Apply(BatchNormGradOp{Eps: o.Eps}, b.In(0), b.In(1), b.Out(1), b.Out(2), dy)
		plus(g)
		b.Set(1, g.Output(1))
		b.Set(2, g.Output(2))
	}
	if dmean, ok := b.Dy(1); ok {
		plus(alongChannels(dmean, s).Scale(1 / n).expandTo(s))
	}
	if dv, ok := b.Dy(2); ok {
		plus(b.In(0).Sub(alongChannels(b.Out(1), s)).Mul(alongChannels(dv, s)).Scale(2 / n))
	}
	b.Set(0, dx)
}

// alongChannels gives one number for each channel a shape that broadcasts against s.
func alongChannels(v Value, s tensor.Shape) Value {
	var dims [tensor.MaxRank]int
	for i := range dims {
		dims[i] = 1
	}
	dims[1] = s.Dim(1)
	return v.reshapeTo(tensor.Of(dims[:max(2, s.Rank())]...))
}

// Cost is about ten operations for each element, in three passes over x.
func (BatchNormOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(10, in, out[:1]) }

// Samples normalise rows and images.
func (BatchNormOp) Samples() []Sample {
	nan, inf := math.NaN(), math.Inf(1)
	o := BatchNormOp{Eps: F(1e-5)}
	with := func(x tensor.Tensor) []tensor.Tensor {
		c := x.Shape().Dim(1)
		return []tensor.Tensor{x, positive(2, c), ramp(3, c)}
	}
	return []Sample{
		{Name: "rows", Op: o, In: with(ramp(1, 5, 3)), ULP: 32},
		{Name: "images", Op: o, In: with(ramp(1, 2, 3, 2, 4)), ULP: 32},
		{Name: "one image", Op: o, In: with(ramp(1, 1, 2, 3, 3)), ULP: 32},
		{Name: "two values", Op: o, In: with(ramp(1, 2, 4)), ULP: 256},
		{Name: "one channel", Op: o, In: with(ramp(1, 7, 1)), ULP: 32},
		{Name: "rank 3", Op: o, In: with(ramp(1, 2, 3, 5)), ULP: 32},
		{Name: "no channel", Op: o, In: with(ramp(1, 2, 0, 3))},
		{Name: "channels beside a block", Op: o, In: with(ramp(1, 2, 19, 2, 3)), ULP: 64},
		{Name: "a large eps", Op: BatchNormOp{Eps: F(1)}, In: with(ramp(1, 4, 2)), ULP: 32},
		{Name: "no spread", Op: o, In: with(tensor.Full(tensor.SpecOf(tensor.F64, 3, 2), 7)), ValueOnly: true},
		{Name: "a large mean", Op: o, In: []tensor.Tensor{farr(d(4, 1), 40000, 40001, 40002, 40003), farr(d(1), 1), farr(d(1), 0)}, ValueOnly: true, ULP: 64},
		{Name: "special", Op: o, In: []tensor.Tensor{farr(d(2, 4), nan, inf, -inf, 1, 1, 2, 3, 2), farr(d(4), 1, 1, 1, nan), farr(d(4), 0, 0, 0, 0)}, ValueOnly: true},
		{Name: "one row", Op: o, In: with(ramp(1, 1, 3)), Refused: "wants two values of each channel at least, and this batch has 1"},
		{Name: "no row", Op: o, In: with(ramp(1, 0, 3)), Refused: "wants two values of each channel at least, and this batch has 0"},
		{Name: "vector", Op: o, In: []tensor.Tensor{ramp(1, 3), ramp(2, 3), ramp(3, 3)}, Refused: "wants floats [n, channels, ...]"},
		{Name: "scale", Op: o, In: []tensor.Tensor{ramp(1, 4, 3), ramp(2, 4), ramp(3, 3)}, Refused: "one number for each channel (axis 1 of x)"},
		{Name: "integers", Op: o, In: []tensor.Tensor{iarr(d(2, 1), 1, 2), iarr(d(1), 1), iarr(d(1), 1)}, Refused: "wants floats [n, channels, ...]"},
		{Name: "one value", Op: o, In: []tensor.Tensor{ramp(1, 4, 3)}, Refused: "wants 3 values, not 1"},
	}
}

// BatchNormGradOp is the gradient of BatchNormOp's y: (x, scale, mean, variance, dy) gives dx, dscale and dbias. x and dy are [n, c, ...], the
// others [c]. With
// z = (x - mean) / sqrt(variance + eps) and sums over the n values of a channel,
//
//	dbias = sum dy,  dscale = sum dy z,  dx = scale / sqrt(variance + eps) (dy - (dbias + z dscale) / n)
type BatchNormGradOp struct {
	total
	mixes  // the sums are those of the whole batch
	NoGrad // its gradient, for second order, is that of its decomposition
	Eps    Bits
}

// Name is "batch-norm gradient".
func (BatchNormGradOp) Name() string { return "batch-norm gradient" }

// Infer wants the operands of the forward operation, its statistics, and dy.
func (BatchNormGradOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(5, in); err != nil {
		return nil, err
	}
	if err := checkChannels(4, in[:4]); err != nil {
		return nil, err
	}
	if in[4] != in[0] {
		return nil, &tensor.ShapeError{Msg: "wants dy in the spec of x", In: in}
	}
	return []tensor.Spec{in[0], in[1], in[1]}, nil
}

// Ref follows the formulas.
func (o BatchNormGradOp) Ref(out, in []tensor.Tensor) error {
	x, dy, n := in[0], in[4], float64(perChannel(in[0].Shape()))
	for c := range x.Shape().Dim(1) {
		mean, root := in[2].At(c), math.Sqrt(in[3].At(c)+o.Eps.Float())
		var dscale, dbias float64
		eachOfChannel(x.Shape(), c, func(i int) {
			dbias += dy.At(i)
			dscale += dy.At(i) * ((x.At(i) - mean) / root)
		})
		if dx := out[0]; !dx.IsNone() {
			eachOfChannel(x.Shape(), c, func(i int) {
				z := (x.At(i) - mean) / root
				dx.Set(i, in[1].At(c)/root*(dy.At(i)-(dbias+z*dscale)/n))
			})
		}
		for k, s := range []float64{dscale, dbias} {
			if !out[1+k].IsNone() {
				out[1+k].Set(c, s)
			}
		}
	}
	return nil
}

// Decompose says the formulas in plain operations.
func (o BatchNormGradOp) Decompose(in []Value) []Value {
	s := in[0].Shape()
	n := float64(max(1, perChannel(s)))
	scale, mean, dy := alongChannels(in[1], s), alongChannels(in[2], s), in[4]
	rsqrt := alongChannels(in[3], s).Shift(o.Eps.Float()).Rsqrt()
	z := in[0].Sub(mean).Mul(rsqrt)
	dbias, dscale := dy.SumTo(scale.Shape()), dy.Mul(z).SumTo(scale.Shape())
	dx := dy.Sub(dbias.Add(z.Mul(dscale)).Scale(1 / n)).Mul(scale.Mul(rsqrt))
	return []Value{dx, dscale.reshapeTo(in[1].Shape()), dbias.reshapeTo(in[1].Shape())}
}

// Cost is about ten operations for each element, in two passes over x and dy.
func (BatchNormGradOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(10, in, out[:1]) }

// Samples give the statistics as operands like any.
func (BatchNormGradOp) Samples() []Sample {
	o := BatchNormGradOp{Eps: F(1e-5)}
	with := func(x, dy tensor.Tensor) []tensor.Tensor {
		c := x.Shape().Dim(1)
		return []tensor.Tensor{x, positive(2, c), ramp(3, c), positive(4, c), dy}
	}
	return []Sample{
		{Name: "rows", Op: o, In: with(ramp(1, 5, 3), ramp(5, 5, 3)), ULP: 64},
		{Name: "images", Op: o, In: with(ramp(1, 2, 3, 2, 4), ramp(5, 2, 3, 2, 4)), ULP: 64},
		{Name: "one channel", Op: o, In: with(ramp(1, 7, 1), ramp(5, 7, 1)), ULP: 64},
		{Name: "no channel", Op: o, In: with(ramp(1, 2, 0), ramp(5, 2, 0))},
		{Name: "no row", Op: o, In: with(ramp(1, 0, 2), ramp(5, 0, 2))},
		{Name: "channels beside a block", Op: o, In: with(ramp(1, 2, 19, 2, 1), ramp(5, 2, 19, 2, 1)), ULP: 64},
		{Name: "special", Op: o, In: with(farr(d(2, 4), 1, 2, 3, math.NaN(), 4, 5, 6, 7), farr(d(2, 4), math.NaN(), math.Inf(1), 0, 1, 1, 1, 0, 1)), ValueOnly: true},
		{Name: "dy", Op: o, In: with(ramp(1, 4, 3), ramp(5, 3, 3)), Refused: "wants dy in the spec of x"},
		{Name: "mean", Op: o, In: []tensor.Tensor{ramp(1, 4, 3), ramp(2, 3), ramp(3, 2), ramp(4, 3), ramp(5, 4, 3)}, Refused: "one number for each channel"},
		{Name: "one value", Op: o, In: []tensor.Tensor{ramp(1, 4, 3)}, Refused: "wants 5 values, not 1"},
	}
}

// BatchNormInferOp normalises with given statistics: (x [n, c, ...], scale, bias, mean, variance, all [c]) gives
// (x - mean) / sqrt(variance + eps) * scale + bias.
type BatchNormInferOp struct {
	total
	strict
	NoGrad // its gradient is that of its decomposition
	Eps    Bits
}

// Name is "batch-norm inference".
func (BatchNormInferOp) Name() string { return "batch-norm inference" }

// Infer wants four numbers for each channel.
func (BatchNormInferOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkChannels(5, in); err != nil {
		return nil, err
	}
	return in[:1:1], nil
}

// Ref follows the formula.
func (o BatchNormInferOp) Ref(out, in []tensor.Tensor) error {
	x, y := in[0], out[0]
	for c := range x.Shape().Dim(1) {
		mean, root := in[3].At(c), math.Sqrt(in[4].At(c)+o.Eps.Float())
		eachOfChannel(x.Shape(), c, func(i int) { y.Set(i, (x.At(i)-mean)/root*in[1].At(c)+in[2].At(c)) })
	}
	return nil
}

// Decompose says the formula in plain operations.
func (o BatchNormInferOp) Decompose(in []Value) []Value {
	s := in[0].Shape()
	rsqrt := alongChannels(in[4], s).Shift(o.Eps.Float()).Rsqrt()
	z := in[0].Sub(alongChannels(in[3], s)).Mul(rsqrt)
	return []Value{z.Mul(alongChannels(in[1], s)).Add(alongChannels(in[2], s))}
}

// Cost is four operations for each element.
func (BatchNormInferOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(4, in, out) }

// Batch cuts x along any axis but the channels.
func (BatchNormInferOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	for _, a := range axis[1:] {
		if a >= 0 {
			return nil, Mixes
		}
	}
	return batchBeside(1, axis[:1], 1)
}

// Samples normalise one value too.
func (BatchNormInferOp) Samples() []Sample {
	nan, inf := math.NaN(), math.Inf(1)
	o := BatchNormInferOp{Eps: F(1e-5)}
	with := func(x tensor.Tensor) []tensor.Tensor {
		c := x.Shape().Dim(1)
		return []tensor.Tensor{x, positive(2, c), ramp(3, c), ramp(4, c), positive(5, c)}
	}
	return []Sample{
		{Name: "rows", Op: o, In: with(ramp(1, 5, 3)), ULP: 16},
		{Name: "images", Op: o, In: with(ramp(1, 2, 3, 2, 4)), ULP: 16},
		{Name: "one value of each channel", Op: o, In: with(ramp(1, 1, 4)), ULP: 16},
		{Name: "no row", Op: o, In: with(ramp(1, 0, 3))},
		{Name: "no channel", Op: o, In: with(ramp(1, 2, 0, 3))},
		{Name: "channels beside a block", Op: o, In: with(ramp(1, 1, 19, 2, 3)), ULP: 16},
		{Name: "special", Op: o, In: []tensor.Tensor{farr(d(1, 6), nan, inf, -inf, 1, 1, 0), farr(d(6), 1, 0, 1, nan, 1, 1), farr(d(6), 0, 0, 0, 0, inf, 0), farr(d(6), 0, 0, 0, 0, 0, nan), farr(d(6), 1, 1, 1, 1, -1, 1)}, ValueOnly: true},
		{Name: "variance", Op: o, In: []tensor.Tensor{ramp(1, 4, 3), ramp(2, 3), ramp(3, 3), ramp(4, 3), ramp(5, 1)}, Refused: "one number for each channel (axis 1 of x)"},
		{Name: "one value", Op: o, In: []tensor.Tensor{ramp(1, 4, 3)}, Refused: "wants 5 values, not 1"},
	}
}

// BatchNorm normalises each channel of a training batch x [n, channels, ...] by the mean and the biased variance of the batch, which are
// returned beside y. A batch with fewer than two values of each channel is refused. A negative eps is taken as it is, and gives NaN where the
// variance is less than -eps.
//
//go:noinline
func BatchNorm(x, scale, bias Value, eps float64) (y, mean, variance Value) {
	y = Apply(BatchNormOp{Eps: F(eps)}, x, scale, bias)
	return y, y.Output(1), y.Output(2)
}

// BatchNormInfer normalises each channel of x by a given mean and variance; NaN where variance + eps is negative.
//
//go:noinline
func BatchNormInfer(x, scale, bias, mean, variance Value, eps float64) Value {
	return Apply(BatchNormInferOp{Eps: F(eps)}, x, scale, bias, mean, variance)
}
