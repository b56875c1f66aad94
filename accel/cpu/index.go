package cpu

import (
	"cmp"
	"slices"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu/internal/vec"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	_ = kernelOf[ops.GatherOp]((*compiler).gather)
	_ = kernelOf[ops.ScatterAddOp]((*compiler).scatterAdd)
	_ = kernelOf[ops.TakeAlongOp]((*compiler).takeAlong)
	_ = kernelOf[ops.AddAlongOp]((*compiler).addAlong)
	_ = kernelOf[ops.PutAlongOp]((*compiler).putAlong)
	_ = kernelOf[ops.ArgMaxOp]((*compiler).argMax)
	_ = kernelOf[ops.OneHotOp]((*compiler).oneHot)
	_ = kernelOf[ops.LengthsOp]((*compiler).reference) // a few numbers a step
)

var _ = kernelBy(func(o ops.TopKOp, _ *accel.Node) emitFunc {
	if o.Smallest {
		return (*compiler).bottomK
	}
	return (*compiler).topK
})

// around splits a shape at an axis: the product of the axes before it, its own size, the product of those behind it.
func around(s tensor.Shape, axis int8) (outer, n, inner int) {
	outer, inner = 1, 1
	for i := range s.Rank() {
		switch {
		case i < int(axis):
			outer *= s.Dim(i)
		case i > int(axis):
			inner *= s.Dim(i)
		}
	}
	return outer, s.Dim(int(axis)), inner
}

// gather emits rows by index.
func (c *compiler) gather(i int) error {
	n := &c.g.Nodes[i]
	outer, rows, width := around(n.Args[0].Shape, n.Op.(ops.GatherOp).Axis)
	k, err := vec.NewGather(n.Args[0].DType, vec.Rows{Outer: outer, Rows: rows, Width: width, N: n.Args[1].Shape.Size(), Index: n.Args[1].DType})
	if err != nil {
		return err
	}
	return c.simple(i, "gather", k)
}

// scatterAdd emits the sums of rows by index.
func (c *compiler) scatterAdd(i int) error {
	n := &c.g.Nodes[i]
	outer, rows, width := around(n.Out[0].Shape, n.Op.(ops.ScatterAddOp).Axis)
	if n.Out[0].DType == tensor.U8 {
		return c.simple(i, "scatter-add u8", &scatterBytes{index: n.Args[1], outer: outer, rows: rows, width: width})
	}
	k, err := vec.NewScatterAdd(computed(n.Args[0].DType), vec.Rows{Outer: outer, Rows: rows, Width: width, N: n.Args[1].Shape.Size(), Index: n.Args[1].DType}, false)
	if err != nil {
		return err
	}
	return c.simpleFloat(i, "scatter-add", k)
}

// scatterBytes adds rows of u8, modulo 256.
type scatterBytes struct {
	index              tensor.Spec
	outer, rows, width int
}

func (k *scatterBytes) Run(pool *work.Pool, in, out [][]byte) error {
	clear(out[0])
	idx := tensorOf(k.index, in[1])
	for i := range k.outer * idx.Len() {
		row := idx.Int(i % idx.Len())
		if err := ops.CheckIndex(row, k.rows); err != nil {
			return err
		}
		to := out[0][(i/idx.Len()*k.rows+int(row))*k.width:]
		for j, x := range in[0][i*k.width:][:k.width] {
			to[j] += x
		}
	}
	return nil
}

// argMax emits the index of the maximum along an axis.
func (c *compiler) argMax(i int) error {
	n := &c.g.Nodes[i]
	outer, size, inner := around(n.Args[0].Shape, n.Op.(ops.ArgMaxOp).Axis)
	k, err := vec.NewArgMax(computed(n.Args[0].DType), tensor.I64, outer, size, inner)
	if err != nil {
		return err
	}
	return c.simpleFloat(i, "argmax", k)
}

// topK emits the greatest of each row.
func (c *compiler) topK(i int) error {
	n := &c.g.Nodes[i]
	rows, size, _ := lastAxis(n.Args[0].Shape, int8(n.Args[0].Shape.Rank()-1))
	k, err := vec.NewTopK(computed(n.Args[0].DType), tensor.I64, rows, size, n.Op.(ops.TopKOp).K)
	if err != nil {
		return err
	}
	x, err := c.needFloat(n.In[0])
	if err != nil {
		return err
	}
	d := computed(n.Out[0].DType)
	y, done := c.scratch(n.Out[0].Shape.Size()*d.Size()), func() error { return nil }
	if c.used(out(i, 0)) {
		y, done = c.makeFloat(out(i, 0))
	}
	c.emit("top-k", k, []int{i}, []view{whole(x)}, []view{whole(y), whole(c.make(out(i, 1)))})
	return done()
}

// bottomK emits the smallest of each row: of equal ones the first comes first, and NaN comes behind all numbers.
func (c *compiler) bottomK(i int) error {
	n := &c.g.Nodes[i]
	rows, size, _ := lastAxis(n.Args[0].Shape, int8(n.Args[0].Shape.Rank()-1))
	return c.simple(i, "bottom-k", &bottomKernel{d: n.Args[0].DType, rows: rows, n: size, k: n.Op.(ops.TopKOp).K, order: make([]int, size)})
}

type bottomKernel struct {
	d          tensor.DType
	rows, n, k int
	order      []int
}

func (k *bottomKernel) Run(pool *work.Pool, in, out [][]byte) error {
	x, size := tensorOf(tensor.SpecOf(k.d, k.rows*k.n), in[0]), k.d.Size()
	less := func(i, j int) int { return cmp.Compare(x.Int(i), x.Int(j)) }
	if k.d.Float() {
		less = func(i, j int) int {
			a, b := x.At(i), x.At(j)
			if a != a || b != b {
				return -cmp.Compare(a, b) // which puts NaN first
			}
			return cmp.Compare(a, b)
		}
	}
	for r := range k.rows {
		for i := range k.order {
			k.order[i] = r*k.n + i
		}
		slices.SortStableFunc(k.order, less)
		for p, i := range k.order[:k.k] {
			at := r*k.k + p
			if out[0] != nil {
				copy(out[0][at*size:(at+1)*size], in[0][i*size:])
			}
			if out[1] != nil {
				bytesOf[int64](out[1])[at] = int64(i - r*k.n)
			}
		}
	}
	return nil
}

// oneHot emits rows of zeros with a one.
func (c *compiler) oneHot(i int) error {
	n := &c.g.Nodes[i]
	one := tensor.Full(tensor.Spec{DType: n.Out[0].DType}, 1).Bytes()
	return c.simple(i, "one-hot", hotKernel{n.Args[0], n.Out[0].Shape.Dim(-1), one})
}

// hotKernel clears, and copies a one to where each index says.
type hotKernel struct {
	index   tensor.Spec
	classes int
	one     []byte
}

func (k hotKernel) Run(pool *work.Pool, in, out [][]byte) error {
	clear(out[0])
	idx := tensorOf(k.index, in[0])
	for r := range idx.Len() {
		if x := idx.Int(r); x >= 0 && x < int64(k.classes) {
			copy(out[0][(r*k.classes+int(x))*len(k.one):], k.one)
		}
	}
	return nil
}

// along is the geometry of TakeAlong and AddAlong: an array with n elements along the axis, and one of the index's shape.
type along struct {
	index           tensor.Spec
	outer, k, inner int
	n               int
}

func newAlong(index tensor.Spec, axis int8, n int) along {
	outer, k, inner := around(index.Shape, axis)
	return along{index, outer, k, inner, n}
}

// each calls f for each element i of the index with the element j of the other array.
func (a *along) each(index []byte, f func(i, j int)) error {
	idx := tensorOf(a.index, index)
	for r := range a.outer {
		for p := range a.k * a.inner {
			i := r*a.k*a.inner + p
			x := idx.Int(i)
			if err := ops.CheckIndex(x, a.n); err != nil {
				return err
			}
			f(i, (r*a.n+int(x))*a.inner+p%a.inner)
		}
	}
	return nil
}

// takeAlong emits elements by index.
func (c *compiler) takeAlong(i int) error {
	n := &c.g.Nodes[i]
	axis := n.Op.(ops.TakeAlongOp).Axis
	a := newAlong(n.Args[1], axis, n.Args[0].Shape.Dim(int(axis)))
	var k kernel
	switch n.Out[0].DType.Size() {
	case 1:
		k = &takeKernel[uint8]{a}
	case 2:
		k = &takeKernel[uint16]{a}
	case 4:
		k = &takeKernel[uint32]{a}
	default:
		k = &takeKernel[uint64]{a}
	}
	return c.simple(i, "take along", k)
}

// putAlong emits a copy with elements by index.
func (c *compiler) putAlong(i int) error {
	n := &c.g.Nodes[i]
	axis := n.Op.(ops.PutAlongOp).Axis
	a := newAlong(n.Args[1], axis, n.Args[0].Shape.Dim(int(axis)))
	var k kernel
	switch n.Out[0].DType.Size() {
	case 1:
		k = &putKernel[uint8]{a}
	case 2:
		k = &putKernel[uint16]{a}
	case 4:
		k = &putKernel[uint32]{a}
	default:
		k = &putKernel[uint64]{a}
	}
	return c.simple(i, "put along", k)
}

type putKernel[T any] struct{ along }

func (k *putKernel[T]) Run(pool *work.Pool, in, out [][]byte) error {
	copy(out[0], in[0])
	src, y := bytesOf[T](in[2]), bytesOf[T](out[0])
	return k.each(in[1], func(i, j int) { y[j] = src[i] })
}

type takeKernel[T any] struct{ along }

func (k *takeKernel[T]) Run(pool *work.Pool, in, out [][]byte) error {
	x, y := bytesOf[T](in[0]), bytesOf[T](out[0])
	return k.each(in[1], func(i, j int) { y[i] = x[j] })
}

// addAlong emits the sums of elements by index. They are added in float64, or for integers in int64, and rounded once.
func (c *compiler) addAlong(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.AddAlongOp)
	k := &addKernel{along: newAlong(n.Args[1], o.Axis, o.Size), d: n.Out[0].DType}
	if k.d.Float() {
		k.floats = make([]float64, n.Out[0].Shape.Size())
	} else {
		k.ints = make([]int64, n.Out[0].Shape.Size())
	}
	return c.simple(i, "add along", k)
}

type addKernel struct {
	along
	d      tensor.DType
	floats []float64
	ints   []int64
}

func (k *addKernel) Run(pool *work.Pool, in, out [][]byte) error {
	dy := tensorOf(tensor.Spec{DType: k.d, Shape: k.index.Shape}, in[0])
	y := tensorOf(tensor.SpecOf(k.d, max(len(k.floats), len(k.ints))), out[0])
	clear(k.floats)
	clear(k.ints)
	if k.d.Float() {
		err := k.each(in[1], func(i, j int) { k.floats[j] += dy.At(i) })
		for j, x := range k.floats {
			y.Set(j, x)
		}
		return err
	}
	err := k.each(in[1], func(i, j int) { k.ints[j] += dy.Int(i) })
	for j, x := range k.ints {
		switch k.d { // integers wrap around
		case tensor.I32:
			x = int64(int32(x))
		case tensor.U8:
			x = int64(uint8(x))
		}
		y.SetInt(j, x)
	}
	return err
}
