package cpu

import (
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Pools in plain memory: for float64, and for indices that do not come from a pool of the same program.

// ints is memory as int32.
func ints(b []byte) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// float is the types that plain loops are written for.
type float interface{ float32 | float64 }

// of is memory as a slice of floats.
func of[T float](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// planeTask runs a plain loop for each plane of a batch of images.
type planeTask[T float] struct {
	x, y []T
	idx  []int32
	do   func(x, y []T, idx []int32)
	nx   int // values of a plane of x
	ny   int // and of y
}

func (t *planeTask[T]) Do(i int) {
	var idx []int32
	if t.idx != nil {
		idx = t.idx[i*t.ny:][:t.ny]
	}
	t.do(t.x[i*t.nx:][:t.nx], t.y[i*t.ny:][:t.ny], idx)
}

// planeKernel is a planeTask over planes; back says that x is the output.
type planeKernel[T float] struct {
	planeTask[T]
	planes int
	back   bool
}

func (k *planeKernel[T]) Run(pool *work.Pool, in, out [][]byte) error {
	if k.back {
		k.x, k.y = of[T](out[0]), of[T](in[0])
	} else {
		k.x, k.y = of[T](in[0]), of[T](out[0])
	}
	k.idx = nil
	for _, list := range [][][]byte{in[1:], out[1:]} {
		if len(list) > 0 {
			k.idx = ints(list[0])
		}
	}
	if k.nx*k.ny > 0 {
		pool.Run(k.planes, &k.planeTask)
	}
	k.x, k.y, k.idx = nil, nil, nil
	return nil
}

// newPlanes prepares a loop for images of shape x, and a pool's output y.
func newPlanes[T float](x, y tensor.Shape, back bool, do func(x, y []T, idx []int32)) *planeKernel[T] {
	return &planeKernel[T]{
		planeTask: planeTask[T]{do: do, nx: x.Dim(2) * x.Dim(3), ny: y.Dim(2) * y.Dim(3)},
		planes:    x.Dim(0) * x.Dim(1), back: back,
	}
}

// maxPool64 emits a max-pool of float64.
func (c *compiler) maxPool64(i int) error { return maxPlanes[float64](c, i) }

// wideMaxPool emits a max-pool whose window has more pixels than a blocked one can number.
func (c *compiler) wideMaxPool(i int) error { return maxPlanes[float32](c, i) }

func maxPlanes[T float](c *compiler, i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.MaxPool2DOp)
	w, x, y := window(o.Size, o.Stride, o.Pad), n.Args[0].Shape, n.Out[0].Shape
	in, err := views(c.needFloat, n.In...)
	if err != nil {
		return err
	}
	k := newPlanes(x, y, false, func(src, dst []T, idx []int32) {
		eachWindow(w, x, y, func(j, r0, r1, c0, c1 int) {
			best := r0*x.Dim(3) + c0
			for r := r0; r < r1; r++ {
				for at := r*x.Dim(3) + c0; at < r*x.Dim(3)+c1; at++ {
					if a, b := src[at], src[best]; a > b || a != a && b == b {
						best = at
					}
				}
			}
			dst[j], idx[j] = src[best], int32(best)
		})
	})
	v, done := c.makeFloat(out(i, 0))
	c.emit("max-pool in plain loops", k, []int{i}, in, []view{whole(v), whole(c.make(out(i, 1)))})
	return done()
}

// eachWindow calls f for each window of a plane with the rows and columns that lie in the image.
func eachWindow(w conv.Window, x, y tensor.Shape, f func(j, r0, r1, c0, c1 int)) {
	for a := range y.Dim(2) {
		for b := range y.Dim(3) {
			r, q := a*w.SH-w.Top, b*w.SW-w.Left
			f(a*y.Dim(3)+b, max(r, 0), min(r+w.KH, x.Dim(2)), max(q, 0), min(q+w.KW, x.Dim(3)))
		}
	}
}

// maxPoolGradByIndex emits the gradient of a max-pool from indices.
func (c *compiler) maxPoolGradByIndex(i int) error {
	n := &c.g.Nodes[i]
	if n.Args[0].DType == tensor.F64 {
		return scatterPlanes[float64](c, i)
	}
	return scatterPlanes[float32](c, i)
}

func scatterPlanes[T float](c *compiler, i int) error {
	n := &c.g.Nodes[i]
	in, err := views(c.needFloat, n.In...)
	if err != nil {
		return err
	}
	dx, done := c.makeFloat(out(i, 0))
	k := newPlanes(n.Out[0].Shape, n.Args[0].Shape, true, func(dx, dy []T, idx []int32) {
		clear(dx)
		for j, at := range idx { // an index outside of the plane is none
			if uint(at) < uint(len(dx)) {
				dx[at] += dy[j]
			}
		}
	})
	c.emit("max-pool gradient by index", k, []int{i}, in, []view{whole(dx)})
	return done()
}

// maxPoolGather emits the values at a max-pool's indices.
func (c *compiler) maxPoolGather(i int) error {
	if c.g.Nodes[i].Args[0].DType == tensor.F64 {
		return gatherPlanes[float64](c, i)
	}
	return gatherPlanes[float32](c, i)
}

func gatherPlanes[T float](c *compiler, i int) error {
	n := &c.g.Nodes[i]
	in, err := views(c.needFloat, n.In...)
	if err != nil {
		return err
	}
	y, done := c.makeFloat(out(i, 0))
	k := newPlanes(n.Args[0].Shape, n.Out[0].Shape, false, func(x, y []T, idx []int32) {
		for j, at := range idx {
			y[j] = 0
			if uint(at) < uint(len(x)) {
				y[j] = x[at]
			}
		}
	})
	c.emit("max-pool gather", k, []int{i}, in, []view{whole(y)})
	return done()
}
