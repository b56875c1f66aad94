package cpu

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var _ = kernelOf[ops.CumsumOp]((*compiler).cumsum)

// cumsum emits running sums along an axis.
func (c *compiler) cumsum(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.CumsumOp)
	outer, size, inner := around(n.Args[0].Shape, o.Axis)
	g := scan{outer: outer, n: size, inner: inner, reverse: o.Reverse}
	var k kernel
	switch computed(n.Args[0].DType) {
	case tensor.F32:
		k = &scanKernel[float32, float64]{g}
	case tensor.F64:
		k = &scanKernel[float64, float64]{g}
	case tensor.I32:
		k = &scanKernel[int32, int32]{g}
	case tensor.I64:
		k = &scanKernel[int64, int64]{g}
	default:
		k = &scanKernel[uint8, uint8]{g}
	}
	return c.simpleFloat(i, "cumsum", k)
}

// scan is the geometry: an array [outer, n, inner] that is added up along the middle axis.
type scan struct {
	outer, n, inner int
	reverse         bool
}

// scanKernel adds up values T as A.
type scanKernel[T, A float32 | float64 | int32 | int64 | uint8] struct{ scan }

func (k *scanKernel[T, A]) Run(pool *work.Pool, in, out [][]byte) error {
	x, y := bytesOf[T](in[0]), bytesOf[T](out[0])
	for line := range k.outer * k.inner {
		at, step := line/k.inner*k.n*k.inner+line%k.inner, k.inner
		if k.reverse {
			at, step = at+(k.n-1)*step, -step
		}
		var sum A
		for range k.n {
			sum += A(x[at])
			y[at] = T(sum)
			at += step
		}
	}
	return nil
}
