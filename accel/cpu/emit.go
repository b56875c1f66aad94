package cpu

import (
	"errors"

	"github.com/cortado-ml/cortado/accel/cpu/internal/vec"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	_ = kernelOf[ops.FillOp]((*compiler).constantNode)
	_ = kernelOf[ops.IotaOp]((*compiler).iota)
)

// constantNode remembers a constant; it costs memory only where a kernel wants it there.
func (c *compiler) constantNode(i int) error {
	c.consts[ops.Edge{Node: uint32(i)}] = c.g.Nodes[i].Op.(ops.FillOp)
	return nil
}

// fill writes a constant to memory.
func (c *compiler) fill(node int, v *value, f ops.FillOp) error {
	pattern := tensor.Full(tensor.Spec{DType: f.Spec.DType}, f.X.Float()).Bytes()
	c.emit("fill", fillKernel{pattern}, []int{node}, nil, []view{whole(v)})
	return nil
}

// fillKernel repeats a pattern.
type fillKernel struct{ pattern []byte }

func (k fillKernel) Run(pool *work.Pool, in, out [][]byte) error {
	b := out[0]
	for n := copy(b, k.pattern); n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
	return nil
}

// iota emits a constant that is made when the program is compiled.
func (c *compiler) iota(i int) error {
	n := &c.g.Nodes[i]
	t := tensor.New(n.Out[0])
	if err := n.Op.Ref([]tensor.Tensor{t}, nil); err != nil {
		return err
	}
	return c.simple(i, "iota", fillKernel{t.Bytes()})
}

// reference runs a node by its meaning.
func (c *compiler) reference(i int) error {
	n := &c.g.Nodes[i]
	return c.simple(i, "reference "+n.Op.Name(), &reference{op: n.Op, args: n.Args, outs: n.Out})
}

type reference struct {
	op         ops.Op
	args, outs []tensor.Spec
}

func (k *reference) Run(pool *work.Pool, in, out [][]byte) error {
	x, y := make([]tensor.Tensor, len(in)), make([]tensor.Tensor, len(out))
	for i, s := range k.args {
		x[i] = tensorOf(s, in[i])
	}
	for i, s := range k.outs {
		if out[i] != nil {
			y[i] = tensorOf(s, out[i])
		}
	}
	return k.op.Ref(y, x)
}

// explain turns a kernel's error about the data into the engine's.
func explain(err error) error {
	var bad *vec.IndexError
	if errors.As(err, &bad) {
		return &ops.IndexError{Index: bad.Index, Limit: bad.Limit}
	}
	return err
}
