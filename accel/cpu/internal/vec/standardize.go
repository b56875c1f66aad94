package vec

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

// Standardized says which outputs NewStandardize makes; those that it does not are nil.
type Standardized struct{ Y, Rstd, Affine bool }

// NewStandardize plans y = (x - mean) / sqrt(var + eps) along each of rows rows of n values, f32 or f64, with the biased variance. It takes the matrix x and,
// for the affine output, scale and bias, [n], and gives the matrix y, then 1/sqrt(var + eps), [rows], and the affine matrix y*scale + bias. No output is
// the memory of another operand.
//
// Sums are accumulated in float64, and the second pass is over differences from the mean: values far from 0 keep their digits.
func NewStandardize(l isa.Level, d tensor.DType, rows, n int, eps float64, want Standardized) (Step, error) {
	o := operands{"standardize", []array{{d, rows * n}}, []array{{d, 0}, {d, 0}}}
	if want.Y {
		o.out[0].n = rows * n
	}
	if want.Rstd {
		o.out[1].n = rows
	}
	if want.Affine {
		o.in, o.out = append(o.in, array{d, n}, array{d, n}), append(o.out, array{d, rows * n})
	}
	return newStandard(l, d, rows, n, eps, false, o)
}

// NewStandardizeGrad plans the gradient of y = standardize(x), dx = r * (dy - mean of dy - y * mean of y*dy) along each row. It takes y, r = 1/sqrt(var + eps),
// [rows], and dy, and gives dx, which may be the memory of dy.
func NewStandardizeGrad(l isa.Level, d tensor.DType, rows, n int) (Step, error) {
	x, r := array{d, rows * n}, array{d, rows}
	return newStandard(l, d, rows, n, 0, true, operands{"standardizegrad", []array{x, r, x}, []array{x}})
}

func newStandard(l isa.Level, d tensor.DType, rows, n int, eps float64, grad bool, o operands) (Step, error) {
	switch {
	case rows < 0 || n < 0:
		return nil, fmt.Errorf("vec: %s of %d rows of %d values", o.name, rows, n)
	case d == tensor.F32:
		return &standard[float32]{operands: o, table: f32At(l), rows: rows, n: n, eps: eps, grad: grad}, nil
	case d == tensor.F64:
		return &standard[float64]{operands: o, table: f64At(l), rows: rows, n: n, eps: eps, grad: grad}, nil
	}
	return nil, fmt.Errorf("vec: %s of %v", o.name, d)
}

// standard is the standardisation of rows, or its gradient.
type standard[T float] struct {
	operands
	*table[T]
	rows, n int
	eps     float64
	grad    bool

	in, out [3][]T // of the run
}

// standardPrice is what a value of a row costs.
const standardPrice = 8

// Run computes the outputs that are wanted.
func (p *standard[T]) Run(pool *work.Pool, in, out [][]byte) error {
	if err := p.check(in, out); err != nil {
		return err
	}
	for i, b := range in {
		p.in[i] = view[T](b)
	}
	for i, b := range out {
		p.out[i] = view[T](b)
	}
	if p.n > 0 || len(p.out[1]) > 0 {
		pool.Run(parts(p.rows, groupRows(p.n, standardPrice)), p)
	}
	p.in, p.out = [3][]T{}, [3][]T{}
	return nil
}

// Do computes one part.
func (p *standard[T]) Do(part int) {
	f := newFrame(rowFrame, 0)
	group := groupRows(p.n, standardPrice)
	for i := part * group; i < min(p.rows, (part+1)*group); i++ {
		if p.grad {
			p.gradient(f, i)
		} else {
			p.forward(f, i)
		}
	}
	f.free()
}

// forward takes the differences from the mean as near as T has it, hi, and corrects what it lacks, rest.
func (p *standard[T]) forward(f *frame, i int) {
	from, count := i*p.n, float64(p.n)
	x := p.in[0][from:][:p.n]
	d := p.out[0]
	if len(d) == 0 {
		d = p.out[2]
	}
	if len(d) > 0 {
		d = d[from:][:p.n]
	}
	p.sum(&f.acc[0], unsafe.SliceData(x), p.n)
	hi := spreadOut(f, 0, T(p.total(f)/count))
	sum, squares := 0.0, 0.0
	for j := 0; j < p.n; j += rowBlock {
		n, to := min(rowBlock, p.n-j), block[T](f)
		if len(d) > 0 {
			to = &d[j]
		}
		p.binary[Sub](to, &x[j], hi, 1, 0, n)
		p.sum(&f.acc[0], to, n)
		sum += p.total(f)
		p.dot(&f.acc[0], to, to, n)
		squares += p.total(f)
	}
	rest := sum / count
	rstd := 1 / math.Sqrt(max(squares/count-rest*rest, 0)+p.eps)
	if len(p.out[1]) > 0 {
		p.out[1][i] = T(rstd)
	}
	if len(d) == 0 || p.n == 0 {
		return
	}
	p.mulAdd(&d[0], &d[0], spreadOut(f, 0, T(rstd)), spreadOut(f, 1, T(-rest*rstd)), 1, 0, 0, p.n)
	if len(p.out[2]) > 0 {
		p.mulAdd(&p.out[2][from], &d[0], &p.in[1][0], &p.in[2][0], 1, 1, 1, p.n)
	}
}

func (p *standard[T]) gradient(f *frame, i int) {
	from, count := i*p.n, float64(p.n)
	y, dy, dx := &p.in[0][from], &p.in[2][from], &p.out[0][from]
	p.sum(&f.acc[0], dy, p.n)
	mean := spreadOut(f, 0, T(p.total(f)/count))
	p.dot(&f.acc[0], dy, y, p.n)
	p.mulSub(dx, y, spreadOut(f, 1, T(p.total(f)/count)), dy, 1, 0, 1, p.n)
	p.binary[Sub](dx, dx, mean, 1, 0, p.n)
	p.binary[Mul](dx, dx, spreadOut(f, 0, p.in[1][i]), 1, 0, p.n)
}
