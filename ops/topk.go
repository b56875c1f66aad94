package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(TopKOp{})

// TopKOp finds the K largest elements along the last axis, or the smallest: values and i64 indices, in order; of equal elements the one
// with the lower index comes first. NaN counts as larger than every number, so it comes first among the largest and last among the
// smallest.
type TopKOp struct {
	total
	K        int
	Axis     int8 // the last one
	Smallest bool
}

// Name is "top-k".
func (TopKOp) Name() string { return "top-k" }

// Infer wants numbers, and K of them at least.
func (o TopKOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkAxis(o.Axis, 1, in); err != nil {
		return nil, err
	}
	n := in[0].Shape.Dim(-1)
	switch {
	case int(o.Axis) != in[0].Shape.Rank()-1:
		return nil, &tensor.ShapeError{Msg: "works along the last axis; write a Transpose", In: in}
	case o.K < 0 || o.K > n:
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("there are no %d elements in an axis of %d", o.K, n), In: in}
	case in[0].DType == tensor.Bool:
		return nil, &tensor.ShapeError{Msg: "bool has no order; write a Cast", In: in}
	}
	s := in[0].Shape.With(-1, o.K)
	return []tensor.Spec{{DType: in[0].DType, Shape: s}, {DType: tensor.I64, Shape: s}}, nil
}

// Ref sorts each row.
func (o TopKOp) Ref(out, in []tensor.Tensor) error {
	rows, n, _ := around(in[0].Shape(), o.Axis)
	order := make([]int, n)
	for r := range rows {
		for i := range order {
			order[i] = r*n + i
		}
		slices.SortStableFunc(order, func(i, j int) int {
			if o.Smallest {
				i, j = j, i
			}
			return larger(in[0], i, j)
		})
		for k, i := range order[:o.K] {
			if !out[0].IsNone() {
				move(out[0], in[0]).run(r*o.K+k, i, 1)
			}
			if !out[1].IsNone() {
				out[1].SetInt(r*o.K+k, int64(i-r*n))
			}
		}
	}
	return nil
}

// larger is negative if element i is larger than element j, 0 if they are equal. NaN is larger than every number.
func larger(x tensor.Tensor, i, j int) int {
	if !x.DType().Float() {
		return cmpOrder(x.Int(j) < x.Int(i), x.Int(i) < x.Int(j))
	}
	a, b := x.At(i), x.At(j)
	return cmpOrder(b < a || a != a && b == b, a < b || b != b && a == a)
}

func cmpOrder(before, behind bool) int {
	switch {
	case before:
		return -1
	case behind:
		return 1
	}
	return 0
}

// Grad adds the gradient of each value where it was found.
func (o TopKOp) Grad(b *Backward) {
	if dy, ok := b.Dy(0); ok {
		b.Set(0, Apply(AddAlongOp{Axis: o.Axis, Size: b.InSpec(0).Shape.Dim(-1)}, dy, b.Out(1)))
	}
}

// Cost counts a comparison with each of the K for each element.
func (o TopKOp) Cost(in, out []tensor.Spec) Cost {
	c := Traffic(in, out)
	c.FLOPs = float64(o.K) * float64(in[0].Shape.Size())
	return c
}

// Batch keeps another axis.
func (o TopKOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchBeside(o.Axis, axis, 2)
}

// Samples have ties and NaN in every place.
func (TopKOp) Samples() []Sample {
	nan, inf, zero := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	of := func(k int, axis int8, smallest bool) TopKOp { return TopKOp{K: k, Axis: axis, Smallest: smallest} }
	rows := []Sample{
		{Name: "no value", Op: of(1, 0, false), Refused: "wants 1 values, not 0"},
		{Name: "first axis", Op: of(1, 0, false), In: []tensor.Tensor{ramp(1, 2, 3)}, Refused: "works along the last axis"},
		{Name: "more than there are", Op: of(4, 0, false), In: []tensor.Tensor{ramp(1, 3)}, Refused: "there are no 4 elements in an axis of 3"},
		{Name: "negative", Op: of(-1, 0, false), In: []tensor.Tensor{ramp(1, 3)}, Refused: "there are no -1 elements"},
		{Name: "rank 0", Op: of(1, 0, false), In: []tensor.Tensor{ramp(1)}, Refused: "there is no axis 0 in rank 0"},
		{Name: "bool", Op: of(1, 0, false), In: []tensor.Tensor{arr(d(1), true)}, Refused: "bool has no order"},
	}
	for _, smallest := range []bool{false, true} {
		rows = append(rows,
			Sample{Name: "vector", Op: of(2, 0, smallest), In: []tensor.Tensor{ramp(1, 7)}},
			Sample{Name: "rows", Op: of(3, 1, smallest), In: []tensor.Tensor{ramp(1, 3, 5)}},
			Sample{Name: "rank 3", Op: of(1, 2, smallest), In: []tensor.Tensor{ramp(1, 2, 2, 4)}},
			Sample{Name: "all", Op: of(4, 1, smallest), In: []tensor.Tensor{ramp(1, 2, 4)}},
			Sample{Name: "none", Op: of(0, 1, smallest), In: []tensor.Tensor{ramp(1, 2, 4)}},
			Sample{Name: "of nothing", Op: of(0, 1, smallest), In: []tensor.Tensor{ramp(1, 2, 0)}},
			Sample{Name: "no row", Op: of(2, 1, smallest), In: []tensor.Tensor{ramp(1, 0, 3)}},
			Sample{Name: "size 1", Op: of(1, 0, smallest), In: []tensor.Tensor{ramp(1, 1)}},
			Sample{Name: "ties", Op: of(4, 0, smallest), In: []tensor.Tensor{farr(d(6), 2, 1, 2, 3, 1, 3)}, ValueOnly: true},
			Sample{Name: "special", Op: of(5, 1, smallest), In: []tensor.Tensor{farr(d(3, 7), nan, 1, inf, nan, -inf, 0, zero, zero, 0, zero, 0, 0, 1, -1, nan, nan, nan, nan, nan, nan, 1)}, ValueOnly: true},
			Sample{Name: "i64", Op: of(2, 0, smallest), In: []tensor.Tensor{iarr(d(4), math.MaxInt64-1, math.MaxInt64, math.MinInt64, math.MinInt64+1)}},
			Sample{Name: "u8", Op: of(2, 0, smallest), In: []tensor.Tensor{arr[uint8](d(3), 7, 255, 0)}},
		)
	}
	return rows
}

// ordered is the k largest or smallest elements along an axis, in order, and their indices.
func ordered(x Value, axis, k int, smallest bool) (values, indices Value) {
	a, last := axisOf(axis, x.Rank()), x.Rank()-1
	o := TopKOp{K: k, Axis: axisOf(-1, x.Rank()), Smallest: smallest}
	if a < 0 || int(a) > last {
		values = x.refuse(o, noAxis(axis, x.Rank()))
		return values, values
	}
	if int(a) == last {
		values = Apply(o, x)
		return values, values.Output(1)
	}
	var swap TransposeOp // is its own inverse
	for i := range x.Rank() {
		swap.Perm[i] = uint8(i)
	}
	swap.Perm[a], swap.Perm[last] = uint8(last), uint8(a)
	values = Apply(o, Apply(swap, x))
	return Apply(swap, values), Apply(swap, values.Output(1))
}

// Sort is the elements of x in ascending or descending order along an axis, counted from the end if negative, and their i64 indices. Equal
// elements keep their order. NaN counts as the largest.
//
//go:noinline
func Sort(x Value, axis int, descending bool) (values, indices Value) {
	return ordered(x, axis, x.Dim(axis), !descending)
}

// TopKAlong is the k largest elements of x along an axis, counted from the end if negative, in order, or the k smallest, and their i64
// indices. NaN counts as the largest; of equal elements the first comes first.
//
//go:noinline
func TopKAlong(x Value, axis, k int, smallest bool) (values, indices Value) {
	return ordered(x, axis, k, smallest)
}

// TopK is the k largest elements of x along its last axis, in order, and their i64 indices. NaN counts as the largest; of equal elements
// the first comes first.
//
//go:noinline
func TopK(x Value, k int) (values, indices Value) {
	values = Apply(TopKOp{K: k, Axis: axisOf(-1, x.Rank())}, x)
	return values, values.Output(1)
}
