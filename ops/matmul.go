package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

var _ = register(MatMulOp{})

// MatMulOp multiplies the matrices in the last two axes of its operands, each transposed first if its flag says so; the axes before
// them broadcast. No product is skipped: 0 x NaN is NaN. A sum over nothing is 0.
type MatMulOp struct {
	total
	TransA, TransB bool
}

// Name is "matmul".
func (MatMulOp) Name() string { return "matmul" }

// matAxes are the axes of an operand's matrix, counted from the end: the free one, which the result keeps, and the inner one, which is
// summed.
func matAxes(right, trans bool) (free, inner int) {
	if right != trans {
		return -1, -2
	}
	return -2, -1
}

// Infer wants floats of one type, at least rank 2, equal inner dimensions, and leading axes that broadcast.
func (o MatMulOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(2, in); err != nil {
		return nil, err
	}
	a, b := in[0].Shape, in[1].Shape
	switch {
	case in[0].DType != in[1].DType:
		_, err := inferBroadcast(in)
		return nil, err
	case !in[0].DType.Float():
		return nil, &tensor.ShapeError{Msg: "wants floats; write a Cast", In: in}
	case a.Rank() < 2 || b.Rank() < 2:
		return nil, &tensor.ShapeError{Msg: "wants matrices, rank 2 or more; make a vector one with Reshape", In: in}
	}
	m, ka := matAxes(false, o.TransA)
	n, kb := matAxes(true, o.TransB)
	if a.Dim(ka) != b.Dim(kb) {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("inner dimensions differ: %d (axis %d of lhs %v) vs %d (axis %d of rhs %v)",
			a.Dim(ka), ka+a.Rank(), a, b.Dim(kb), kb+b.Rank(), b)}
	}
	lead, ok := tensor.Broadcast(leading(a), leading(b))
	if !ok {
		return nil, &tensor.ShapeError{Msg: "leading axes do not broadcast", In: in}
	}
	return []tensor.Spec{tensor.SpecOf(in[0].DType, append(lead.Dims(), a.Dim(m), b.Dim(n))...)}, nil
}

// leading is the shape without its last two axes.
func leading(s tensor.Shape) tensor.Shape { return tensor.Of(s.Dims()[:s.Rank()-2]...) }

// Ref is three loops for each pair of matrices.
func (o MatMulOp) Ref(out, in []tensor.Tensor) error {
	a, b, y := in[0], in[1], out[0]
	m, n := y.Shape().Dim(-2), y.Shape().Dim(-1)
	_, inner := matAxes(false, o.TransA)
	k := a.Shape().Dim(inner)
	ai, ap := k, 1 // distances in a along m and along k
	if o.TransA {
		ai, ap = 1, m
	}
	bp, bj := n, 1 // distances in b along k and along n
	if o.TransB {
		bp, bj = 1, k
	}
	eachPair(leading(y.Shape()), leading(a.Shape()), leading(b.Shape()), func(l, la, lb int) {
		for i := range m {
			for j := range n {
				sum := 0.0
				for p := range k {
					sum += a.At(la*m*k+i*ai+p*ap) * b.At(lb*k*n+p*bp+j*bj)
				}
				y.Set((l*m+i)*n+j, sum)
			}
		}
	})
	return nil
}

// Grad: with y = ab, da = dy bᵀ and db = aᵀ dy, summed over what broadcast. With flags the operands change places so that every result
// has its input's layout.
func (o MatMulOp) Grad(g *Backward) {
	dy, _ := g.Dy(0)
	if g.Needs(0) {
		g.Set(0, o.left(dy, g.In(1)).SumTo(g.InSpec(0).Shape))
	}
	if g.Needs(1) {
		a := g.In(0)
		if g.InSpec(1).Shape.Rank() == 2 && !o.TransA { // one matrix for all rows of a: a sum over rows, not over products
			a, dy = a.asMatrix(), dy.asMatrix()
		}
		g.Set(1, o.right(a, dy).SumTo(g.InSpec(1).Shape))
	}
}

func (o MatMulOp) left(dy, b Value) Value {
	if o.TransA {
		return MatMulT(b, dy, o.TransB, true)
	}
	return MatMulT(dy, b, false, !o.TransB)
}

func (o MatMulOp) right(a, dy Value) Value {
	if o.TransB {
		return MatMulT(dy, a, true, o.TransA)
	}
	return MatMulT(a, dy, !o.TransA, false)
}

// asMatrix joins all axes but the last.
func (x Value) asMatrix() Value {
	rows := 1
	for i := range x.Rank() - 1 {
		rows *= x.Dim(i)
	}
	return x.reshapeTo(tensor.Of(rows, x.Dim(-1)))
}

// Cost is a multiplication and an addition for each product.
func (o MatMulOp) Cost(in, out []tensor.Spec) Cost {
	c := Traffic(in, out)
	_, inner := matAxes(false, o.TransA)
	c.FLOPs = 2 * float64(out[0].Shape.Size()) * float64(in[0].Shape.Dim(inner))
	return c
}

// Batch keeps a leading axis, or a free axis that only one operand has, and sums where both are cut along the inner axis.
func (o MatMulOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	m, ka := matAxes(false, o.TransA)
	n, kb := matAxes(true, o.TransB)
	at := [2]int{} // from the end; 0 for none
	for i, s := range in {
		if axis[i] >= 0 {
			at[i] = axis[i] - s.Shape.Rank()
		}
	}
	rank := max(in[0].Shape.Rank(), in[1].Shape.Rank())
	switch {
	case at == [2]int{ka, kb}:
		return []int{-1}, Sum
	case at == [2]int{m, 0}:
		return []int{rank - 2}, Rowwise
	case at == [2]int{0, n}:
		return []int{rank - 1}, Rowwise
	case at[0] < -2 || at[1] < -2:
		return batchElementwise(in, axis)
	}
	return nil, Mixes
}

// Samples have every flag, every kind of leading axes, and sizes around the widths of vectors and tiles.
func (MatMulOp) Samples() (rows []Sample) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, o := range []MatMulOp{{}, {TransA: true}, {TransB: true}, {TransA: true, TransB: true}} {
		operands := func(lead []int, m, k, n int) []tensor.Tensor {
			a, b := []int{m, k}, []int{k, n}
			if o.TransA {
				a = []int{k, m}
			}
			if o.TransB {
				b = []int{n, k}
			}
			return []tensor.Tensor{ramp(1, append(lead, a...)...), ramp(2, append(lead, b...)...)}
		}
		rows = append(rows,
			Sample{Name: "matrices", Op: o, In: operands(nil, 3, 4, 5)},
			Sample{Name: "square", Op: o, In: operands(nil, 4, 4, 4)},
			Sample{Name: "batched", Op: o, In: operands(d(2), 3, 4, 2)},
			Sample{Name: "size 1", Op: o, In: operands(nil, 1, 1, 1)},
			Sample{Name: "row by column", Op: o, In: operands(nil, 1, 9, 1)},
			Sample{Name: "column by row", Op: o, In: operands(nil, 5, 1, 6)},
			Sample{Name: "nothing to sum", Op: o, In: operands(nil, 3, 0, 2)},
			Sample{Name: "no row, batched", Op: o, In: operands(d(5), 0, 0, 2)},
			Sample{Name: "no row", Op: o, In: operands(nil, 0, 4, 2)},
			Sample{Name: "no column", Op: o, In: operands(nil, 3, 4, 0)},
			Sample{Name: "odd", Op: o, In: operands(nil, 7, 17, 9), ULP: 16},
			Sample{Name: "larger than a tile", Op: o, In: operands(nil, 37, 67, 35), ULP: 32},
			Sample{Name: "zero times special", Op: o, In: []tensor.Tensor{farr(d(3, 3), 0, 0, 0, 0, 1, 0, math.Copysign(0, -1), 0, 2), farr(d(3, 3), nan, 1, 0, 2, inf, 1, 3, 1, -inf)}, ValueOnly: true},
		)
	}
	var o MatMulOp
	return append(rows,
		Sample{Name: "shared right", Op: o, In: []tensor.Tensor{ramp(1, 2, 3, 4), ramp(2, 4, 5)}},
		Sample{Name: "shared right, transposed", Op: MatMulOp{TransB: true}, In: []tensor.Tensor{ramp(1, 2, 2, 3, 4), ramp(2, 5, 4)}},
		Sample{Name: "shared right, left transposed", Op: MatMulOp{TransA: true}, In: []tensor.Tensor{ramp(1, 2, 4, 3), ramp(2, 4, 5)}},
		Sample{Name: "shared left", Op: o, In: []tensor.Tensor{ramp(1, 3, 4), ramp(2, 2, 4, 5)}},
		Sample{Name: "outer batch", Op: o, In: []tensor.Tensor{ramp(1, 2, 1, 3, 4), ramp(2, 3, 4, 2)}},
		Sample{Name: "no batch", Op: o, In: []tensor.Tensor{ramp(1, 0, 3, 4), ramp(2, 4, 2)}},
		Sample{Name: "inner dimensions", Op: o, In: []tensor.Tensor{ramp(1, 3, 4), ramp(2, 5, 6)}, Refused: "inner dimensions differ: 4 (axis 1 of lhs [3 4]) vs 5 (axis 0 of rhs [5 6])"},
		Sample{Name: "inner dimensions, transposed", Op: MatMulOp{TransB: true}, In: []tensor.Tensor{ramp(1, 2, 3, 4), ramp(2, 5, 6)}, Refused: "inner dimensions differ: 4 (axis 2 of lhs [2 3 4]) vs 6 (axis 1 of rhs [5 6])"},
		Sample{Name: "leading axes", Op: o, In: []tensor.Tensor{ramp(1, 2, 3, 4), ramp(2, 3, 4, 5)}, Refused: "leading axes do not broadcast"},
		Sample{Name: "vector", Op: o, In: []tensor.Tensor{ramp(1, 3, 4), ramp(2, 4)}, Refused: "make a vector one with Reshape"},
		Sample{Name: "types", Op: o, In: []tensor.Tensor{ramp(1, 3, 4), iarr(d(4, 1), 1, 2, 3, 4)}, Refused: "types differ"},
		Sample{Name: "integers", Op: o, In: []tensor.Tensor{iarr(d(1, 1), 1), iarr(d(1, 1), 1)}, Refused: "wants floats"},
		Sample{Name: "one value", Op: o, In: []tensor.Tensor{ramp(1, 3, 4)}, Refused: "wants 2 values"},
	)
}

// MatMul is the matrix product over the last two axes; the axes before them broadcast.
//
//go:noinline
func (x Value) MatMul(y Value) Value { return Apply(MatMulOp{}, x, y) }

// MatMulT is MatMul of operands that are transposed first, each if its flag says so.
//
//go:noinline
func MatMulT(a, b Value, transA, transB bool) Value {
	return Apply(MatMulOp{TransA: transA, TransB: transB}, a, b)
}

// Linear is x wᵀ + b for x [..., in], w [out, in] and b [out]. The zero Value as b means none.
//
//go:noinline
func Linear(x, w, b Value) Value {
	y := MatMulT(x, w, false, true)
	if b.IsNone() {
		return y
	}
	return y.Add(b)
}
