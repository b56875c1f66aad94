package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(ClipOp{})

// ClipOp brings numbers, of any shape, between two bounds, converted to the type as Cast converts: min(max(x, Lo), Hi). NaN stays NaN, and a bound that is
// NaN makes all NaN.
type ClipOp struct {
	total
	Lo, Hi Bits
}

// Name is "clip".
func (ClipOp) Name() string { return "clip" }

// Infer keeps the spec.
func (o ClipOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(1, in); err != nil {
		return nil, err
	}
	if !in[0].DType.Float() && !in[0].DType.Int() {
		return nil, &tensor.ShapeError{Msg: "wants numbers; write a Cast", In: in}
	}
	return in[:1:1], nil
}

// bounds are the bounds in a type.
func (o ClipOp) bounds(d tensor.DType) (lo, hi tensor.Tensor) {
	s := tensor.Spec{DType: d}
	return tensor.Full(s, o.Lo.Float()), tensor.Full(s, o.Hi.Float())
}

// Ref compares.
func (o ClipOp) Ref(out, in []tensor.Tensor) error {
	x, y := in[0], out[0]
	lo, hi := o.bounds(x.DType())
	for i := range x.Len() {
		if x.DType().Float() {
			y.Set(i, minNaN(maxNaN(x.At(i), lo.At(0)), hi.At(0)))
		} else {
			y.SetInt(i, min(max(x.Int(i), lo.Int(0)), hi.Int(0)))
		}
	}
	return nil
}

// Grad passes dy on where x lies between the bounds or on one of them, and where x is NaN.
func (o ClipOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	x := b.In(0)
	outside := x.Less(x.constant(o.Lo.Float())).Or(x.Greater(x.constant(o.Hi.Float())))
	b.Set(0, Where(outside, dy.constant(0), dy))
}

// Cost is two operations for each element.
func (ClipOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(2, in, out) }

// Batch keeps the axis.
func (ClipOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchElementwise(in, axis)
}

// Samples have every kind of bounds.
func (ClipOp) Samples() (rows []Sample) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, b := range [][2]float64{{0, 1}, {-inf, 0.25}, {-0.25, inf}, {-inf, inf}, {nan, 1}, {0, nan}, {1, -1}, {math.Copysign(0, -1), 6}, {0.1, 0.1}} {
		o := ClipOp{Lo: F(b[0]), Hi: F(b[1])}
		rows = append(rows,
			Sample{Name: fmt.Sprintf("special between %v and %v", b[0], b[1]), Op: o, In: []tensor.Tensor{specials()}, ValueOnly: true},
			Sample{Name: fmt.Sprintf("integers between %v and %v", b[0], b[1]), Op: o, In: []tensor.Tensor{iarr(d(5), math.MinInt64, -1, 0, 1, math.MaxInt64)}},
		)
	}
	o := ClipOp{Lo: F(-0.5), Hi: F(0.25)}
	return append(rows,
		Sample{Name: "matrix", Op: o, In: []tensor.Tensor{ramp(1, 3, 5)}},
		Sample{Name: "rank 0", Op: o, In: []tensor.Tensor{ramp(2)}},
		Sample{Name: "zero size", Op: o, In: []tensor.Tensor{ramp(3, 0, 2)}},
		Sample{Name: "long", Op: o, In: []tensor.Tensor{ramp(4, 1031)}},
		Sample{Name: "u8", Op: ClipOp{Lo: F(-3), Hi: F(7)}, In: []tensor.Tensor{arr[uint8](d(3), 0, 7, 255)}},
		Sample{Name: "bool", Op: o, In: []tensor.Tensor{arr(d(1), true)}, Refused: "wants numbers"},
		Sample{Name: "two values", Op: o, In: []tensor.Tensor{ramp(1, 2), ramp(1, 2)}, Refused: "wants 1 values, not 2"},
	)
}

// Clip brings x between lo and hi, one of which may be infinite; where lo is above hi, it is hi. NaN stays NaN.
//
//go:noinline
func (x Value) Clip(lo, hi float64) Value { return Apply(ClipOp{Lo: F(lo), Hi: F(hi)}, x) }
