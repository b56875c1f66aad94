package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// Movements of elements that are said in terms of others.

// Unsqueeze puts an axis of size 1 in front of the given one; negative numbers count from behind the last axis, so that -1 appends one.
//
//go:noinline
func (x Value) Unsqueeze(axis int) Value {
	rank := x.Rank()
	a := int(axisOf(axis, rank+1))
	if a < 0 || a > rank {
		return x.refuse(ReshapeOp{}, noAxis(axis, rank+1))
	}
	dims := x.Shape().Dims()
	return x.reshapeTo(tensor.Of(append(append(dims[:a:a], 1), dims[a:]...)...))
}

// Squeeze drops axes of size 1, counted from the end if negative; without arguments all such axes. Axes of another size stay.
//
//go:noinline
func (x Value) Squeeze(axes ...int) Value {
	list, refused := x.axesOf(axes)
	if refused != "" {
		return x.refuse(ReshapeOp{}, refused)
	}
	var ones []int
	for _, a := range list {
		if x.Dim(a) == 1 {
			ones = append(ones, a)
		}
	}
	return x.dropAxes(ones)
}

// Stack joins values of one shape along a new axis in front of the given one; negative numbers count from behind the last axis.
//
//go:noinline
func Stack(axis int, xs ...Value) Value {
	if len(xs) > 0 && axis < 0 {
		axis += xs[0].Rank() + 1
	}
	with := make([]Value, len(xs))
	for i, x := range xs {
		with[i] = x.Unsqueeze(axis)
	}
	return Concat(axis, with...)
}

// Narrow is length elements of x from start on, along an axis, counted from the end if negative. Unlike Slice it refuses elements that are
// not there.
//
//go:noinline
func (x Value) Narrow(axis, start, length int) Value {
	return Apply(SliceOp{Axis: axisOf(axis, x.Rank()), Start: start, Size: length, Step: 1}, x)
}

// Chunk cuts x along an axis, counted from the end if negative, into n parts as equal as can be: all but the last have the size of the
// first. There are fewer parts where fewer do.
//
//go:noinline
func (x Value) Chunk(axis, n int) (parts []Value) {
	size := x.Dim(axis)
	if n < 1 {
		return []Value{x.refuse(SliceOp{}, fmt.Sprintf("cannot be cut into %d chunks", n))}
	}
	n = min(n, max(size, 1))
	each := max(1, (size+n-1)/n)
	for at := 0; at < size || at == 0; at += each {
		parts = append(parts, x.Narrow(axis, at, min(each, size-at)))
	}
	return parts
}

// Flip reverses the order along axes, counted from the end if negative; without axes along all.
//
//go:noinline
func (x Value) Flip(axes ...int) Value {
	list, refused := x.axesOf(axes)
	if refused != "" {
		return x.refuse(SliceOp{}, refused)
	}
	for _, a := range list {
		x = SliceStep(x, a, math.MaxInt, math.MinInt, -1)
	}
	return x
}

// Roll moves every element on by shift positions along an axis, counted from the end if negative; what leaves at the end comes in at the
// start.
//
//go:noinline
func (x Value) Roll(axis, shift int) Value {
	n := x.Dim(axis)
	if n == 0 {
		return x.Identity()
	}
	at := ((-shift)%n + n) % n
	return Concat(axis, x.Narrow(axis, at, n-at), x.Narrow(axis, 0, at))
}

// Tile puts copies of x one behind the other, as often as counts say for each axis. Missing counts in front are 1, and so are missing axes.
//
//go:noinline
func (x Value) Tile(counts ...int) Value {
	for range len(counts) - x.Rank() {
		x = x.Unsqueeze(0)
	}
	for i, n := range counts {
		x = x.repeat(x.Rank()-len(counts)+i, n, true)
	}
	return x
}

// Repeat gives each element n times along an axis, counted from the end if negative: 1 2 becomes 1 1 2 2.
//
//go:noinline
func (x Value) Repeat(axis, n int) Value { return x.repeat(axis, n, false) }

// repeat copies all of an axis n times, or each of its elements.
func (x Value) repeat(axis, n int, whole bool) Value {
	a := int(axisOf(axis, x.Rank()))
	if a < 0 || a >= x.Rank() {
		return x.refuse(ExpandOp{}, noAxis(axis, x.Rank()))
	}
	if n < 0 {
		return x.refuse(ExpandOp{}, fmt.Sprintf("cannot be repeated %d times", n))
	}
	if n == 1 {
		return x
	}
	outer, size, inner := around(x.Shape(), int8(a))
	from, to := tensor.Of(outer, size, 1, inner), tensor.Of(outer, size, n, inner)
	if whole {
		from, to = tensor.Of(outer, 1, size, inner), tensor.Of(outer, n, size, inner)
	}
	return x.reshapeTo(from).expandTo(to).reshapeTo(x.Shape().With(a, n*size))
}

// Tril is x, with 0 above the diagonal of each matrix of its last two axes. The diagonal is k places to the right of the main one.
//
//go:noinline
func (x Value) Tril(k int) Value { return x.triangle(k, CompareOp{F: LessEqual}) }

// Triu is x, with 0 below the diagonal of each matrix of its last two axes. The diagonal is k places to the right of the main one.
//
//go:noinline
func (x Value) Triu(k int) Value { return x.triangle(k, CompareOp{F: GreaterEqual}) }

// triangle keeps the elements whose column compares with the row's diagonal.
func (x Value) triangle(k int, keep CompareOp) Value {
	if x.Rank() < 2 {
		return x.refuse(WhereOp{}, "a triangle is of a matrix: wants at least two axes")
	}
	rows, cols := x.Dim(-2), x.Dim(-1)
	k = max(-rows, min(k, cols)) // nothing changes beyond, and nothing overflows
	column := Iota(x.r, tensor.SpecOf(tensor.I64, cols), 0)
	row := Iota(x.r, tensor.SpecOf(tensor.I64, rows, 1), 0)
	if k != 0 {
		row = row.Add(row.constant(float64(k)))
	}
	return Where(Apply(keep, column, row), x, x.constant(0))
}

// PixelShuffle makes images [..., c, h*r, w*r] of channels [..., c*r*r, h, w] (Shi et al., 2016).
//
//go:noinline
func PixelShuffle(x Value, r int) Value {
	s := x.Shape()
	if s.Rank() < 3 || r < 1 || s.Dim(-3)%(r*r) != 0 {
		return x.refuse(ReshapeOp{}, fmt.Sprintf("wants [..., channels, height, width] with a multiple of %d*%d channels", r, r))
	}
	n, c, h, w := leading3(s), s.Dim(-3)/(r*r), s.Dim(-2), s.Dim(-1)
	y := x.reshapeTo(tensor.Of(n, c, r, r, h, w)).Transpose(0, 1, 4, 2, 5, 3)
	return y.reshapeTo(s.With(-3, c).With(-2, h*r).With(-1, w*r))
}

// PixelUnshuffle is the inverse of PixelShuffle.
//
//go:noinline
func PixelUnshuffle(x Value, r int) Value {
	s := x.Shape()
	if s.Rank() < 3 || r < 1 || s.Dim(-2)%r != 0 || s.Dim(-1)%r != 0 {
		return x.refuse(ReshapeOp{}, fmt.Sprintf("wants [..., channels, height, width] with multiples of %d as height and width", r))
	}
	n, c, h, w := leading3(s), s.Dim(-3), s.Dim(-2)/r, s.Dim(-1)/r
	y := x.reshapeTo(tensor.Of(n, c, h, r, w, r)).Transpose(0, 1, 3, 5, 2, 4)
	return y.reshapeTo(s.With(-3, c*r*r).With(-2, h).With(-1, w))
}

// leading3 is the number of images [channels, height, width].
func leading3(s tensor.Shape) int {
	n, _, _ := around(s, int8(s.Rank()-3))
	return n
}
