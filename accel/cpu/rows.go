package cpu

import (
	"math"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/accel/cpu/internal/vec"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	_ = kernelOf[ops.ReduceOp]((*compiler).reduce)
	_ = kernelOf[ops.CrossEntropyOp]((*compiler).crossEntropy)
	_ = kernelOf[ops.CrossEntropyGradOp]((*compiler).crossEntropyGrad)
)

var _ = kernelBy(func(o ops.SoftmaxOp, _ *accel.Node) emitFunc {
	return func(c *compiler, i int) error { return c.softmax(i, o.Axis, vec.Softmax) }
})

var _ = kernelBy(func(o ops.SoftmaxGradOp, _ *accel.Node) emitFunc {
	return func(c *compiler, i int) error { return c.softmax(i, o.Axis, vec.SoftmaxGrad) }
})

// noLabel is a label that no sample has: all count.
const noLabel = math.MinInt64

var reductions = map[ops.ReduceFunc]vec.Reduction{ops.SumOf: vec.ReduceSum, ops.MeanOf: vec.ReduceMean, ops.MaxOf: vec.ReduceMax, ops.MinOf: vec.ReduceMin}

// reduce emits a reduction; the sum over images and pixels of blocked images, the gradient of a bias, stays in that form.
func (c *compiler) reduce(i int) error {
	n := &c.g.Nodes[i]
	o, shape := n.Op.(ops.ReduceOp), n.Args[0].Shape
	if e := n.In[0]; o.F == ops.SumOf && c.blocked[e] != nil && c.plain[e] == nil && o.Axes == 1<<shape.Rank()-1-2 {
		g, err := conv.NewGradient(c.d.level, images(shape))
		if err != nil {
			return err
		}
		c.emit("bias gradient "+c.d.level.String(), biasGradKernel{g}, []int{i}, []view{whole(c.blocked[e])}, []view{whole(c.make(out(i, 0)))})
		return nil
	}
	k, err := vec.NewReduce(c.d.level, reductions[o.F], computed(n.Args[0].DType), shape, o.Axes)
	if err != nil {
		return err
	}
	return c.simpleFloat(i, reductions[o.F].String()+" "+c.d.level.String(), k)
}

type biasGradKernel struct{ *conv.Gradient }

func (k biasGradKernel) Run(pool *work.Pool, in, out [][]byte) error {
	k.Bias(pool, floats(out[0]), floats(in[0]), nil)
	return nil
}

// lastAxis reports whether an axis is the last, and splits the shape before it.
func lastAxis(s tensor.Shape, axis int8) (rows, n int, last bool) {
	rows, n, _ = around(s, axis)
	return rows, n, int(axis) == s.Rank()-1
}

// softmax emits softmax or its gradient. Another axis than the last is moved there and back.
func (c *compiler) softmax(i int, axis int8, op vec.RowOp) error {
	n := &c.g.Nodes[i]
	s, d := n.Out[0].Shape, computed(n.Out[0].DType)
	outer, size, inner := around(s, axis)
	k, err := vec.NewRows(c.d.level, op, d, outer*inner, size)
	if err != nil {
		return err
	}
	name := op.String() + " " + c.d.level.String()
	if inner == 1 || s.Size() == 0 {
		return c.simpleFloat(i, name, k)
	}
	rows, cols := tensor.Of(outer, inner, size), vec.Layout{Size: s.Size()}
	cols.Strides[0], cols.Strides[1], cols.Strides[2] = size*inner, 1, inner
	in := make([]view, len(n.In))
	for x, e := range n.In {
		v, err := c.needFloat(e)
		if err != nil {
			return err
		}
		t := c.scratch(s.Size() * d.Size())
		if err := c.move(i, d, rows, t, vec.Dense(rows), v, cols); err != nil {
			return err
		}
		in[x] = whole(t)
	}
	t := c.scratch(s.Size() * d.Size())
	c.emit(name, k, []int{i}, in, []view{whole(t)})
	y, done := c.makeFloat(out(i, 0))
	if err := c.move(i, d, rows, y, cols, t, vec.Dense(rows)); err != nil {
		return err
	}
	return done()
}

// crossEntropy emits the loss of each row, and their mean.
func (c *compiler) crossEntropy(i int) error {
	n := &c.g.Nodes[i]
	d, shape := computed(n.Args[0].DType), n.Args[0].Shape
	rows, cols, _ := lastAxis(shape, int8(shape.Rank()-1))
	if rows == 0 { // no loss at all has no mean
		c.consts[out(i, 0)] = ops.FillOp{Spec: n.Out[0], X: ops.F(math.NaN())}
		c.consts[out(i, 1)] = ops.FillOp{Spec: n.Out[1]}
		return nil
	}
	if cols == 0 {
		return c.simple(i, "cross-entropy of no class", noClass{n.Args[1]})
	}
	k, err := vec.NewCrossEntropy(c.d.level, d, n.Args[1].DType, rows, cols, noLabel)
	if err != nil {
		return err
	}
	mean, err := vec.NewReduce(c.d.level, vec.ReduceMean, d, tensor.Of(rows), 1)
	if err != nil {
		return err
	}
	in, err := views(c.needFloat, n.In...)
	if err != nil {
		return err
	}
	losses := c.scratch(rows * d.Size())
	lse, done := c.scratch(rows*d.Size()), func() error { return nil }
	if c.used(out(i, 1)) {
		lse, done = c.makeFloat(out(i, 1))
	}
	c.emit("cross-entropy "+c.d.level.String(), k, []int{i}, in, []view{whole(losses), whole(lse)})
	if err := done(); err != nil || !c.used(out(i, 0)) {
		return err
	}
	loss, done := c.makeFloat(out(i, 0))
	c.emit("mean "+c.d.level.String(), mean, []int{i}, []view{whole(losses)}, []view{whole(loss)})
	return done()
}

// noClass refuses the first label: there is no class.
type noClass struct{ labels tensor.Spec }

func (k noClass) Run(pool *work.Pool, in, out [][]byte) error {
	return ops.CheckIndex(tensorOf(k.labels, in[1]).Int(0), 0)
}

// crossEntropyGrad emits exp(logits - lse) times the weight of a row, and then what the labels change.
func (c *compiler) crossEntropyGrad(i int) error {
	n := &c.g.Nodes[i]
	d, shape := computed(n.Args[0].DType), n.Args[0].Shape
	in, err := views(c.needFloat, n.In...)
	if err != nil {
		return err
	}
	rows, cols, _ := lastAxis(shape, int8(shape.Rank()-1))
	p := vec.Program{Shape: tensor.Of(rows, cols)}
	x, lse, weight := p.Input(d, p.Shape), p.Input(d, tensor.Of(rows, 1)), p.Input(d, tensor.Shape{})
	p.Outputs = []vec.Reg{p.Op(vec.Mul, p.Op(vec.Exp, p.Op(vec.Sub, x, lse)), weight)}
	chain, err := vec.Compile(c.d.level, &p)
	if err != nil {
		return err
	}
	dx, done := c.makeFloat(out(i, 0))
	c.emit("chain", chain, []int{i}, []view{in[0], in[2], in[3]}, []view{whole(dx)})
	labels := labelKernel{d: d, labels: n.Args[1], cols: cols}
	c.emit("cross-entropy gradient at labels", labels, []int{i}, append(in, whole(dx)), []view{whole(dx)})
	return done()
}

// labelKernel writes (exp(logits - lse) - 1) times the weight where the label is. It is no more than one number a row.
type labelKernel struct {
	d      tensor.DType
	labels tensor.Spec
	cols   int
}

func (k labelKernel) Run(pool *work.Pool, in, out [][]byte) error {
	labels := tensorOf(k.labels, in[1])
	if k.d == tensor.F64 {
		atLabels[float64](labels, k.cols, in, out[0])
	} else {
		atLabels[float32](labels, k.cols, in, out[0])
	}
	return nil
}

func atLabels[T float](labels tensor.Tensor, cols int, in [][]byte, out []byte) {
	x, lse, weight, dx := of[T](in[0]), of[T](in[2]), float64(of[T](in[3])[0]), of[T](out)
	for r := range labels.Len() {
		if l := labels.Int(r); l >= 0 && l < int64(cols) { // the forward node has refused others
			at := r*cols + int(l)
			dx[at] = T((math.Exp(float64(x[at])-float64(lse[r])) - 1) * weight)
		}
	}
}
