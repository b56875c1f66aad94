package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/internal/scalar"
	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(BinaryOp{})

// BinaryFunc names a function of two numbers.
type BinaryFunc uint8

// The functions of BinaryOp.
const (
	Add BinaryFunc = iota
	Sub
	Mul
	Div
	Maximum // NaN if either is NaN
	Minimum // NaN if either is NaN
	FloorDiv
	Rem // the sign is that of the divisor
	Pow
)

var binaryNames = [...]string{"add", "sub", "mul", "div", "maximum", "minimum", "floor-div", "rem", "pow"}

// BinaryOp is an elementwise function of two values of one type and any shapes, which broadcast against each other. Integers: sums and products wrap
// around, as in Go; a division by zero gives 0. Pow wants floats.
type BinaryOp struct {
	total
	F BinaryFunc
}

// Name is the function's.
func (o BinaryOp) Name() string { return nameOf(binaryNames[:], o.F) }

// Infer wants equal types and shapes that broadcast.
func (o BinaryOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkFunc(binaryNames[:], o.F, in); err != nil {
		return nil, err
	}
	s, err := inferBroadcast(in)
	if err != nil {
		return nil, err
	}
	if in[0].DType == tensor.Bool {
		return nil, &tensor.ShapeError{Msg: "bool has no arithmetic; write a Cast", In: in}
	}
	if o.F == Pow && !in[0].DType.Float() {
		return nil, &tensor.ShapeError{Msg: "wants floats; write a Cast", In: in}
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: s}}, nil
}

// inferBroadcast wants two values of equal type whose shapes broadcast.
func inferBroadcast(in []tensor.Spec) (tensor.Shape, error) {
	if len(in) != 2 {
		return tensor.Shape{}, &tensor.ShapeError{Msg: "wants two values", In: in}
	}
	if in[0].DType != in[1].DType {
		return tensor.Shape{}, &tensor.ShapeError{Msg: fmt.Sprintf("types differ: write Cast(tensor.%s) or Cast(tensor.%s)", goName(in[0].DType), goName(in[1].DType)), In: in}
	}
	s, ok := tensor.Broadcast(in[0].Shape, in[1].Shape)
	if !ok {
		return tensor.Shape{}, &tensor.ShapeError{Msg: "shapes do not broadcast", In: in}
	}
	return s, nil
}

// goName is how a program writes the type.
func goName(d tensor.DType) string {
	names := map[tensor.DType]string{tensor.F32: "F32", tensor.F64: "F64", tensor.BF16: "BF16", tensor.F16: "F16", tensor.I32: "I32", tensor.I64: "I64", tensor.U8: "U8", tensor.Bool: "Bool"}
	return names[d]
}

// Ref computes floats in float64 and integers in int64.
func (o BinaryOp) Ref(out, in []tensor.Tensor) error {
	y, float := out[0], out[0].DType().Float()
	eachPair(y.Shape(), in[0].Shape(), in[1].Shape(), func(i, j, k int) {
		if float {
			y.Set(i, o.float(in[0].At(j), in[1].At(k)))
		} else {
			setWrapped(y, i, o.int(in[0].Int(j), in[1].Int(k)))
		}
	})
	return nil
}

// setWrapped writes x modulo 2^bits of the type.
func setWrapped(t tensor.Tensor, i int, x int64) {
	switch t.DType() {
	case tensor.I32:
		x = int64(int32(x))
	case tensor.U8:
		x = int64(uint8(x))
	}
	t.SetInt(i, x)
}

func (o BinaryOp) float(x, y float64) float64 {
	switch o.F {
	case Add:
		return x + y
	case Sub:
		return x - y
	case Mul:
		return x * y
	case Div:
		return x / y
	case Maximum:
		return maxNaN(x, y)
	case Minimum:
		return minNaN(x, y)
	case FloorDiv:
		return scalar.FloorDiv(x, y)
	case Rem:
		return scalar.Rem(x, y)
	}
	return math.Pow(x, y)
}

// maxNaN is the larger number, or NaN if either is.
func maxNaN(x, y float64) float64 {
	if x != x || y != y {
		return math.NaN()
	}
	return max(x, y)
}

// minNaN is the smaller number, or NaN if either is.
func minNaN(x, y float64) float64 { return -maxNaN(-x, -y) }

func (o BinaryOp) int(x, y int64) int64 {
	switch o.F {
	case Add:
		return x + y
	case Sub:
		return x - y
	case Mul:
		return x * y
	case Div:
		if y == 0 {
			return 0
		}
		return x / y
	case Maximum:
		return max(x, y)
	case Minimum:
		return min(x, y)
	case FloorDiv:
		return scalar.IntFloorDiv(x, y)
	}
	return scalar.IntRem(x, y)
}

// Grad sums each gradient to the shape of its input. At equal operands, Maximum and Minimum give each half; where one is NaN, each gets
// all.
func (o BinaryOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	if o.F == FloorDiv { // 0: flat but for steps
		return
	}
	for i := range 2 {
		if b.Needs(i) {
			b.Set(i, o.gradient(b, dy, i).SumTo(b.InSpec(i).Shape))
		}
	}
}

func (o BinaryOp) gradient(b *Backward, dy Value, i int) Value {
	switch {
	case o.F == Mul: // d(xy) = y dx + x dy
		return dy.Mul(b.In(1 - i))
	case o.F == Sub && i == 1:
		return dy.Neg()
	case o.F == Div && i == 0: // d(x/y) = dx/y
		return dy.Div(b.In(1))
	case o.F == Div: // - x/y^2 dy
		return dy.Mul(b.Out(0)).Div(b.In(1)).Neg()
	case o.F == Rem && i == 1: // - floor(x/y) dy
		return dy.Mul(b.In(0).FloorDiv(b.In(1))).Neg()
	case o.F == Pow && i == 0: // y x^(y-1), 0 where y is 0
		y := b.In(1)
		zero := y.constant(0)
		return dy.Mul(Where(y.Equal(zero), zero, y.Mul(b.In(0).Pow(y.Shift(-1)))))
	case o.F == Pow: // x^y log(x), 0 where x is 0 and y is not negative
		x, y := b.In(0), b.In(1)
		zero := x.constant(0)
		flat := x.Equal(zero).And(y.GreaterEqual(zero))
		return dy.Mul(Where(flat, zero, b.Out(0).Mul(Where(flat, x.constant(1), x).Log())))
	case o.F == Maximum || o.F == Minimum:
		x, y := b.In(i), b.In(1-i)
		if o.F == Minimum {
			x, y = y, x
		}
		zero := b.d.zeros(tensor.Spec{DType: dy.DType()})
		return Where(x.Less(y), zero, Where(x.Equal(y), dy.Scale(0.5), dy))
	}
	return dy
}

// Cost is one operation for each element.
func (o BinaryOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(1, in, out) }

// Batch keeps the axis.
func (o BinaryOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchElementwise(in, axis)
}

// Samples are the same for every function.
func (BinaryOp) Samples() (rows []Sample) {
	column, row := specialPairs()
	for f := range BinaryFunc(len(binaryNames)) {
		o := BinaryOp{F: f}
		rows = append(rows,
			Sample{Name: "same shape", Op: o, In: []tensor.Tensor{ramp(1, 3, 5), positive(2, 3, 5)}},
			Sample{Name: "rank 0", Op: o, In: []tensor.Tensor{ramp(1), positive(2)}},
			Sample{Name: "rank 0 and a vector", Op: o, In: []tensor.Tensor{ramp(1), positive(2, 19)}},
			Sample{Name: "row", Op: o, In: []tensor.Tensor{ramp(1, 3, 5), positive(2, 5)}},
			Sample{Name: "column", Op: o, In: []tensor.Tensor{ramp(1, 3, 1), positive(2, 3, 5)}},
			Sample{Name: "channel", Op: o, In: []tensor.Tensor{ramp(1, 2, 3, 2, 2), positive(2, 3, 1, 1)}},
			Sample{Name: "outer", Op: o, In: []tensor.Tensor{ramp(1, 2, 1, 3), positive(2, 4, 1)}},
			Sample{Name: "size 1 everywhere", Op: o, In: []tensor.Tensor{ramp(1, 1, 1), positive(2, 1)}},
			Sample{Name: "zero size", Op: o, In: []tensor.Tensor{ramp(1, 0, 3), positive(2, 1, 3)}},
			Sample{Name: "zero size from size 1", Op: o, In: []tensor.Tensor{ramp(1, 2, 1), positive(2, 2, 0)}},
			Sample{Name: "long", Op: o, In: []tensor.Tensor{ramp(1, 1031), positive(2, 1031)}},
			Sample{Name: "special", Op: o, In: []tensor.Tensor{column, row}, ValueOnly: true},
			Sample{Name: "i64", Op: o, In: []tensor.Tensor{iarr(d(5), 7, -7, math.MaxInt64, math.MinInt64, 0), iarr(d(5), 2, 2, 1, -1, 0)}},
			Sample{Name: "i32", Op: o, In: []tensor.Tensor{arr[int32](d(4), 7, math.MaxInt32, math.MinInt32, 5), arr[int32](d(4), -2, 1, -1, 0)}},
			Sample{Name: "u8", Op: o, In: []tensor.Tensor{arr[uint8](d(3), 200, 3, 255), arr[uint8](d(3), 100, 5, 0)}},
			Sample{Name: "bool", Op: o, In: []tensor.Tensor{arr(d(1), true), arr(d(1), false)}, Refused: "bool has no arithmetic"},
			Sample{Name: "types", Op: o, In: []tensor.Tensor{ramp(1, 2), iarr(d(2), 1, 2)}, Refused: "types differ: write Cast(tensor."},
			Sample{Name: "shapes", Op: o, In: []tensor.Tensor{ramp(1, 2, 3), ramp(1, 2)}, Refused: "shapes do not broadcast"},
			Sample{Name: "one value", Op: o, In: []tensor.Tensor{ramp(1, 2)}, Refused: "wants two values"},
		)
		if f == Pow {
			powRows(rows)
		}
		if f == Maximum || f == Minimum {
			rows = append(rows, Sample{Name: "equal", Op: o, In: []tensor.Tensor{farr(d(3), 1, 2, 3), farr(d(3), 1, 2, 0)}, ValueOnly: true})
		}
	}
	return append(rows, Sample{Name: "no function", Op: BinaryOp{F: 99}, In: []tensor.Tensor{column, row}, Refused: "there is no such function"})
}

// powRows turns rows into those of Pow: integers are refused, and finite differences want positive bases.
func powRows(rows []Sample) {
	for i := range rows {
		r := &rows[i]
		switch {
		case r.Op != Op(BinaryOp{F: Pow}) || r.Refused != "" || r.ValueOnly:
		case !r.In[0].DType().Float():
			r.Refused = "wants floats"
		default:
			r.In = []tensor.Tensor{positive(1, r.In[0].Shape().Dims()...), ramp(2, r.In[1].Shape().Dims()...)}
		}
	}
}

// Add is x + y; shapes broadcast.
//
//go:noinline
func (x Value) Add(y Value) Value { return Apply(BinaryOp{F: Add}, x, y) }

// Sub is x - y; shapes broadcast.
//
//go:noinline
func (x Value) Sub(y Value) Value { return Apply(BinaryOp{F: Sub}, x, y) }

// Mul is the elementwise product; shapes broadcast.
//
//go:noinline
func (x Value) Mul(y Value) Value { return Apply(BinaryOp{F: Mul}, x, y) }

// Div is the elementwise quotient; shapes broadcast.
//
//go:noinline
func (x Value) Div(y Value) Value { return Apply(BinaryOp{F: Div}, x, y) }

// Maximum is the elementwise maximum, NaN where either is NaN; shapes broadcast.
//
//go:noinline
func (x Value) Maximum(y Value) Value { return Apply(BinaryOp{F: Maximum}, x, y) }

// Minimum is the elementwise minimum, NaN where either is NaN; shapes broadcast.
//
//go:noinline
func (x Value) Minimum(y Value) Value { return Apply(BinaryOp{F: Minimum}, x, y) }

// FloorDiv is x / y rounded down; shapes broadcast. Its gradient is 0.
//
//go:noinline
func (x Value) FloorDiv(y Value) Value { return Apply(BinaryOp{F: FloorDiv}, x, y) }

// TruncDiv is x / y without its fraction; shapes broadcast. The gradient for floats is 0. For integers it is Div.
//
//go:noinline
func (x Value) TruncDiv(y Value) Value {
	if x.DType().Int() {
		return x.Div(y)
	}
	return x.Div(y).Trunc()
}

// Rem is what FloorDiv leaves, x - y floor(x/y), so that its sign is that of y, as in Python; shapes broadcast. By 0 it is NaN, for
// integers 0.
//
//go:noinline
func (x Value) Rem(y Value) Value { return Apply(BinaryOp{F: Rem}, x, y) }

// Pow is x to the power of y, for floats; shapes broadcast. A negative x wants a whole y, and has no gradient with respect to y.
//
//go:noinline
func (x Value) Pow(y Value) Value { return Apply(BinaryOp{F: Pow}, x, y) }
