package cpu

import (
	"slices"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// emitFunc emits a node.
type emitFunc func(c *compiler, i int) error

// imageKernel enters an operation on images: blocked serves float32 and 16-bit floats, plain64 float64.
func imageKernel[O ops.Op](blocked, plain64 emitFunc) struct{} {
	return kernelBy(func(_ O, n *accel.Node) emitFunc { return byType(n, blocked, plain64) })
}

// byType is the emitter of an operation on images: float32 runs blocked, and so do 16-bit floats, which are converted; float64 has plain
// loops.
func byType(n *accel.Node, blocked, plain64 emitFunc) emitFunc {
	run := blocked
	if n.Args[0].DType == tensor.F64 {
		run = plain64
	}
	return func(c *compiler, i int) error {
		if c.nothing(i) {
			return nil
		}
		return run(c, i)
	}
}

// nothing reports whether an operand or a result of a node is empty; its results are zeros, then, if they have any element.
func (c *compiler) nothing(i int) bool {
	n := &c.g.Nodes[i]
	empty := func(s tensor.Spec) bool { return s.Shape.Size() == 0 }
	if !slices.ContainsFunc(n.Args, empty) && !slices.ContainsFunc(n.Out, empty) {
		return false
	}
	for k, s := range n.Out {
		c.consts[out(i, k)] = ops.FillOp{Spec: s}
	}
	return true
}

// image is a value [n, c, ...] in blocked form, in float32.
func (c *compiler) image(e ops.Edge) (*value, error) {
	if !half(c.spec(e).DType) {
		return c.needBlocked(e)
	}
	f, err := c.needFloat(e)
	if err != nil {
		return nil, err
	}
	l, err := conv.NewLayout(c.d.level, images(c.spec(e).Shape))
	if err != nil {
		return nil, err
	}
	b := c.scratch(blockedBytes(c.spec(e).Shape))
	c.emit("to blocked", toBlocked{l}, []int{int(e.Node)}, []view{whole(f)}, []view{whole(b)})
	return b, nil
}

// makeImage is blocked memory in which a kernel makes e. done is called when the kernel is emitted: it rounds a 16-bit value, and brings it
// to plain memory.
func (c *compiler) makeImage(e ops.Edge) (v *value, done func() error) {
	spec := c.spec(e)
	if !half(spec.DType) {
		return c.makeBlocked(e), func() error { return nil }
	}
	b := c.scratch(blockedBytes(spec.Shape))
	return b, func() error {
		l, err := conv.NewLayout(c.d.level, images(spec.Shape))
		if err != nil {
			return err
		}
		f := c.scratch(4 * spec.Shape.Size())
		c.emit("to plain", toPlain{l}, []int{int(e.Node)}, []view{whole(b)}, []view{whole(f)})
		return c.convert(int(e.Node), f, c.make(e), spec.Shape, tensor.F32, spec.DType)
	}
}

// window is a window as package conv has it.
func window(size, stride [2]int, pad [4]int) conv.Window {
	return conv.Window{KH: size[0], KW: size[1], SH: stride[0], SW: stride[1], Top: pad[0], Bottom: pad[1], Left: pad[2], Right: pad[3], DH: 1, DW: 1}
}

// out is output k of a node.
func out(i, k int) ops.Edge { return ops.Edge{Node: uint32(i), Out: uint16(k)} }
