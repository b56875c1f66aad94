package cpu

import (
	"math"

	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	_ = kernelOf[ops.StandardizeOp]((*compiler).standardize)
	_ = kernelOf[ops.StandardizeGradOp]((*compiler).standardizeGrad)
)

// standardize emits rows of mean 0 and variance 1.
func (c *compiler) standardize(i int) error {
	n := &c.g.Nodes[i]
	rows, size, _ := lastAxis(n.Args[0].Shape, int8(n.Args[0].Shape.Rank()-1))
	eps := n.Op.(ops.StandardizeOp).Eps.Float()
	if computed(n.Args[0].DType) == tensor.F64 {
		return c.simpleFloat(i, "standardize", &standardKernel[float64]{lineup: newLineup(rows, size), eps: eps})
	}
	return c.simpleFloat(i, "standardize", &standardKernel[float32]{lineup: newLineup(rows, size), eps: eps})
}

// standardizeGrad emits its gradient.
func (c *compiler) standardizeGrad(i int) error {
	n := &c.g.Nodes[i]
	rows, size, _ := lastAxis(n.Args[0].Shape, int8(n.Args[0].Shape.Rank()-1))
	if computed(n.Args[0].DType) == tensor.F64 {
		return c.simpleFloat(i, "standardize gradient", &standardGradKernel[float64]{lineup: newLineup(rows, size)})
	}
	return c.simpleFloat(i, "standardize gradient", &standardGradKernel[float32]{lineup: newLineup(rows, size)})
}

// lineup is rows of n values, cut into parts of some ten thousand values.
type lineup struct{ rows, n, group int }

func newLineup(rows, n int) lineup { return lineup{rows, n, max(1, 1<<13/max(n, 1))} }

func (l lineup) parts() int { return (l.rows + l.group - 1) / l.group }

// of are the rows of a part.
func (l lineup) of(part int) (from, to int) { return part * l.group, min(l.rows, (part+1)*l.group) }

// sum adds in float64, in four strands, which lets the processor overlap the additions.
func sum[T float32 | float64](x []T, f func(i int, v float64) float64) float64 {
	var s [4]float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		s[0] += f(i, float64(x[i]))
		s[1] += f(i+1, float64(x[i+1]))
		s[2] += f(i+2, float64(x[i+2]))
		s[3] += f(i+3, float64(x[i+3]))
	}
	for ; i < len(x); i++ {
		s[0] += f(i, float64(x[i]))
	}
	return s[0] + s[1] + (s[2] + s[3])
}

type standardKernel[T float32 | float64] struct {
	lineup
	eps     float64
	x, y, r []T // of the run
}

func (k *standardKernel[T]) Run(pool *work.Pool, in, out [][]byte) error {
	k.x, k.y, k.r = bytesOf[T](in[0]), bytesOf[T](out[0]), bytesOf[T](out[1])
	pool.Run(k.parts(), k)
	k.x, k.y, k.r = nil, nil, nil
	return nil
}

// Do standardizes the rows of a part.
func (k *standardKernel[T]) Do(part int) {
	from, to := k.of(part)
	for r := from; r < to; r++ {
		x := k.x[r*k.n : (r+1)*k.n]
		mean := sum(x, func(_ int, v float64) float64 { return v }) / float64(k.n)
		mean += sum(x, func(_ int, v float64) float64 { return v - mean }) / float64(k.n) // what rounding took from it
		squares := sum(x, func(_ int, v float64) float64 { return (v - mean) * (v - mean) })
		rstd := 1 / math.Sqrt(squares/float64(k.n)+k.eps)
		if len(k.y) > 0 {
			y := k.y[r*k.n : (r+1)*k.n]
			for i, v := range x {
				y[i] = T((float64(v) - mean) * rstd)
			}
		}
		if len(k.r) > 0 {
			k.r[r] = T(rstd)
		}
	}
}

type standardGradKernel[T float32 | float64] struct {
	lineup
	y, r, dy, dx []T // of the run
}

func (k *standardGradKernel[T]) Run(pool *work.Pool, in, out [][]byte) error {
	k.y, k.r, k.dy, k.dx = bytesOf[T](in[0]), bytesOf[T](in[1]), bytesOf[T](in[2]), bytesOf[T](out[0])
	pool.Run(k.parts(), k)
	k.y, k.r, k.dy, k.dx = nil, nil, nil, nil
	return nil
}

// Do does the rows of a part.
func (k *standardGradKernel[T]) Do(part int) {
	from, to := k.of(part)
	for r := from; r < to; r++ {
		y, dy, dx := k.y[r*k.n:(r+1)*k.n], k.dy[r*k.n:(r+1)*k.n], k.dx[r*k.n:(r+1)*k.n]
		mean := sum(dy, func(_ int, v float64) float64 { return v }) / float64(k.n)
		slope := sum(dy, func(i int, v float64) float64 { return v * float64(y[i]) }) / float64(k.n)
		rstd := float64(k.r[r])
		for i, v := range dy {
			dx[i] = T(rstd * (float64(v) - mean - float64(y[i])*slope))
		}
	}
}
