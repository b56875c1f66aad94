package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// Operations that move elements and compute nothing: this file, concat.go, slice.go, dynamicslice.go and pad.go. They take any type.

var _ = register(ReshapeOp{}, TransposeOp{}, ExpandOp{})

// ReshapeOp keeps the elements, in row-major order, under another shape.
type ReshapeOp struct {
	total
	To tensor.Shape
}

// Name is "reshape".
func (ReshapeOp) Name() string { return "reshape" }

// Infer wants equal sizes.
func (o ReshapeOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(1, in); err != nil {
		return nil, err
	}
	if o.To.Check() != nil {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("wants at most %d dimensions, none negative but for one -1 that the others determine", tensor.MaxRank), In: in}
	}
	if a, b := in[0].Shape.Size(), o.To.Size(); a != b {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("%d elements do not fill %v, which has %d", a, o.To, b), In: in}
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: o.To}}, nil
}

// Ref copies.
func (ReshapeOp) Ref(out, in []tensor.Tensor) error {
	move(out[0], in[0]).run(0, 0, in[0].Len())
	return nil
}

// Grad reshapes back.
func (ReshapeOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, dy.reshapeTo(b.InSpec(0).Shape))
}

// Cost is a copy; a driver may need none.
func (ReshapeOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch finds the axis of the same size with as many elements before it.
func (o ReshapeOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	before, n, _ := around(in[0].Shape, int8(axis[0]))
	for i := range o.To.Rank() {
		if b, m, _ := around(o.To, int8(i)); b == before && m == n {
			return []int{i}, Rowwise
		}
	}
	return nil, Mixes
}

// Resize has n elements along the axis.
func (o ReshapeOp) Resize(axis, n int) Op { return ReshapeOp{To: o.To.With(axis, n)} }

// Samples have every rank, and what a user may ask for by mistake.
func (ReshapeOp) Samples() []Sample {
	to := func(dims ...int) ReshapeOp { return ReshapeOp{To: tensor.Of(dims...)} }
	return []Sample{
		{Name: "flatten", Op: to(2, 12), In: []tensor.Tensor{ramp(1, 2, 3, 4)}},
		{Name: "unflatten", Op: to(2, 3, 4), In: []tensor.Tensor{ramp(1, 2, 12)}},
		{Name: "across", Op: to(3, 2), In: []tensor.Tensor{ramp(1, 2, 3)}},
		{Name: "to rank 0", Op: to(), In: []tensor.Tensor{ramp(1, 1, 1)}},
		{Name: "from rank 0", Op: to(1, 1, 1), In: []tensor.Tensor{ramp(1)}},
		{Name: "rank 8", Op: to(1, 2, 1, 3, 1, 2, 1, 2), In: []tensor.Tensor{ramp(1, 24)}},
		{Name: "size 1 axes", Op: to(1, 3, 1), In: []tensor.Tensor{ramp(1, 3)}},
		{Name: "zero size", Op: to(5, 0, 2), In: []tensor.Tensor{ramp(1, 0, 3)}},
		{Name: "special", Op: to(4, 5), In: []tensor.Tensor{specials()}, ValueOnly: true},
		{Name: "i64", Op: to(3, 1), In: []tensor.Tensor{bigInts()}},
		{Name: "bool", Op: to(1, 3), In: []tensor.Tensor{arr(d(3), true, false, true)}},
		{Name: "too large", Op: to(2, 4), In: []tensor.Tensor{ramp(1, 2, 3)}, Refused: "6 elements do not fill [2 4], which has 8"},
		{Name: "negative", Op: to(-2, -3), In: []tensor.Tensor{ramp(1, 2, 3)}, Refused: "none negative but for one -1"},
		{Name: "two values", Op: to(1), In: []tensor.Tensor{ramp(1, 1), ramp(2, 1)}, Refused: "wants 1 values, not 2"},
	}
}

// bigInts are integers that a float64 cannot hold.
func bigInts() tensor.Tensor { return iarr(d(3), math.MaxInt64, math.MinInt64, 1<<53+1) }

// TransposeOp permutes the axes: axis i of the result is axis Perm[i] of the input.
type TransposeOp struct {
	total
	Perm [tensor.MaxRank]uint8 // zero beyond the rank
}

// noPerm is an entry that no axis has.
const noPerm = 255

// Name is "transpose".
func (TransposeOp) Name() string { return "transpose" }

// Infer wants a permutation.
func (o TransposeOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(1, in); err != nil {
		return nil, err
	}
	s, seen := in[0].Shape, 0
	dims := make([]int, s.Rank())
	for i, p := range o.Perm {
		switch {
		case i >= s.Rank() && p == 0:
		case i >= s.Rank() || int(p) >= s.Rank() || seen>>p&1 == 1:
			return nil, &tensor.ShapeError{Msg: fmt.Sprintf("wants each of the %d axes once, or no axes to swap the last two", s.Rank()), In: in}
		default:
			seen |= 1 << p
			dims[i] = s.Dim(int(p))
		}
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: tensor.Of(dims...)}}, nil
}

// Ref copies element by element.
func (o TransposeOp) Ref(out, in []tensor.Tensor) error {
	own, m := in[0].Shape().Strides(), move(out[0], in[0])
	var strides [tensor.MaxRank]int
	for i := range out[0].Shape().Rank() {
		strides[i] = own[o.Perm[i]]
	}
	eachStride(out[0].Shape(), strides, func(i, j int) { m.run(i, j, 1) })
	return nil
}

// Grad is the inverse permutation.
func (o TransposeOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	var inv TransposeOp
	for i := range b.OutSpec(0).Shape.Rank() {
		inv.Perm[o.Perm[i]] = uint8(i)
	}
	b.Set(0, Apply(inv, dy))
}

// Cost is a copy.
func (TransposeOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch follows the axis.
func (o TransposeOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	for i, p := range o.Perm {
		if int(p) == axis[0] {
			return []int{i}, Rowwise
		}
	}
	return nil, Mixes
}

// Samples have square and oblong matrices, small and larger than a tile, and every kind of permutation.
func (TransposeOp) Samples() []Sample {
	by := func(perm ...uint8) (o TransposeOp) {
		copy(o.Perm[:], perm)
		return o
	}
	return []Sample{
		{Name: "matrix", Op: by(1, 0), In: []tensor.Tensor{ramp(1, 3, 5)}},
		{Name: "square", Op: by(1, 0), In: []tensor.Tensor{ramp(1, 4, 4)}},
		{Name: "larger than a tile", Op: by(1, 0), In: []tensor.Tensor{ramp(1, 37, 19)}},
		{Name: "identity", Op: by(0, 1), In: []tensor.Tensor{ramp(1, 2, 3)}},
		{Name: "last two", Op: by(0, 2, 1), In: []tensor.Tensor{ramp(1, 2, 3, 4)}},
		{Name: "first two", Op: by(1, 0, 2), In: []tensor.Tensor{ramp(1, 2, 3, 4)}},
		{Name: "cycle", Op: by(2, 0, 1), In: []tensor.Tensor{ramp(1, 2, 3, 4)}},
		{Name: "channels last", Op: by(0, 2, 3, 1), In: []tensor.Tensor{ramp(1, 2, 3, 2, 2)}},
		{Name: "rank 8", Op: by(7, 6, 5, 4, 3, 2, 1, 0), In: []tensor.Tensor{ramp(1, 2, 1, 2, 1, 3, 1, 1, 2)}},
		{Name: "rank 1", Op: by(0), In: []tensor.Tensor{ramp(1, 3)}},
		{Name: "rank 0", Op: by(), In: []tensor.Tensor{ramp(1)}},
		{Name: "size 1 axis", Op: by(1, 0), In: []tensor.Tensor{ramp(1, 1, 7)}},
		{Name: "zero size", Op: by(1, 0), In: []tensor.Tensor{ramp(1, 3, 0)}},
		{Name: "special", Op: by(1, 0), In: []tensor.Tensor{farr(d(2, len(special)/2), special[:]...)}, ValueOnly: true},
		{Name: "i64", Op: by(1, 0), In: []tensor.Tensor{iarr(d(2, 2), math.MaxInt64, math.MinInt64, 1<<53+1, 0)}},
		{Name: "u8", Op: by(1, 0), In: []tensor.Tensor{arr[uint8](d(2, 2), 1, 2, 3, 255)}},
		{Name: "an axis twice", Op: by(0, 0), In: []tensor.Tensor{ramp(1, 2, 3)}, Refused: "wants each of the 2 axes once"},
		{Name: "an axis too many", Op: by(1, 2), In: []tensor.Tensor{ramp(1, 2, 3)}, Refused: "wants each of the 2 axes once"},
		{Name: "an entry too many", Op: by(1, 0, 2), In: []tensor.Tensor{ramp(1, 2, 3)}, Refused: "wants each of the 2 axes once"},
		{Name: "no value", Op: by(), Refused: "wants 1 values, not 0"},
	}
}

// ExpandOp repeats its input along axes of size 1 and along missing leading axes.
type ExpandOp struct {
	total
	To tensor.Shape
}

// Name is "expand".
func (ExpandOp) Name() string { return "expand" }

// Infer wants a shape that broadcasts to the other.
func (o ExpandOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(1, in); err != nil {
		return nil, err
	}
	if err := o.To.Check(); err != nil {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("does not expand: %v", err), In: in}
	}
	if s, ok := tensor.Broadcast(in[0].Shape, o.To); !ok || s != o.To {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("does not expand to %v: each axis, counted from the end, must be equal or 1", o.To), In: in}
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: o.To}}, nil
}

// Ref copies element by element.
func (o ExpandOp) Ref(out, in []tensor.Tensor) error {
	m := move(out[0], in[0])
	eachStride(o.To, tensor.BroadcastStrides(in[0].Shape(), o.To), func(i, j int) { m.run(i, j, 1) })
	return nil
}

// Grad sums what was repeated.
func (ExpandOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, dy.SumTo(b.InSpec(0).Shape))
}

// Cost is a copy.
func (ExpandOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch keeps an axis that is not repeated.
func (o ExpandOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	to := axis[0] + o.To.Rank() - in[0].Shape.Rank()
	if in[0].Shape.Dim(axis[0]) != o.To.Dim(to) {
		return nil, Mixes
	}
	return []int{to}, Rowwise
}

// Resize has n elements along the axis.
func (o ExpandOp) Resize(axis, n int) Op { return ExpandOp{To: o.To.With(axis, n)} }

// Samples repeat leading, middle and last axes.
func (ExpandOp) Samples() []Sample {
	to := func(dims ...int) ExpandOp { return ExpandOp{To: tensor.Of(dims...)} }
	return []Sample{
		{Name: "row", Op: to(4, 3), In: []tensor.Tensor{ramp(1, 3)}},
		{Name: "column", Op: to(3, 4), In: []tensor.Tensor{ramp(1, 3, 1)}},
		{Name: "channel", Op: to(2, 3, 2, 2), In: []tensor.Tensor{ramp(1, 3, 1, 1)}},
		{Name: "middle", Op: to(2, 3, 4), In: []tensor.Tensor{ramp(1, 2, 1, 4)}},
		{Name: "rank 0", Op: to(2, 3), In: []tensor.Tensor{ramp(1)}},
		{Name: "rank 0 to rank 0", Op: to(), In: []tensor.Tensor{ramp(1)}},
		{Name: "nothing to repeat", Op: to(2, 3), In: []tensor.Tensor{ramp(1, 2, 3)}},
		{Name: "size 1 axes", Op: to(1, 1, 1), In: []tensor.Tensor{ramp(1, 1)}},
		{Name: "to zero size", Op: to(0, 3), In: []tensor.Tensor{ramp(1, 1, 3)}},
		{Name: "from zero size", Op: to(2, 0), In: []tensor.Tensor{ramp(1, 0)}},
		{Name: "special", Op: to(3, len(special)), In: []tensor.Tensor{specials()}, ValueOnly: true},
		{Name: "i64", Op: to(2, 3), In: []tensor.Tensor{bigInts()}},
		{Name: "bool", Op: to(2, 2), In: []tensor.Tensor{arr(d(2, 1), true, false)}},
		{Name: "unequal", Op: to(2, 4), In: []tensor.Tensor{ramp(1, 2, 3)}, Refused: "does not expand to [2 4]"},
		{Name: "fewer axes", Op: to(3), In: []tensor.Tensor{ramp(1, 1, 3)}, Refused: "does not expand to [3]"},
		{Name: "to size 1", Op: to(1), In: []tensor.Tensor{ramp(1, 3)}, Refused: "does not expand to [1]"},
		{Name: "negative", Op: to(-1), In: []tensor.Tensor{ramp(1, 1)}, Refused: "invalid shape"},
	}
}

// Reshape is the same elements under another shape. One dimension may be -1: the others determine it.
//
//go:noinline
func (x Value) Reshape(dims ...int) Value {
	rest, free := 1, -1
	for i, n := range dims {
		if n == -1 && free < 0 {
			free = i
		} else {
			rest *= n
		}
	}
	to := tensor.Of(dims...)
	if size := x.Shape().Size(); free >= 0 && rest > 0 && size%rest == 0 {
		var full [tensor.MaxRank]int
		if n := copy(full[:], dims); n == len(dims) {
			full[free] = size / rest
			to = tensor.Of(full[:n]...)
		}
	}
	return x.reshapeTo(to)
}

// reshapeTo is x itself if it has the shape.
func (x Value) reshapeTo(s tensor.Shape) Value {
	if x.Shape() == s {
		return x
	}
	return Apply(ReshapeOp{To: s}, x)
}

// Flatten is [n, the rest] of a value whose first axis has n elements: rows for a Linear layer.
//
//go:noinline
func (x Value) Flatten() Value {
	_, n, rest := around(x.Shape(), 0)
	return x.reshapeTo(tensor.Of(n, rest))
}

// Transpose permutes the axes: axis i of the result is axis perm[i] of x. Without arguments it swaps the last two. Negative axes count
// from the end. It is PyTorch's permute: where that writes x.transpose(0, 1) for a matrix, write x.Transpose().
//
//go:noinline
func (x Value) Transpose(perm ...int) Value {
	var o TransposeOp
	n := x.Rank()
	switch {
	case len(perm) == n:
		for i, p := range perm {
			o.Perm[i] = uint8(axisOf(p, n))
		}
	case len(perm) == 0 && n >= 2:
		for i := range n {
			o.Perm[i] = uint8(i)
		}
		o.Perm[n-1], o.Perm[n-2] = uint8(n-2), uint8(n-1)
	default:
		o.Perm[0] = noPerm
	}
	return Apply(o, x)
}

// Expand repeats x along its axes of size 1, and along leading axes that it lacks, until it has the shape. A dimension of -1 is that of x.
//
//go:noinline
func (x Value) Expand(dims ...int) Value {
	var full [tensor.MaxRank]int
	if len(dims) > len(full) {
		return x.expandTo(tensor.Of(dims...))
	}
	for i, n := range dims {
		full[i] = n
		if own := i - len(dims) + x.Rank(); n == -1 && own >= 0 {
			full[i] = x.Dim(own)
		}
	}
	return x.expandTo(tensor.Of(full[:len(dims)]...))
}

// expandTo is x itself if it has the shape.
func (x Value) expandTo(s tensor.Shape) Value {
	if x.Shape() == s {
		return x
	}
	return Apply(ExpandOp{To: s}, x)
}
