package ops

import (
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(CumsumOp{})

// CumsumOp adds up along an axis: element i of the result is the sum of the elements up to i, or from i on. Integers wrap around.
type CumsumOp struct {
	total
	Axis    int8
	Reverse bool // from the end
}

// Name is "cumsum".
func (CumsumOp) Name() string { return "cumsum" }

// Infer keeps the spec.
func (o CumsumOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkAxis(o.Axis, 1, in); err != nil {
		return nil, err
	}
	if in[0].DType == tensor.Bool {
		return nil, &tensor.ShapeError{Msg: "bool has no sums; write a Cast", In: in}
	}
	return in[:1:1], nil
}

// Ref adds floats in float64 and integers in int64.
func (o CumsumOp) Ref(out, in []tensor.Tensor) error {
	x, y := in[0], out[0]
	eachLine(x.Shape(), o.Axis, func(_, first, n, stride int) {
		if o.Reverse {
			first, stride = first+(n-1)*stride, -stride
		}
		f, whole := 0.0, int64(0)
		for k := range n {
			if i := first + k*stride; x.DType().Float() {
				f += x.At(i)
				y.Set(i, f)
			} else {
				whole += x.Int(i)
				setWrapped(y, i, whole)
			}
		}
	})
	return nil
}

// Grad adds up dy from the other end.
func (o CumsumOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, Apply(CumsumOp{Axis: o.Axis, Reverse: !o.Reverse}, dy))
}

// Cost is one operation for each element.
func (CumsumOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(1, in, out) }

// Batch keeps another axis.
func (o CumsumOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchBeside(o.Axis, axis, 1)
}

// Samples add along every axis, from both ends.
func (CumsumOp) Samples() (rows []Sample) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, reverse := range []bool{false, true} {
		along := func(axis int8) CumsumOp { return CumsumOp{Axis: axis, Reverse: reverse} }
		rows = append(rows,
			Sample{Name: "first axis", Op: along(0), In: []tensor.Tensor{ramp(1, 4, 3)}},
			Sample{Name: "middle axis", Op: along(1), In: []tensor.Tensor{ramp(1, 2, 4, 3)}},
			Sample{Name: "last axis", Op: along(2), In: []tensor.Tensor{ramp(1, 2, 2, 5)}},
			Sample{Name: "size 1", Op: along(1), In: []tensor.Tensor{ramp(1, 3, 1)}},
			Sample{Name: "size 0", Op: along(1), In: []tensor.Tensor{ramp(1, 3, 0)}},
			Sample{Name: "no line", Op: along(1), In: []tensor.Tensor{ramp(1, 0, 3)}},
			Sample{Name: "long", Op: along(0), In: []tensor.Tensor{ramp(1, 1031)}, ULP: 16},
			Sample{Name: "special", Op: along(1), In: []tensor.Tensor{farr(d(4, 3), 1, nan, 2, inf, 1, 2, 1, inf, -inf, -inf, 3, 4)}, ValueOnly: true},
			Sample{Name: "i64", Op: along(0), In: []tensor.Tensor{iarr(d(3), math.MaxInt64, 1, 5)}},
			Sample{Name: "i32", Op: along(0), In: []tensor.Tensor{arr[int32](d(3), math.MaxInt32, 1, 5)}},
			Sample{Name: "u8", Op: along(0), In: []tensor.Tensor{arr[uint8](d(3), 200, 100, 7)}},
			Sample{Name: "bool", Op: along(0), In: []tensor.Tensor{arr(d(1), true)}, Refused: "bool has no sums"},
			Sample{Name: "rank 0", Op: along(0), In: []tensor.Tensor{ramp(1)}, Refused: "there is no axis 0 in rank 0"},
		)
	}
	return rows
}

// Cumsum adds up along an axis, counted from the end if negative: element i is the sum of the elements up to i.
//
//go:noinline
func (x Value) Cumsum(axis int) Value { return Apply(CumsumOp{Axis: axisOf(axis, x.Rank())}, x) }
