package vec

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

// NewArgMax plans the index of the greatest value along the middle axis of an array [outer, n, inner] of f32, f64, i32, i64 or u8: of equal
// values the first, and the first NaN before all numbers. It takes the array and gives [outer, inner] of type index, i32 or i64.
func NewArgMax(d, index tensor.DType, outer, n, inner int) (Step, error) {
	if outer < 0 || n < 1 || inner < 0 || index != tensor.I32 && index != tensor.I64 {
		return nil, fmt.Errorf("vec: argmax of [%d %d %d] as %v", outer, n, inner, index)
	}
	o := operands{"argmax", []array{{d, outer * n * inner}}, []array{{index, outer * inner}}}
	switch d {
	case tensor.F32:
		return newOrder[float32](o, outer*inner, n, inner, 1, index), nil
	case tensor.F64:
		return newOrder[float64](o, outer*inner, n, inner, 1, index), nil
	case tensor.I32:
		return newOrder[int32](o, outer*inner, n, inner, 1, index), nil
	case tensor.I64:
		return newOrder[int64](o, outer*inner, n, inner, 1, index), nil
	case tensor.U8:
		return newOrder[uint8](o, outer*inner, n, inner, 1, index), nil
	}
	return nil, fmt.Errorf("vec: argmax of %v", d)
}

// NewTopK plans the k greatest values of each of rows rows of n values, of f32, f64, i32, i64 or u8, the greatest first: of equal ones the first
// comes first, and NaN comes before all numbers. With k = n that is a stable sort. It takes the matrix and gives two, [rows, k]: the values, and
// their indices, of type index, i32 or i64.
func NewTopK(d, index tensor.DType, rows, n, k int) (Step, error) {
	if rows < 0 || k < 0 || k > n || index != tensor.I32 && index != tensor.I64 {
		return nil, fmt.Errorf("vec: top %d of %d rows of %d as %v", k, rows, n, index)
	}
	o := operands{"topk", []array{{d, rows * n}}, []array{{d, rows * k}, {index, rows * k}}}
	switch d {
	case tensor.F32:
		return newOrder[float32](o, rows, n, 1, k, index), nil
	case tensor.F64:
		return newOrder[float64](o, rows, n, 1, k, index), nil
	case tensor.I32:
		return newOrder[int32](o, rows, n, 1, k, index), nil
	case tensor.I64:
		return newOrder[int64](o, rows, n, 1, k, index), nil
	case tensor.U8:
		return newOrder[uint8](o, rows, n, 1, k, index), nil
	}
	return nil, fmt.Errorf("vec: topk of %v", d)
}

// order finds the k greatest of each of rows sequences of n values that are stride apart; sequence r starts at r/stride*n*stride + r%stride.
type order[T number] struct {
	operands
	rows, n, stride, k int
	index              tensor.DType
	group              int

	in, values []T // of the run; there are no values for argmax
	i32        []int32
	i64        []int64
}

func newOrder[T number](o operands, rows, n, stride, k int, index tensor.DType) *order[T] {
	const price = 4 // of a value, more or less
	return &order[T]{operands: o, rows: rows, n: n, stride: stride, k: k, index: index, group: groupRows(n, price)}
}

// Run finds them.
func (p *order[T]) Run(pool *work.Pool, in, out [][]byte) error {
	if err := p.check(in, out); err != nil {
		return err
	}
	p.in = view[T](in[0])
	if len(out) > 1 {
		p.values = view[T](out[0])
	}
	if last := out[len(out)-1]; p.index == tensor.I32 {
		p.i32 = view[int32](last)
	} else {
		p.i64 = view[int64](last)
	}
	pool.Run(parts(p.rows, p.group), p)
	p.in, p.values, p.i32, p.i64 = nil, nil, nil, nil
	return nil
}

// Do finds those of one part.
func (p *order[T]) Do(part int) {
	f := newFrame(4*p.n, 0)
	best := view[int32](f.buf)[:p.n]
	for r := part * p.group; r < min(p.rows, (part+1)*p.group); r++ {
		x := p.in[r/p.stride*p.n*p.stride+r%p.stride:]
		if p.k == 1 {
			best[0] = p.first(x)
		} else {
			for i := range best {
				best[i] = int32(i)
			}
			slices.SortFunc(best, func(i, j int32) int {
				a, b := x[int(i)*p.stride], x[int(j)*p.stride]
				switch {
				case before(a, b):
					return -1
				case before(b, a):
					return 1
				}
				return cmp.Compare(i, j)
			})
		}
		for i, b := range best[:p.k] {
			if p.values != nil {
				p.values[r*p.k+i] = x[int(b)*p.stride]
			}
			if p.i32 != nil {
				p.i32[r*p.k+i] = b
			} else {
				p.i64[r*p.k+i] = int64(b)
			}
		}
	}
	f.free()
}

// before reports whether a is greater than b, NaN being the greatest.
func before[T number](a, b T) bool { return a > b || a != a && b == b }

// first is the index of the greatest value.
func (p *order[T]) first(x []T) int32 {
	best, at := x[0], 0
	for i := range p.n {
		if v := x[i*p.stride]; before(v, best) {
			best, at = v, i
		}
	}
	return int32(at)
}
