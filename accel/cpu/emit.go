package cpu

import (
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/accel/cpu/internal/vec"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// emitter is what compiles a node, or why nothing does. It is the one switch behind Supports and Compile.
func (d *Device) emitter(n *accel.Node) (emitFunc, error) {
	if len(n.Args) != len(n.In) {
		return nil, fmt.Errorf("cpu: %s has %d inputs and the specs of %d", n.Op.Name(), len(n.In), len(n.Args))
	}
	if n.Ref {
		return (*compiler).reference, nil
	}
	if elementwise(n.Op) {
		return (*compiler).join, nil
	}
	if f := kernelOf(n); f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("cpu: %s: %w: there is no kernel for this operation", n.Op.Name(), accel.ErrUnsupported)
}

// kernelOf is the emitter of a node that is not elementwise, nil if there is none.
func kernelOf(n *accel.Node) emitFunc {
	switch o := n.Op.(type) {
	case ops.FillOp:
		return (*compiler).constantNode
	case ops.IotaOp:
		return (*compiler).iota
	case ops.ReshapeOp:
		return (*compiler).reshape
	case ops.BarrierOp:
		return (*compiler).barrier
	case ops.MatMulOp:
		return (*compiler).matmul
	case ops.Conv2DOp:
		if sparse(o) {
			return byType(n, (*compiler).plainForward, (*compiler).plainForward)
		}
		return byType(n, (*compiler).conv, (*compiler).plainForward)
	case ops.Conv2DInputGradOp:
		if sparse(o.Conv()) {
			return byType(n, (*compiler).plainInputGrad, (*compiler).plainInputGrad)
		}
		return byType(n, (*compiler).convInputGrad, (*compiler).plainInputGrad)
	case ops.Conv2DWeightGradOp:
		if sparse(o.Conv()) {
			return byType(n, (*compiler).plainWeightGrad, (*compiler).plainWeightGrad)
		}
		return byType(n, (*compiler).convWeightGrad, (*compiler).plainWeightGrad)
	case ops.MaxPool2DOp:
		if o.Size[0]*o.Size[1] > conv.MaxTaps {
			return byType(n, (*compiler).wideMaxPool, (*compiler).maxPool64)
		}
		return byType(n, (*compiler).maxPool, (*compiler).maxPool64)
	case ops.MaxPool2DGradOp:
		return byType(n, (*compiler).maxPoolGrad, (*compiler).maxPoolGradByIndex)
	case ops.MaxPool2DGatherOp:
		return (*compiler).maxPoolGather
	case ops.AvgPool2DOp:
		return byType(n, (*compiler).avgPool, (*compiler).avgPool64)
	case ops.AvgPool2DGradOp:
		return byType(n, (*compiler).avgPoolGrad, (*compiler).avgPoolGrad64)
	case ops.BatchNormOp:
		return byType(n, (*compiler).batchNorm, (*compiler).batchNorm64)
	case ops.BatchNormGradOp:
		return byType(n, (*compiler).batchNormGrad, (*compiler).batchNormGrad64)
	case ops.BatchNormInferOp:
		return byType(n, (*compiler).batchNormInfer, (*compiler).batchNormInfer64)
	case ops.ReduceOp:
		return (*compiler).reduce
	case ops.CumsumOp:
		return (*compiler).cumsum
	case ops.StandardizeOp:
		return (*compiler).standardize
	case ops.StandardizeGradOp:
		return (*compiler).standardizeGrad
	case ops.SoftmaxOp:
		return func(c *compiler, i int) error { return c.softmax(i, o.Axis, vec.Softmax) }
	case ops.SoftmaxGradOp:
		return func(c *compiler, i int) error { return c.softmax(i, o.Axis, vec.SoftmaxGrad) }
	case ops.TransposeOp:
		return (*compiler).transpose
	case ops.SliceOp:
		return (*compiler).slice
	case ops.SliceGradOp:
		return (*compiler).sliceGrad
	case ops.PadOp:
		return (*compiler).pad
	case ops.ConcatOp:
		return (*compiler).concat
	case ops.SplitOp:
		return (*compiler).split
	case ops.DynamicSliceOp:
		return (*compiler).dynamicSlice
	case ops.DynamicSliceGradOp:
		return (*compiler).dynamicSliceGrad
	case ops.GatherOp:
		return (*compiler).gather
	case ops.ScatterAddOp:
		return (*compiler).scatterAdd
	case ops.TakeAlongOp:
		return (*compiler).takeAlong
	case ops.AddAlongOp:
		return (*compiler).addAlong
	case ops.PutAlongOp:
		return (*compiler).putAlong
	case ops.ResizeOp:
		return (*compiler).resize
	case ops.ResizeGradOp:
		return (*compiler).resizeGrad
	case ops.ArgMaxOp:
		return (*compiler).argMax
	case ops.TopKOp:
		if o.Smallest {
			return (*compiler).bottomK
		}
		return (*compiler).topK
	case ops.OneHotOp:
		return (*compiler).oneHot
	case ops.CrossEntropyOp:
		return (*compiler).crossEntropy
	case ops.CrossEntropyGradOp:
		return (*compiler).crossEntropyGrad
	}
	return nil
}

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
