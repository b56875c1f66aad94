package cpu

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	_ = kernelOf[ops.ResizeOp]((*compiler).resize)
	_ = kernelOf[ops.ResizeGradOp]((*compiler).resizeGrad)
)

// resize emits a linear map along one axis, by what each element is made of.
func (c *compiler) resize(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.ResizeOp)
	return c.taps(i, o.Axis, o.Taps(n.Args[0].Shape.Dim(int(o.Axis))))
}

// resizeGrad emits the transposed map.
func (c *compiler) resizeGrad(i int) error {
	o := c.g.Nodes[i].Op.(ops.ResizeGradOp)
	back := make([][]ops.Tap, o.Dim)
	for k, list := range o.Of.Taps(o.Dim) {
		for _, t := range list {
			back[t.At] = append(back[t.At], ops.Tap{At: k, Weight: t.Weight})
		}
	}
	return c.taps(i, o.Of.Axis, back)
}

func (c *compiler) taps(i int, axis int8, taps [][]ops.Tap) error {
	n := &c.g.Nodes[i]
	outer, size, inner := around(n.Args[0].Shape, axis)
	if computed(n.Args[0].DType) == tensor.F64 {
		return c.simpleFloat(i, n.Op.Name(), &tapKernel[float64]{taps, outer, size, inner, make([]float64, inner)})
	}
	return c.simpleFloat(i, n.Op.Name(), &tapKernel[float32]{taps, outer, size, inner, make([]float64, inner)})
}

// tapKernel makes the rows of an array [outer, len(taps), inner] of weighted rows of an array [outer, n, inner].
type tapKernel[T float32 | float64] struct {
	taps            [][]ops.Tap
	outer, n, inner int
	sum             []float64
}

func (k *tapKernel[T]) Run(pool *work.Pool, in, out [][]byte) error {
	x, y := bytesOf[T](in[0]), bytesOf[T](out[0])
	for r := range k.outer {
		for p, list := range k.taps {
			clear(k.sum)
			for _, t := range list {
				for c, v := range x[(r*k.n+t.At)*k.inner:][:k.inner] {
					k.sum[c] += t.Weight * float64(v)
				}
			}
			for c, v := range k.sum {
				y[(r*len(k.taps)+p)*k.inner+c] = T(v)
			}
		}
	}
	return nil
}
