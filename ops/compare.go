package ops

import "github.com/cortado-ml/cortado/tensor"

// CompareFunc names a relation of two numbers.
type CompareFunc uint8

// The relations of CompareOp. All but NotEqual are false where either number is NaN.
const (
	Less CompareFunc = iota
	LessEqual
	Greater
	GreaterEqual
	Equal
	NotEqual
)

var _ = register(CompareOp{})

var compareNames = [...]string{"less", "less-equal", "greater", "greater-equal", "equal", "not-equal"}

// CompareOp is an elementwise relation of two values of one type and any shapes, which broadcast against each other. Its result is bool: a gradient
// ends here.
type CompareOp struct {
	total
	NoGrad
	F CompareFunc
}

// Name is the relation's.
func (o CompareOp) Name() string { return nameOf(compareNames[:], o.F) }

// Infer wants equal types and shapes that broadcast. Bools are equal or not, and have no order.
func (o CompareOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkFunc(compareNames[:], o.F, in); err != nil {
		return nil, err
	}
	s, err := inferBroadcast(in)
	if err != nil {
		return nil, err
	}
	if in[0].DType == tensor.Bool && o.F != Equal && o.F != NotEqual {
		return nil, &tensor.ShapeError{Msg: "bool has no order; write a Cast", In: in}
	}
	return []tensor.Spec{{DType: tensor.Bool, Shape: s}}, nil
}

// Ref compares floats as float64 and all else as int64.
func (o CompareOp) Ref(out, in []tensor.Tensor) error {
	x, y, float := in[0], in[1], in[0].DType().Float()
	eachPair(out[0].Shape(), x.Shape(), y.Shape(), func(i, j, k int) {
		var holds bool
		if float {
			holds = compare(o.F, x.At(j), y.At(k))
		} else {
			holds = compare(o.F, x.Int(j), y.Int(k))
		}
		tensor.Data[bool](out[0])[i] = holds
	})
	return nil
}

func compare[T float64 | int64](f CompareFunc, x, y T) bool {
	switch f {
	case Less:
		return x < y
	case LessEqual:
		return x <= y
	case Greater:
		return x > y
	case GreaterEqual:
		return x >= y
	case Equal:
		return x == y
	}
	return x != y
}

// Cost is one operation for each element.
func (CompareOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(1, in, out) }

// Batch keeps the axis.
func (CompareOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchElementwise(in, axis)
}

// Samples are the same for every relation.
func (CompareOp) Samples() (rows []Sample) {
	column, row := specialPairs()
	for f := range CompareFunc(len(compareNames)) {
		o := CompareOp{F: f}
		bools := Sample{Name: "bool", Op: o, In: []tensor.Tensor{arr(d(2, 1), true, false), arr(d(2), true, false)}, Refused: "bool has no order"}
		if f == Equal || f == NotEqual {
			bools.Refused = ""
		}
		rows = append(rows, bools,
			Sample{Name: "same shape", Op: o, In: []tensor.Tensor{farr(d(3), 1, 2, 3), farr(d(3), 3, 2, 1)}},
			Sample{Name: "rank 0", Op: o, In: []tensor.Tensor{ramp(1), ramp(1)}},
			Sample{Name: "row", Op: o, In: []tensor.Tensor{ramp(1, 3, 5), ramp(2, 5)}},
			Sample{Name: "outer", Op: o, In: []tensor.Tensor{ramp(1, 2, 1, 3), ramp(2, 4, 1)}},
			Sample{Name: "zero size", Op: o, In: []tensor.Tensor{ramp(1, 0, 3), ramp(2, 1, 3)}},
			Sample{Name: "long", Op: o, In: []tensor.Tensor{ramp(1, 1031), ramp(2, 1031)}},
			Sample{Name: "special", Op: o, In: []tensor.Tensor{column, row}},
			Sample{Name: "i64", Op: o, In: []tensor.Tensor{iarr(d(3), 1<<53+1, -7, 0), iarr(d(3), 1<<53, 2, 0)}},
			Sample{Name: "u8", Op: o, In: []tensor.Tensor{arr[uint8](d(2), 200, 3), arr[uint8](d(2), 100, 3)}},
			Sample{Name: "types", Op: o, In: []tensor.Tensor{iarr(d(2), 1, 2), ramp(1, 2)}, Refused: "types differ"},
			Sample{Name: "shapes", Op: o, In: []tensor.Tensor{ramp(1, 2), ramp(1, 3)}, Refused: "shapes do not broadcast"},
		)
	}
	return append(rows, Sample{Name: "no function", Op: CompareOp{F: 99}, In: []tensor.Tensor{column, row}, Refused: "there is no such function"})
}

// Less is x < y as bool; shapes broadcast.
//
//go:noinline
func (x Value) Less(y Value) Value { return Apply(CompareOp{F: Less}, x, y) }

// LessEqual is x <= y as bool; shapes broadcast.
//
//go:noinline
func (x Value) LessEqual(y Value) Value { return Apply(CompareOp{F: LessEqual}, x, y) }

// Greater is x > y as bool; shapes broadcast.
//
//go:noinline
func (x Value) Greater(y Value) Value { return Apply(CompareOp{F: Greater}, x, y) }

// GreaterEqual is x >= y as bool; shapes broadcast.
//
//go:noinline
func (x Value) GreaterEqual(y Value) Value { return Apply(CompareOp{F: GreaterEqual}, x, y) }

// Equal is x == y as bool; shapes broadcast.
//
//go:noinline
func (x Value) Equal(y Value) Value { return Apply(CompareOp{F: Equal}, x, y) }

// NotEqual is x != y as bool; shapes broadcast. A value that is not equal to itself is NaN.
//
//go:noinline
func (x Value) NotEqual(y Value) Value { return Apply(CompareOp{F: NotEqual}, x, y) }
