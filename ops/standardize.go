package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// Normalisation along rows; norm.go has that across a batch.

var _ = register(StandardizeOp{}, StandardizeGradOp{})

// StandardizeOp brings every line along the last axis to mean 0 and variance 1: y = (x - mean) / sqrt(variance + Eps), with the biased
// variance. Eps is not negative, by custom; one that is gives NaN where the variance is less than -Eps. The op takes two passes, and keeps the mean in float64, so that a large one costs no digits. Hidden output 1 is 1 /
// sqrt(variance + Eps) of each line, for the gradient.
type StandardizeOp struct {
	total
	Eps Bits
}

// Name is "standardize".
func (StandardizeOp) Name() string { return "standardize" }

// Infer wants floats with an axis.
func (o StandardizeOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if _, err := inferFloat(in); err != nil {
		return nil, err
	}
	s := in[0].Shape
	if s.Rank() == 0 {
		return nil, &tensor.ShapeError{Msg: "wants an axis", In: in}
	}
	return []tensor.Spec{in[0], {DType: in[0].DType, Shape: lines(s)}}, nil
}

// lines is the shape without the last axis.
func lines(s tensor.Shape) tensor.Shape { return tensor.Of(s.Dims()[:s.Rank()-1]...) }

// Ref takes each line by itself.
func (o StandardizeOp) Ref(out, in []tensor.Tensor) error {
	x := in[0]
	eachLine(x.Shape(), int8(x.Shape().Rank()-1), func(line, first, n, _ int) {
		mean, variance := 0.0, 0.0
		for i := first; i < first+n; i++ {
			mean += x.At(i) / float64(n)
		}
		rest := 0.0 // what the mean has lost to rounding
		for i := first; i < first+n; i++ {
			rest += (x.At(i) - mean) / float64(n)
		}
		for i := first; i < first+n; i++ {
			variance += (x.At(i) - mean - rest) * (x.At(i) - mean - rest)
		}
		rstd := 1 / math.Sqrt(variance/float64(n)+o.Eps.Float())
		if !out[0].IsNone() {
			for i := first; i < first+n; i++ {
				out[0].Set(i, (x.At(i)-mean-rest)*rstd)
			}
		}
		if !out[1].IsNone() {
			out[1].Set(line, rstd)
		}
	})
	return nil
}

// Grad is an op of its own; d rstd = -y rstd^2 / n, which arrives in second order only.
func (o StandardizeOp) Grad(b *Backward) {
	var dx Value
	if dy, ok := b.Dy(0); ok {
		dx = Apply(StandardizeGradOp{}, b.Out(0), b.Out(1), dy)
	}
	if dr, ok := b.Dy(1); ok {
		r := b.Out(1)
		n := float64(b.InSpec(0).Shape.Dim(-1))
		d := b.Out(0).Mul(dr.Mul(r).Mul(r).Scale(-1 / n).Unsqueeze(-1))
		if dx.IsNone() {
			dx = d
		} else {
			dx = dx.Add(d)
		}
	}
	b.Set(0, dx)
}

// Cost is seven operations for each element.
func (StandardizeOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(7, in, out[:1]) }

// Batch keeps another axis.
func (StandardizeOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	if axis[0] == in[0].Shape.Rank()-1 {
		return nil, Mixes
	}
	return []int{axis[0], axis[0]}, Rowwise
}

// Samples have lines far from 0, of equals, and short ones.
func (StandardizeOp) Samples() []Sample {
	nan, inf := math.NaN(), math.Inf(1)
	o := StandardizeOp{Eps: F(1e-5)}
	far := tensor.New(tensor.SpecOf(tensor.F64, 4, 16))
	for i := range far.Len() {
		far.Set(i, []float64{0, 100, 1000, 10000}[i/16]+float64(i%16)*1e-3)
	}
	return []Sample{
		{Name: "matrix", Op: o, In: []tensor.Tensor{ramp(1, 3, 7)}},
		{Name: "rank 3", Op: o, In: []tensor.Tensor{ramp(1, 2, 2, 5)}},
		{Name: "vector", Op: o, In: []tensor.Tensor{ramp(1, 5)}},
		{Name: "long", Op: o, In: []tensor.Tensor{ramp(1, 2, 1031)}, ULP: 16},
		{Name: "far from 0", Op: o, In: []tensor.Tensor{far}, ValueOnly: true, ULP: 16},
		{Name: "farther", Op: o, In: []tensor.Tensor{farr(d(1, 4), 40000, 40001, 40002, 40003)}, ValueOnly: true},
		{Name: "equals", Op: o, In: []tensor.Tensor{farr(d(2, 3), 5, 5, 5, 0, 0, 0)}, ValueOnly: true},
		{Name: "size 1", Op: o, In: []tensor.Tensor{ramp(1, 3, 1)}, ValueOnly: true},
		{Name: "no line", Op: o, In: []tensor.Tensor{ramp(1, 0, 3)}},
		{Name: "negative eps", Op: StandardizeOp{Eps: F(-0.01)}, In: []tensor.Tensor{ramp(1, 2, 5)}},
		{Name: "special", Op: o, In: []tensor.Tensor{farr(d(3, 3), nan, 1, 2, inf, 1, 2, -inf, inf, 0)}, ValueOnly: true},
		{Name: "rank 0", Op: o, In: []tensor.Tensor{ramp(1)}, Refused: "wants an axis"},
		{Name: "integers", Op: o, In: []tensor.Tensor{iarr(d(1), 1)}, Refused: "wants one float value"},
	}
}

// StandardizeGradOp is the gradient of StandardizeOp from its outputs y and r, and dy of y's shape: r (dy - mean(dy) - y mean(y dy)) along each line.
type StandardizeGradOp struct {
	total
	NoGrad
}

// Name is "standardize gradient".
func (StandardizeGradOp) Name() string { return "standardize gradient" }

// Infer wants what StandardizeOp gives, and dy.
func (StandardizeGradOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if len(in) != 3 || !in[0].DType.Float() || in[0].Shape.Rank() == 0 || in[2] != in[0] || in[1] != (tensor.Spec{DType: in[0].DType, Shape: lines(in[0].Shape)}) {
		return nil, &tensor.ShapeError{Msg: "wants y and dy of one float spec with an axis, and between them a number for each line", In: in}
	}
	return in[:1:1], nil
}

// Ref takes each line by itself.
func (StandardizeGradOp) Ref(out, in []tensor.Tensor) error {
	y, r, dy := in[0], in[1], in[2]
	eachLine(y.Shape(), int8(y.Shape().Rank()-1), func(line, first, n, _ int) {
		sum, dot := 0.0, 0.0
		for i := first; i < first+n; i++ {
			sum += dy.At(i)
			dot += dy.At(i) * y.At(i)
		}
		for i := first; i < first+n; i++ {
			out[0].Set(i, r.At(line)*(dy.At(i)-sum/float64(n)-y.At(i)*dot/float64(n)))
		}
	})
	return nil
}

// Decompose is the formula.
func (StandardizeGradOp) Decompose(in []Value) []Value {
	y, r, dy := in[0], in[1], in[2]
	return []Value{dy.Sub(dy.MeanKeep(-1)).Sub(y.Mul(y.Mul(dy).MeanKeep(-1))).Mul(r.Unsqueeze(-1))}
}

// Cost is eight operations for each element.
func (StandardizeGradOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(8, in, out) }

// Batch keeps another axis that all have.
func (StandardizeGradOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	if axis[0] == in[0].Shape.Rank()-1 || axis[0] != axis[1] || axis[0] != axis[2] {
		return nil, Mixes
	}
	return axis[:1], Rowwise
}

// Samples take any y and r: the op does not know where they are from.
func (o StandardizeGradOp) Samples() []Sample {
	return []Sample{
		{Name: "matrix", Op: o, In: []tensor.Tensor{ramp(1, 3, 7), positive(2, 3), ramp(3, 3, 7)}},
		{Name: "rank 3", Op: o, In: []tensor.Tensor{ramp(1, 2, 2, 5), positive(2, 2, 2), ramp(3, 2, 2, 5)}},
		{Name: "vector", Op: o, In: []tensor.Tensor{ramp(1, 5), positive(2), ramp(3, 5)}},
		{Name: "long", Op: o, In: []tensor.Tensor{ramp(1, 2, 1031), positive(2, 2), ramp(3, 2, 1031)}, ULP: 16},
		{Name: "size 1", Op: o, In: []tensor.Tensor{ramp(1, 2, 1), positive(2, 2), ramp(3, 2, 1)}},
		{Name: "no line", Op: o, In: []tensor.Tensor{ramp(1, 0, 3), positive(2, 0), ramp(3, 0, 3)}},
		{Name: "special", Op: o, In: []tensor.Tensor{farr(d(3, 2), math.NaN(), 1, 1, 1, 1, 1), farr(d(3), 1, math.Inf(1), 1), farr(d(3, 2), 1, 2, 3, 4, math.Inf(1), 0)}, ValueOnly: true},
		{Name: "shapes", Op: o, In: []tensor.Tensor{ramp(1, 2, 3), ramp(2, 3), ramp(3, 2, 3)}, Refused: "a number for each line"},
		{Name: "rank 0", Op: o, In: []tensor.Tensor{ramp(1), ramp(2), ramp(3)}, Refused: "with an axis"},
	}
}

// affine is y times scale plus bias, either of which may be none.
func affine(y, scale, bias Value) Value {
	if !scale.IsNone() {
		y = y.Mul(scale)
	}
	if !bias.IsNone() {
		y = y.Add(bias)
	}
	return y
}

// flatten is x with its last n axes as one, or why it has not so many.
func (x Value) flatten(n int) (y Value, refused string) {
	if n < 1 || n > x.Rank() {
		return x, fmt.Sprintf("normalises %d axes of rank %d", n, x.Rank())
	}
	dims := x.Shape().Dims()[:x.Rank()-n]
	size := 1
	for _, d := range x.Shape().Dims()[x.Rank()-n:] {
		size *= d
	}
	return x.reshapeTo(tensor.Of(append(dims, size)...)), ""
}

// LayerNorm brings the last n axes of x, taken together, to mean 0 and variance 1, with eps under the root, then multiplies by scale and adds
// bias, which have the shape of those axes or are none (Ba et al., 2016). A negative eps is taken as it is, here and in RMSNorm and GroupNorm, and gives
// NaN where it leaves less than 0 under the root.
//
//go:noinline
func LayerNorm(x, scale, bias Value, n int, eps float64) Value {
	o := StandardizeOp{Eps: F(eps)}
	rows, refused := x.flatten(n)
	if refused != "" {
		return x.refuse(o, refused)
	}
	return affine(Apply(o, rows).reshapeTo(x.Shape()), scale, bias)
}

// RMSNorm divides x by the root of the mean of squares, plus eps, over its last n axes, taken together, then multiplies by scale, which has the shape
// of those axes or is none (Zhang and Sennrich, 2019).
//
//go:noinline
func RMSNorm(x, scale Value, n int, eps float64) Value {
	rows, refused := x.flatten(n)
	if refused != "" {
		return x.refuse(ReduceOp{F: MeanOf}, refused)
	}
	r := rows.Square().MeanKeep(-1).Shift(eps).Rsqrt()
	return affine(rows.Mul(r).reshapeTo(x.Shape()), scale, Value{})
}

// GroupNorm brings each of a number of groups of neighbouring channels of x [n, channels, ...] to mean 0 and variance 1, with eps under the
// root, then multiplies by scale and adds bias, which have a number for each channel or are none (Wu and He, 2018). With as many groups as
// channels it is instance normalisation.
//
//go:noinline
func GroupNorm(x, scale, bias Value, groups int, eps float64) Value {
	o := StandardizeOp{Eps: F(eps)}
	s := x.Shape()
	if s.Rank() < 2 || groups < 1 || s.Dim(1)%groups != 0 {
		return x.refuse(o, fmt.Sprintf("wants [n, channels, ...] with a multiple of %d channels", groups))
	}
	_, _, inner := around(s, 1)
	y := Apply(o, x.reshapeTo(tensor.Of(s.Dim(0), groups, s.Dim(1)/groups*inner))).reshapeTo(s)
	channels := func(v Value) Value {
		if v.IsNone() {
			return v
		}
		return alongChannels(v, s)
	}
	return affine(y, channels(scale), channels(bias))
}
