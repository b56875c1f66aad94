package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(DynamicSliceOp{}, DynamicSliceGradOp{})

// DynamicSliceOp takes a box of the given size whose first corner, starts, is known at run time only: (x, starts i64[rank]). A box that
// does not lie in x is an *IndexError: it is not moved to where it would fit.
type DynamicSliceOp struct {
	Size tensor.Shape
}

// Name is "dynamic slice".
func (DynamicSliceOp) Name() string { return "dynamic slice" }

// Infer wants a box no larger than x.
func (o DynamicSliceOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(2, in); err != nil {
		return nil, err
	}
	if err := checkBox(o.Size, in[0].Shape, in); err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: o.Size}}, nil
}

// checkBox wants a box that fits into an array of shape s, and one start for each axis in in[1].
func checkBox(box, s tensor.Shape, in []tensor.Spec) error {
	fits := box.Rank() == s.Rank() && box.Check() == nil && s.Check() == nil
	for i := range box.Rank() {
		fits = fits && box.Dim(i) <= s.Dim(i)
	}
	if !fits {
		return &tensor.ShapeError{Msg: fmt.Sprintf("a box of %v does not fit into %v", box, s), In: in}
	}
	if !isIndex(in[1].DType) || in[1].Shape != tensor.Of(s.Rank()) {
		return &tensor.ShapeError{Msg: fmt.Sprintf("wants starts of type i64[%d], one for each axis", s.Rank()), In: in}
	}
	return nil
}

// isIndex reports whether values of type d index.
func isIndex(d tensor.DType) bool { return d == tensor.I64 || d == tensor.I32 }

// corner is the position of the box's first element in an array of shape s.
func corner(box, s tensor.Shape, starts tensor.Tensor) (int, error) {
	at, strides := 0, s.Strides()
	for i := range s.Rank() {
		x := starts.Int(i)
		if err := CheckIndex(x, s.Dim(i)-box.Dim(i)+1); err != nil {
			return 0, err
		}
		at += int(x) * strides[i]
	}
	return at, nil
}

// Ref copies element by element.
func (o DynamicSliceOp) Ref(out, in []tensor.Tensor) error {
	at, err := corner(o.Size, in[0].Shape(), in[1])
	if err != nil {
		return err
	}
	m := move(out[0], in[0])
	eachStride(o.Size, in[0].Shape().Strides(), func(i, j int) { m.run(i, at+j, 1) })
	return nil
}

// Grad puts dy back where it came from, among zeros.
func (o DynamicSliceOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, Apply(DynamicSliceGradOp{To: b.InSpec(0).Shape}, dy, b.In(1)))
}

// Cost is a copy of the part.
func (DynamicSliceOp) Cost(in, out []tensor.Spec) Cost { return Traffic(out, out) }

// Batch keeps an axis that is taken whole.
func (o DynamicSliceOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchWhole(in[0].Shape, o.Size, axis)
}

// Samples take boxes at every edge, and beyond.
func (DynamicSliceOp) Samples() []Sample {
	box := func(dims ...int) DynamicSliceOp { return DynamicSliceOp{Size: tensor.Of(dims...)} }
	return []Sample{
		{Name: "inside", Op: box(2, 2), In: []tensor.Tensor{ramp(1, 4, 5), iarr(d(2), 1, 2)}},
		{Name: "first", Op: box(2, 2), In: []tensor.Tensor{ramp(1, 4, 5), iarr(d(2), 0, 0)}},
		{Name: "last", Op: box(2, 2), In: []tensor.Tensor{ramp(1, 4, 5), iarr(d(2), 2, 3)}},
		{Name: "all", Op: box(2, 3), In: []tensor.Tensor{ramp(1, 2, 3), iarr(d(2), 0, 0)}},
		{Name: "a row", Op: box(1, 3, 2), In: []tensor.Tensor{ramp(1, 4, 3, 2), arr[int32](d(3), 2, 0, 0)}},
		{Name: "rank 0", Op: box(), In: []tensor.Tensor{ramp(1), iarr(d(0))}},
		{Name: "nothing, at the end", Op: box(0, 2), In: []tensor.Tensor{ramp(1, 3, 2), iarr(d(2), 3, 0)}},
		{Name: "special", Op: box(len(special) - 1), In: []tensor.Tensor{specials(), iarr(d(1), 1)}, ValueOnly: true},
		{Name: "integers", Op: box(2), In: []tensor.Tensor{bigInts(), iarr(d(1), 1)}},
		{Name: "past the end", Op: box(2, 2), In: []tensor.Tensor{ramp(1, 4, 5), iarr(d(2), 1, 4)}, Fails: "index 4 out of range [0,4)"},
		{Name: "before the start", Op: box(2), In: []tensor.Tensor{ramp(1, 4), iarr(d(1), -1)}, Fails: "index -1 out of range [0,3)"},
		{Name: "far away", Op: box(2), In: []tensor.Tensor{ramp(1, 4), iarr(d(1), math.MaxInt64)}, Fails: "out of range [0,3)"},
		{Name: "too large", Op: box(2, 6), In: []tensor.Tensor{ramp(1, 4, 5), iarr(d(2), 0, 0)}, Refused: "a box of [2 6] does not fit into [4 5]"},
		{Name: "ranks differ", Op: box(2), In: []tensor.Tensor{ramp(1, 4, 5), iarr(d(2), 0, 0)}, Refused: "a box of [2] does not fit into [4 5]"},
		{Name: "too few starts", Op: box(2, 2), In: []tensor.Tensor{ramp(1, 4, 5), iarr(d(1), 0)}, Refused: "wants starts of type i64[2]"},
		{Name: "float starts", Op: box(2), In: []tensor.Tensor{ramp(1, 4), ramp(1, 1)}, Refused: "wants starts of type i64[1]"},
		{Name: "one value", Op: box(2), In: []tensor.Tensor{ramp(1, 4)}, Refused: "wants 2 values, not 1"},
	}
}

// batchWhole is the batch rule for a box in an array that are equally large along the batch axis.
func batchWhole(s, t tensor.Shape, axis []int) ([]int, BatchKind) {
	if axis[0] < 0 || axis[1] >= 0 || s.Dim(axis[0]) != t.Dim(axis[0]) {
		return nil, Mixes
	}
	return []int{axis[0]}, Rowwise
}

// Resize has n elements along the axis.
func (o DynamicSliceOp) Resize(axis, n int) Op { return DynamicSliceOp{Size: o.Size.With(axis, n)} }

// DynamicSliceGradOp is the adjoint of DynamicSliceOp: it lays dy into zeros of shape To: (dy, starts i64[rank]).
type DynamicSliceGradOp struct {
	To tensor.Shape
}

// Name is "dynamic slice gradient".
func (DynamicSliceGradOp) Name() string { return "dynamic slice gradient" }

// Infer wants room for dy.
func (o DynamicSliceGradOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(2, in); err != nil {
		return nil, err
	}
	if err := checkBox(in[0].Shape, o.To, in); err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: o.To}}, nil
}

// Ref copies element by element into zeros.
func (o DynamicSliceGradOp) Ref(out, in []tensor.Tensor) error {
	at, err := corner(in[0].Shape(), o.To, in[1])
	if err != nil {
		return err
	}
	clear(out[0].Bytes())
	m := move(out[0], in[0])
	eachStride(in[0].Shape(), o.To.Strides(), func(i, j int) { m.run(at+j, i, 1) })
	return nil
}

// Grad is the slice.
func (o DynamicSliceGradOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, Apply(DynamicSliceOp{Size: b.InSpec(0).Shape}, dy, b.In(1)))
}

// Cost is a copy.
func (DynamicSliceGradOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch keeps an axis that is taken whole.
func (o DynamicSliceGradOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchWhole(in[0].Shape, o.To, axis)
}

// Resize has n elements along the axis.
func (o DynamicSliceGradOp) Resize(axis, n int) Op {
	return DynamicSliceGradOp{To: o.To.With(axis, n)}
}

// Samples mirror DynamicSliceOp's.
func (DynamicSliceGradOp) Samples() []Sample {
	into := func(dims ...int) DynamicSliceGradOp { return DynamicSliceGradOp{To: tensor.Of(dims...)} }
	return []Sample{
		{Name: "inside", Op: into(4, 5), In: []tensor.Tensor{ramp(1, 2, 2), iarr(d(2), 1, 2)}},
		{Name: "last", Op: into(4, 5), In: []tensor.Tensor{ramp(1, 2, 2), iarr(d(2), 2, 3)}},
		{Name: "all", Op: into(2, 3), In: []tensor.Tensor{ramp(1, 2, 3), arr[int32](d(2), 0, 0)}},
		{Name: "rank 0", Op: into(), In: []tensor.Tensor{ramp(1), iarr(d(0))}},
		{Name: "nothing", Op: into(3), In: []tensor.Tensor{ramp(1, 0), iarr(d(1), 3)}},
		{Name: "special", Op: into(2 * len(special)), In: []tensor.Tensor{specials(), iarr(d(1), 3)}, ValueOnly: true},
		{Name: "past the end", Op: into(4), In: []tensor.Tensor{ramp(1, 2), iarr(d(1), 3)}, Fails: "index 3 out of range [0,3)"},
		{Name: "too large", Op: into(1), In: []tensor.Tensor{ramp(1, 2), iarr(d(1), 0)}, Refused: "a box of [2] does not fit into [1]"},
		{Name: "impossible", Op: into(-1), In: []tensor.Tensor{ramp(1), iarr(d(0))}, Refused: "does not fit into [invalid]"},
	}
}

// DynamicSlice is a box of the given dimensions out of x. Its first corner is starts, an i64 value of one axis with a start for each of
// x's: an input, say, so that it may change from step to step without a recompile. A box that does not lie in x fails the step with an
// *IndexError.
//
//go:noinline
func DynamicSlice(x, starts Value, dims ...int) Value {
	return Apply(DynamicSliceOp{Size: tensor.Of(dims...)}, x, starts)
}
