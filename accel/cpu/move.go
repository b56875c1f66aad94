package cpu

import (
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/vec"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	_ = kernelOf[ops.TransposeOp]((*compiler).transpose)
	_ = kernelOf[ops.SliceOp]((*compiler).slice)
	_ = kernelOf[ops.SliceGradOp]((*compiler).sliceGrad)
	_ = kernelOf[ops.PadOp]((*compiler).pad)
	_ = kernelOf[ops.ConcatOp]((*compiler).concat)
	_ = kernelOf[ops.SplitOp]((*compiler).split)
	_ = kernelOf[ops.DynamicSliceOp]((*compiler).dynamicSlice)
	_ = kernelOf[ops.DynamicSliceGradOp]((*compiler).dynamicSliceGrad)
)

// Movement of data: every one of these is a copy from one layout to another.

// move emits a copy of an array of the shape, from layout src of the value from to layout dst of the value to.
func (c *compiler) move(i int, d tensor.DType, shape tensor.Shape, to *value, dst vec.Layout, from *value, src vec.Layout) error {
	k, err := vec.NewMove(c.d.level, d, shape, dst, src)
	if err != nil {
		return err
	}
	if shape.Size() > 0 {
		c.emit("move", k, []int{i}, []view{whole(from)}, []view{whole(to)})
	}
	return nil
}

// transpose emits a permutation of axes.
func (c *compiler) transpose(i int) error {
	n := &c.g.Nodes[i]
	o, x, y := n.Op.(ops.TransposeOp), n.Args[0].Shape, n.Out[0].Shape
	v, err := c.need(n.In[0])
	if err != nil {
		return err
	}
	src, own := vec.Layout{Size: x.Size()}, x.Strides()
	for a := range y.Rank() {
		src.Strides[a] = own[o.Perm[a]]
	}
	return c.move(i, n.Out[0].DType, y, c.make(out(i, 0)), vec.Dense(y), v, src)
}

// steps is the layout of every step-th element of an axis of x, from start on.
func steps(x tensor.Shape, axis, start, step int) vec.Layout {
	l := vec.Dense(x)
	l.Offset = start * l.Strides[axis]
	l.Strides[axis] *= step
	return l
}

// slice emits a slice.
func (c *compiler) slice(i int) error {
	n := &c.g.Nodes[i]
	o, y := n.Op.(ops.SliceOp), n.Out[0].Shape
	v, err := c.need(n.In[0])
	if err != nil {
		return err
	}
	return c.move(i, n.Out[0].DType, y, c.make(out(i, 0)), vec.Dense(y), v, steps(n.Args[0].Shape, int(o.Axis), o.Start, o.Step))
}

// sliceGrad emits zeros with dy among them.
func (c *compiler) sliceGrad(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.SliceGradOp)
	if done, err := c.addSlice(i, o); done || err != nil {
		return err
	}
	if o.Step == 1 {
		return c.framed(i, 0, int(o.Axis), o.Start)
	}
	v, err := c.need(n.In[0])
	if err != nil {
		return err
	}
	y := c.make(out(i, 0))
	if err := c.fill(i, y, ops.FillOp{Spec: n.Out[0]}); err != nil {
		return err
	}
	s := n.Args[0].Shape
	return c.move(i, n.Out[0].DType, s, y, steps(n.Out[0].Shape, int(o.Axis), o.Start, o.Step), v, vec.Dense(s))
}

// pad emits a number all around.
func (c *compiler) pad(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.PadOp)
	return c.framed(i, o.X, int(o.Axis), o.Lo)
}

// concat emits each input to its place.
func (c *compiler) concat(i int) error {
	n := &c.g.Nodes[i]
	axis, joint := int(n.Op.(ops.ConcatOp).Axis), n.Out[0].Shape
	y := c.make(out(i, 0))
	at := 0
	var in []view
	k := &joined{}
	for x, e := range n.In {
		v, err := c.need(e)
		if err != nil {
			return err
		}
		s := n.Args[x].Shape
		m, err := vec.NewMove(c.d.level, n.Out[0].DType, s, steps(joint, axis, at, 1), vec.Dense(s))
		if err != nil {
			return err
		}
		at += s.Dim(axis)
		if s.Size() > 0 {
			in, k.moves = append(in, whole(v)), append(k.moves, m)
		}
	}
	if joint.Size() > 0 {
		c.emit("concat", k, []int{i}, in, []view{whole(y)})
	}
	return nil
}

// joined moves each input into the one output.
type joined struct{ moves []vec.Step }

func (k *joined) Run(pool *work.Pool, in, out [][]byte) error {
	for i, m := range k.moves {
		if err := m.Run(pool, in[i:i+1], out); err != nil {
			return err
		}
	}
	return nil
}

// split emits the parts that somebody reads.
func (c *compiler) split(i int) error {
	n := &c.g.Nodes[i]
	axis, whole := int(n.Op.(ops.SplitOp).Axis), n.Args[0].Shape
	v, err := c.need(n.In[0])
	if err != nil {
		return err
	}
	for k, s := range n.Out {
		if !c.used(out(i, k)) {
			continue
		}
		src := steps(whole, axis, k*s.Shape.Dim(axis), 1)
		if err := c.move(i, s.DType, s.Shape, c.make(out(i, k)), vec.Dense(s.Shape), v, src); err != nil {
			return err
		}
	}
	return nil
}

// dynamicSlice emits a copy of a box whose corner is known when it runs.
func (c *compiler) dynamicSlice(i int) error {
	n := &c.g.Nodes[i]
	return c.simple(i, "dynamic slice", &boxKernel{whole: n.Args[0], box: n.Out[0].Shape, starts: n.Args[1]})
}

// dynamicSliceGrad emits zeros with dy in a box of them.
func (c *compiler) dynamicSliceGrad(i int) error {
	n := &c.g.Nodes[i]
	return c.simple(i, "dynamic slice gradient", &boxKernel{whole: n.Out[0], box: n.Args[0].Shape, starts: n.Args[1], back: true})
}

// boxKernel copies a box out of an array, or back into zeros.
type boxKernel struct {
	whole, starts tensor.Spec
	box           tensor.Shape
	back          bool
}

func (k *boxKernel) Run(pool *work.Pool, in, out [][]byte) error {
	starts, strides, size := tensorOf(k.starts, in[1]), k.whole.Shape.Strides(), k.whole.DType.Size()
	at := 0
	for a := range k.box.Rank() {
		x := starts.Int(a)
		if err := ops.CheckIndex(x, k.whole.Shape.Dim(a)-k.box.Dim(a)+1); err != nil {
			return err
		}
		at += int(x) * strides[a] * size
	}
	if k.back {
		clear(out[0])
	}
	run := k.box.Dim(-1) * size
	if k.box.Rank() == 0 {
		run = size
	}
	var pos [tensor.MaxRank]int
	for small := 0; small < k.box.Size()*size; small += run {
		large := at
		for a := range k.box.Rank() - 1 {
			large += pos[a] * strides[a] * size
		}
		if k.back {
			copy(out[0][large:large+run], in[0][small:])
		} else {
			copy(out[0][small:small+run], in[0][large:])
		}
		for a := k.box.Rank() - 2; a >= 0; a-- {
			if pos[a]++; pos[a] < k.box.Dim(a) {
				break
			}
			pos[a] = 0
		}
	}
	return nil
}

// bytesOf is memory as a slice of values of one size.
func bytesOf[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}
