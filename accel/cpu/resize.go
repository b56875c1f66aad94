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
		return c.simpleFloat(i, n.Op.Name(), newTaps[float64](taps, outer, size, inner))
	}
	return c.simpleFloat(i, n.Op.Name(), newTaps[float32](taps, outer, size, inner))
}

// tapKernel makes the rows of an array [outer, len(taps), inner] of weighted rows of an array [outer, n, inner]. It sums in float64.
type tapKernel[T float32 | float64] struct {
	taps            [][]ops.Tap
	outer, n, inner int
	group           int // of a part: rows, or where a row is one element, of outer
	parts           int
	x, y            []T // of the run
}

// tapLen is about how many elements a part makes.
const tapLen = 1 << 13

func newTaps[T float32 | float64](taps [][]ops.Tap, outer, n, inner int) *tapKernel[T] {
	k := &tapKernel[T]{taps: taps, outer: outer, n: n, inner: inner}
	units, size := outer*len(taps), inner
	if inner == 1 {
		units, size = outer, len(taps)
	}
	k.group = max(1, tapLen/max(1, size))
	k.parts = (units + k.group - 1) / k.group
	return k
}

func (k *tapKernel[T]) Run(pool *work.Pool, in, out [][]byte) error {
	k.x, k.y = bytesOf[T](in[0]), bytesOf[T](out[0])
	pool.Run(k.parts, k)
	k.x, k.y = nil, nil
	return nil
}

// Do makes one part.
func (k *tapKernel[T]) Do(part int) {
	from, to := part*k.group, (part+1)*k.group
	if k.inner == 1 {
		for r := from; r < min(to, k.outer); r++ {
			k.elements(k.y[r*len(k.taps):][:len(k.taps)], k.x[r*k.n:][:k.n])
		}
		return
	}
	for u := from; u < min(to, k.outer*len(k.taps)); u++ {
		k.row(k.y[u*k.inner:][:k.inner], k.x[u/len(k.taps)*k.n*k.inner:], k.taps[u%len(k.taps)])
	}
}

// elements makes a row of single elements.
func (k *tapKernel[T]) elements(y, x []T) {
	for p, list := range k.taps {
		switch len(list) {
		case 1:
			y[p] = T(list[0].Weight * float64(x[list[0].At]))
		case 2:
			y[p] = T(list[0].Weight*float64(x[list[0].At]) + list[1].Weight*float64(x[list[1].At]))
		default:
			sum := 0.0
			for _, t := range list {
				sum += t.Weight * float64(x[t.At])
			}
			y[p] = T(sum)
		}
	}
}

// row makes a row of weighted rows of x.
func (k *tapKernel[T]) row(y, x []T, list []ops.Tap) {
	at := func(t int) (float64, []T) { return list[t].Weight, x[list[t].At*k.inner:][:len(y)] }
	switch len(list) {
	case 1:
		w, a := at(0)
		if w == 1 {
			copy(y, a)
			return
		}
		for c, v := range a {
			y[c] = T(w * float64(v))
		}
	case 2:
		w, a := at(0)
		u, b := at(1)
		for c, v := range a {
			y[c] = T(w*float64(v) + u*float64(b[c]))
		}
	default:
		var sum [64]float64
		for c := 0; c < len(y); c += len(sum) {
			n := min(len(sum), len(y)-c)
			clear(sum[:n])
			for t := range list {
				w, a := at(t)
				for j, v := range a[c : c+n] {
					sum[j] += w * float64(v)
				}
			}
			for j, v := range sum[:n] {
				y[c+j] = T(v)
			}
		}
	}
}
