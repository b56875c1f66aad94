package vec

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

// IndexError is the error of a step that was given an index out of range.
type IndexError struct {
	Step  string // what ran
	At    int    // which of the indices, the first one that is out of range
	Index int64
	Limit int // indices lie in 0 to Limit-1
}

func (e *IndexError) Error() string {
	return fmt.Sprintf("vec: %s: index %d at position %d is not in 0 to %d", e.Step, e.Index, e.At, e.Limit-1)
}

// indices is an operand of type i32 or i64.
type indices struct {
	i32   []int32
	i64   []int64
	wrong atomic.Int64 // 1 + the least position that is out of range, or 0
}

// set takes the operand of a run.
func (x *indices) set(d tensor.DType, b []byte) {
	x.wrong.Store(0)
	if d == tensor.I32 {
		x.i32 = view[int32](b)
	} else {
		x.i64 = view[int64](b)
	}
}

// at is index i.
func (x *indices) at(i int) int64 {
	if x.i32 != nil {
		return int64(x.i32[i])
	}
	return x.i64[i]
}

// reject notes that index i is out of range.
func (x *indices) reject(i int) {
	for {
		old := x.wrong.Load()
		if old != 0 && old <= int64(i)+1 || x.wrong.CompareAndSwap(old, int64(i)+1) {
			return
		}
	}
}

// done forgets the operand, and returns the error of the run.
func (x *indices) done(step string, limit int) error {
	defer func() { x.i32, x.i64 = nil, nil }()
	if w := x.wrong.Load(); w > 0 {
		return &IndexError{Step: step, At: int(w) - 1, Index: x.at(int(w) - 1), Limit: limit}
	}
	return nil
}

// NewCrossEntropy plans the loss of a classifier, for each of rows samples of n classes: log(sum of e**x) - x[label]. It takes the
// matrix x, of f32 or f64, and the labels, i32 or i64, and gives the losses and log(sum of e**x), a value for each row. A sample whose label is ignore has
// loss 0; any other label that is no class is an [IndexError].
func NewCrossEntropy(l isa.Level, d, labels tensor.DType, rows, n int, ignore int64) (Step, error) {
	return newEntropy("crossentropy", l, d, labels, rows, n, ignore, false)
}

// NewCrossEntropyGrad plans the gradient of the losses with respect to x. It takes x, the labels and the gradient of each loss, and gives
// dx = (softmax(x) - 1 at the label) * dloss, which may be the memory of x. For a sample that is ignored dx is 0.
func NewCrossEntropyGrad(l isa.Level, d, labels tensor.DType, rows, n int, ignore int64) (Step, error) {
	return newEntropy("crossentropygrad", l, d, labels, rows, n, ignore, true)
}

func newEntropy(name string, l isa.Level, d, labels tensor.DType, rows, n int, ignore int64, grad bool) (Step, error) {
	switch {
	case rows < 0 || n < 1:
		return nil, fmt.Errorf("vec: %s of %d samples of %d classes", name, rows, n)
	case labels != tensor.I32 && labels != tensor.I64:
		return nil, fmt.Errorf("vec: %s with labels of type %v", name, labels)
	case d == tensor.F32:
		return &entropy[float32]{operands: entropyOperands(name, d, labels, rows, n, grad), table: f32At(l), labels: labels, rows: rows, n: n, ignore: ignore, grad: grad}, nil
	case d == tensor.F64:
		return &entropy[float64]{operands: entropyOperands(name, d, labels, rows, n, grad), table: f64At(l), labels: labels, rows: rows, n: n, ignore: ignore, grad: grad}, nil
	}
	return nil, fmt.Errorf("vec: %s of %v", name, d)
}

func entropyOperands(name string, d, labels tensor.DType, rows, n int, grad bool) operands {
	if grad {
		return operands{name, []array{{d, rows * n}, {labels, rows}, {d, rows}}, []array{{d, rows * n}}}
	}
	return operands{name, []array{{d, rows * n}, {labels, rows}}, []array{{d, rows}, {d, rows}}}
}

// entropy is the loss or its gradient.
type entropy[T float] struct {
	operands
	*table[T]
	labels  tensor.DType
	rows, n int
	ignore  int64
	grad    bool

	x, dloss, loss, lse, dx []T // of the run
	label                   indices
}

// entropyPrice is what a value of a row costs.
const entropyPrice = 12

// Run computes the outputs. After an error they are undefined.
func (p *entropy[T]) Run(pool *work.Pool, in, out [][]byte) error {
	if err := p.check(in, out); err != nil {
		return err
	}
	p.x = view[T](in[0])
	p.label.set(p.labels, in[1])
	if p.grad {
		p.dloss, p.dx = view[T](in[2]), view[T](out[0])
	} else {
		p.loss, p.lse = view[T](out[0]), view[T](out[1])
	}
	pool.Run(parts(p.rows, groupRows(p.n, entropyPrice)), p)
	p.x, p.dloss, p.loss, p.lse, p.dx = nil, nil, nil, nil, nil
	return p.label.done(p.name, p.n)
}

// Do computes one part.
func (p *entropy[T]) Do(part int) {
	f := newFrame(rowFrame, 0)
	group := groupRows(p.n, entropyPrice)
	for i := part * group; i < min(p.rows, (part+1)*group); i++ {
		label := p.label.at(i)
		ignored := label == p.ignore
		switch {
		case !ignored && (label < 0 || label >= int64(p.n)):
			p.label.reject(i)
		case p.grad:
			p.gradient(f, i, int(label), ignored)
		default:
			p.forward(f, i, int(label), ignored)
		}
	}
	f.free()
}

func (p *entropy[T]) forward(f *frame, i, label int, ignored bool) {
	x := p.x[i*p.n : (i+1)*p.n]
	m := p.largest(f, &x[0], p.n)
	s := math.Log(p.exps(f, &x[0], m, p.n))
	p.lse[i] = T(float64(m) + s)
	if math.IsInf(float64(m), 0) {
		p.lse[i] = m
	}
	p.loss[i] = 0
	if !ignored { // the difference first: it is exact where it is small, and the sum would lose digits
		p.loss[i] = T(float64(m) - float64(x[label]) + s)
	}
}

func (p *entropy[T]) gradient(f *frame, i, label int, ignored bool) {
	x, dx := &p.x[i*p.n], p.dx[i*p.n:(i+1)*p.n]
	if ignored {
		clear(dx)
		return
	}
	p.expSum(&dx[0], &f.acc[0], x, p.largest(f, x, p.n), p.n)
	s, g := p.total(f), float64(p.dloss[i])
	at := float64(dx[label]) / s // the label's probability
	p.binary[Mul](&dx[0], &dx[0], spreadOut(f, 0, T(g/s)), 1, 0, p.n)
	dx[label] = T((at - 1) * g)
}
