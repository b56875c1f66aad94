package vec

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

// NewBatchNorm plans the normalisation of each column of a matrix of rows of n values, f32 or f64, in training: y = (x - mean) / sqrt(var + eps) * scale +
// bias, with the column's mean and biased variance, var = mean of (x - mean)**2. It takes the matrix x, scale and bias, [n], and gives the matrix y, the means
// and the variances, [n]. y may be the memory of x.
//
// The statistics take two passes, in float64, so values far from 0 keep their digits.
func NewBatchNorm(l isa.Level, d tensor.DType, rows, n int, eps float64) (Step, error) {
	x, c := array{d, rows * n}, array{d, n}
	return newNorm(l, d, rows, n, eps, false, operands{"batchnorm", []array{x, c, c}, []array{x, c, c}})
}

// NewBatchNormGrad plans the gradients of y = batch-norm(x, scale, bias). It takes x, scale and dy, and gives dx, dscale and dbias. It computes the statistics
// again: kept in float32 they would have lost digits. dx may be the memory of x or dy.
//
// With z = (x - mean) / sqrt(var + eps): dbias = sum of dy, dscale = sum of dy*z, and dx = scale / sqrt(var + eps) * (dy - mean of dy - z * mean of dy*z).
func NewBatchNormGrad(l isa.Level, d tensor.DType, rows, n int, eps float64) (Step, error) {
	x, c := array{d, rows * n}, array{d, n}
	return newNorm(l, d, rows, n, eps, true, operands{"batchnormgrad", []array{x, c, x}, []array{x, c, c}})
}

func newNorm(l isa.Level, d tensor.DType, rows, n int, eps float64, grad bool, o operands) (Step, error) {
	switch {
	case rows < 1 || n < 0 || !(eps >= 0):
		return nil, fmt.Errorf("vec: %s of %d rows of %d values, epsilon %g", o.name, rows, n, eps)
	case d == tensor.F32:
		return &norm[float32]{operands: o, table: f32At(l), rows: rows, n: n, eps: eps, grad: grad}, nil
	case d == tensor.F64:
		return &norm[float64]{operands: o, table: f64At(l), rows: rows, n: n, eps: eps, grad: grad}, nil
	}
	return nil, fmt.Errorf("vec: %s of %v", o.name, d)
}

// norm is batch-norm or its gradient. A part is a strip of columns: all its passes after each other.
type norm[T float] struct {
	operands
	*table[T]
	rows, n int
	eps     float64
	grad    bool

	in, out [3][]T // of the run
}

// normStrip is how many columns a part has: a few cache lines of each row.
const normStrip = 64

// Run computes the outputs.
func (p *norm[T]) Run(pool *work.Pool, in, out [][]byte) error {
	if err := p.check(in, out); err != nil {
		return err
	}
	for i := range p.in {
		p.in[i], p.out[i] = view[T](in[i]), view[T](out[i])
	}
	pool.Run(parts(p.n, normStrip), p)
	p.in, p.out = [3][]T{}, [3][]T{}
	return nil
}

// strip is the frame of a part: sums and statistics of its columns.
type strip[T float] struct {
	sum, mean, products [normStrip]float64
	inverse             [normStrip]float64 // 1/sqrt(var+eps)
	hi, lo              [normStrip]T       // mean = hi + lo, so x-hi-lo has all digits of x-mean
	a, b, c             [normStrip]T       // factors of the last pass
}

// Do computes one strip.
func (p *norm[T]) Do(part int) {
	f := newFrame(int(unsafe.Sizeof(strip[T]{})), 0)
	s := (*strip[T])(unsafe.Pointer(&f.buf[0]))
	at := part * normStrip
	n := min(normStrip, p.n-at)
	count := float64(p.rows)
	x := &p.in[0][at]
	p.columnSum(&s.sum[0], x, p.n, p.rows, n)
	for j := range n {
		s.mean[j] = s.sum[j] / count
		s.hi[j] = T(s.mean[j])
		s.lo[j] = T(s.mean[j] - float64(s.hi[j]))
	}
	p.columnSquares(&s.sum[0], x, &s.mean[0], p.n, p.rows, n)
	for j := range n {
		s.inverse[j] = 1 / math.Sqrt(s.sum[j]/count+p.eps)
	}
	if p.grad {
		p.gradient(s, at, n)
	} else {
		p.forward(s, at, n)
	}
	f.free()
}

func (p *norm[T]) forward(s *strip[T], at, n int) {
	scale, bias := p.in[1][at:], p.in[2][at:]
	mean, variance := p.out[1][at:], p.out[2][at:]
	for j := range n {
		mean[j] = s.hi[j]
		variance[j] = T(s.sum[j] / float64(p.rows))
		s.a[j] = T(s.inverse[j] * float64(scale[j]))
		s.b[j] = bias[j]
	}
	p.normalise(&p.out[0][at], &p.in[0][at], &s.hi[0], &s.lo[0], &s.a[0], &s.b[0], p.n, p.rows, n)
}

func (p *norm[T]) gradient(s *strip[T], at, n int) {
	x, dy, count := &p.in[0][at], &p.in[2][at], float64(p.rows)
	scale, dscale, dbias := p.in[1][at:], p.out[1][at:], p.out[2][at:]
	p.columnSum(&s.sum[0], dy, p.n, p.rows, n)
	p.columnProducts(&s.products[0], dy, x, &s.mean[0], p.n, p.rows, n)
	for j := range n {
		z := s.products[j] * s.inverse[j] // sum of dy*z
		dbias[j], dscale[j] = T(s.sum[j]), T(z)
		s.a[j] = T(s.inverse[j] * float64(scale[j]))
		s.b[j] = T(s.sum[j] / count)
		s.c[j] = T(z * s.inverse[j] / count)
	}
	p.normaliseGrad(&p.out[0][at], dy, x, &s.hi[0], &s.lo[0], &s.a[0], &s.b[0], &s.c[0], p.n, p.rows, n)
}
