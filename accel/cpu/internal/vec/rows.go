package vec

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

// RowOp is an operation on each row of a matrix.
type RowOp uint8

// The operations on rows, of f32 or f64. What they take is an input each, what they give an output. All matrices have the same shape, and an
// output may be the very memory of one of them. Sums are accumulated in float64.
const (
	// Softmax takes x and gives e**(x-m) / sum of that, where m is the row's maximum. A row that is -Inf throughout, or has +Inf, gives NaN.
	Softmax RowOp = iota
	// LogSoftmax takes x and gives x - m - log(sum of e**(x-m)).
	LogSoftmax
	// SoftmaxGrad takes y = softmax(x) and dy and gives dx = y * (dy - sum of y*dy).
	SoftmaxGrad
	// LogSoftmaxGrad takes y = log-softmax(x) and dy and gives dx = dy - e**y * (sum of dy).
	LogSoftmaxGrad
	// LogSumExp takes x and gives m + log(sum of e**(x-m)), one value for each row: -Inf for a row that is -Inf throughout.
	LogSumExp
)

var rowOps = [...]struct {
	name    string
	in      int
	passes  int // over the row, for the cost
	reduces bool
}{{"softmax", 1, 12, false}, {"logsoftmax", 1, 12, false}, {"softmaxgrad", 2, 4, false}, {"logsoftmaxgrad", 2, 12, false}, {"logsumexp", 1, 10, true}}

// String is the name, such as softmax.
func (o RowOp) String() string {
	if int(o) < len(rowOps) {
		return rowOps[o].name
	}
	return fmt.Sprintf("vec.RowOp(%d)", uint8(o))
}

// NewRows plans an operation on a matrix of rows of n values.
func NewRows(l isa.Level, op RowOp, d tensor.DType, rows, n int) (Step, error) {
	switch {
	case int(op) >= len(rowOps):
		return nil, fmt.Errorf("vec: no operation %v", op)
	case rows < 0 || n < 0:
		return nil, fmt.Errorf("vec: %v of %d rows of %d values", op, rows, n)
	case d == tensor.F32:
		return newRows(f32At(l), op, d, rows, n), nil
	case d == tensor.F64:
		return newRows(f64At(l), op, d, rows, n), nil
	}
	return nil, fmt.Errorf("vec: %v of %v", op, d)
}

// rows is a planned operation on rows.
type rows[T float] struct {
	operands
	*table[T]
	do      func(p *rows[T], f *frame, i int)
	rows, n int
	group   int // rows of a part
	in, out [2][]T
}

func newRows[T float](t *table[T], op RowOp, d tensor.DType, count, n int) *rows[T] {
	p := &rows[T]{table: t, rows: count, n: n}
	p.do = [...]func(p *rows[T], f *frame, i int){(*rows[T]).softmax, (*rows[T]).logSoftmax, (*rows[T]).softmaxGrad, (*rows[T]).logSoftmaxGrad, (*rows[T]).logSumExp}[op]
	p.group = groupRows(n, rowOps[op].passes)
	p.name = rowOps[op].name
	for range rowOps[op].in {
		p.operands.in = append(p.operands.in, array{d, count * n})
	}
	p.operands.out = []array{{d, count * n}}
	if rowOps[op].reduces {
		p.operands.out[0].n = count
	}
	return p
}

// groupRows is how many rows of n values make a part, if a value costs that much.
func groupRows(n, price int) int { return max(1, partPrice/(max(n, 1)*price)) }

// Run computes the output.
func (p *rows[T]) Run(pool *work.Pool, in, out [][]byte) error {
	if err := p.check(in, out); err != nil {
		return err
	}
	for i, b := range in {
		p.in[i] = view[T](b)
	}
	p.out[0] = view[T](out[0])
	if p.n > 0 || p.operands.out[0].n > 0 {
		pool.Run(parts(p.rows, p.group), p)
	}
	p.in, p.out = [2][]T{}, [2][]T{}
	return nil
}

// Do computes one part.
func (p *rows[T]) Do(part int) {
	f := newFrame(rowFrame, 0)
	for i := part * p.group; i < min(p.rows, (part+1)*p.group); i++ {
		p.do(p, f, i)
	}
	f.free()
}

const (
	// rowBlock is how many values of a row are computed at a time, where they need a place in the cache.
	rowBlock = 1024
	// rowFrame is the size of a frame for rows: a block, and two vectors.
	rowFrame = 8*rowBlock + 2*uniformBytes
)

// block is the frame's place for rowBlock values.
func block[T float](f *frame) *T { return (*T)(unsafe.Pointer(&f.buf[0])) }

// spreadOut is a vector that has x in every lane, an operand of step 0. There are two, number 0 and 1.
func spreadOut[T float](f *frame, number int, x T) *T {
	p := (*T)(unsafe.Pointer(&f.buf[8*rowBlock+number*uniformBytes]))
	v := unsafe.Slice(p, uniformLen)
	for i := range v {
		v[i] = x
	}
	return p
}

// largest is the maximum of n values.
func (t *table[T]) largest(f *frame, a *T, n int) T {
	p := (*T)(unsafe.Pointer(&f.acc))
	t.max(p, a, n)
	m := *p
	for _, x := range unsafe.Slice(p, t.lanes) {
		m = max(m, x)
	}
	return m
}

// exps is the sum of e**(a-m) over n values.
func (t *table[T]) exps(f *frame, a *T, m T, n int) float64 {
	s := 0.0
	for i := 0; i < n; i += rowBlock {
		t.expSum(block[T](f), &f.acc[0], at(a, i), m, min(rowBlock, n-i))
		s += t.total(f)
	}
	return s
}

func (p *rows[T]) softmax(f *frame, i int) {
	x, y := &p.in[0][i*p.n], &p.out[0][i*p.n]
	p.expSum(y, &f.acc[0], x, p.largest(f, x, p.n), p.n)
	p.binary[Mul](y, y, spreadOut(f, 0, T(1/p.total(f))), 1, 0, p.n)
}

func (p *rows[T]) logSoftmax(f *frame, i int) {
	x, y := &p.in[0][i*p.n], &p.out[0][i*p.n]
	m := p.largest(f, x, p.n)
	s := p.exps(f, x, m, p.n)
	// Two subtractions: the sum m + log(s) would lose the digits of log(s) where m is large.
	p.binary[Sub](y, x, spreadOut(f, 0, m), 1, 0, p.n)
	p.binary[Sub](y, y, spreadOut(f, 0, T(math.Log(s))), 1, 0, p.n)
}

func (p *rows[T]) softmaxGrad(f *frame, i int) {
	y, dy, dx := &p.in[0][i*p.n], &p.in[1][i*p.n], &p.out[0][i*p.n]
	p.dot(&f.acc[0], y, dy, p.n)
	s := spreadOut(f, 0, T(p.total(f)))
	for j := 0; j < p.n; j += rowBlock { // by way of a block, since dx may lie on y
		n, b := min(rowBlock, p.n-j), block[T](f)
		p.binary[Sub](b, at(dy, j), s, 1, 0, n)
		p.binary[Mul](at(dx, j), at(y, j), b, 1, 1, n)
	}
}

func (p *rows[T]) logSoftmaxGrad(f *frame, i int) {
	y, dy, dx := &p.in[0][i*p.n], &p.in[1][i*p.n], &p.out[0][i*p.n]
	p.sum(&f.acc[0], dy, p.n)
	s := spreadOut(f, 0, T(p.total(f)))
	for j := 0; j < p.n; j += rowBlock {
		n, b := min(rowBlock, p.n-j), block[T](f)
		p.unary[Exp](b, at(y, j), n)
		p.binary[Mul](b, b, s, 1, 0, n)
		p.binary[Sub](at(dx, j), at(dy, j), b, 1, 1, n)
	}
}

func (p *rows[T]) logSumExp(f *frame, i int) {
	if p.n == 0 {
		p.out[0][i] = T(math.Inf(-1))
		return
	}
	x := &p.in[0][i*p.n]
	m := p.largest(f, x, p.n)
	if math.IsInf(float64(m), 0) { // the differences would be no numbers
		p.out[0][i] = m
		return
	}
	p.out[0][i] = T(float64(m) + math.Log(p.exps(f, x, m, p.n)))
}
