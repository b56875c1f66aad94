package cpu

import (
	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu/internal/vec"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var binaryOps = map[ops.BinaryFunc]vec.Op{
	ops.Add: vec.Add, ops.Sub: vec.Sub, ops.Mul: vec.Mul, ops.Div: vec.Div, ops.Maximum: vec.Max, ops.Minimum: vec.Min,
	ops.FloorDiv: vec.FloorDiv, ops.Rem: vec.Rem, ops.Pow: vec.Pow,
}

var unaryOps = map[ops.UnaryFunc]vec.Op{
	ops.Neg: vec.Neg, ops.Exp: vec.Exp, ops.Log: vec.Log, ops.Tanh: vec.Tanh, ops.Sigmoid: vec.Sigmoid, ops.ReLU: vec.ReLU, ops.Sqrt: vec.Sqrt, ops.Rsqrt: vec.Rsqrt,
	ops.Abs: vec.Abs, ops.Sign: vec.Sign, ops.Expm1: vec.Expm1, ops.Log1p: vec.Log1p, ops.Sin: vec.Sin, ops.Cos: vec.Cos, ops.Erf: vec.Erf,
	ops.Floor: vec.Floor, ops.Ceil: vec.Ceil, ops.Trunc: vec.Trunc, ops.Round: vec.Round, ops.Softplus: vec.Softplus,
	ops.SiLU: vec.SiLU, ops.SiLUGrad: vec.SiLUGrad, ops.GELU: vec.GELU, ops.GELUGrad: vec.GELUGrad,
	ops.GELUTanh: vec.GELUTanh, ops.GELUTanhGrad: vec.GELUTanhGrad,
}

var compareOps = map[ops.CompareFunc]vec.Op{
	ops.Less: vec.Lt, ops.LessEqual: vec.Le, ops.Greater: vec.Gt, ops.GreaterEqual: vec.Ge, ops.Equal: vec.Eq, ops.NotEqual: vec.Ne,
}

// Each instruction computes 16-bit floats in float32, and rounds after every node.
var (
	_ = elementwise(func(w *chainWriter, o ops.BinaryOp, n *accel.Node) vec.Reg { return w.op(n, binaryOps[o.F]) })
	_ = elementwise(func(w *chainWriter, o ops.UnaryOp, n *accel.Node) vec.Reg {
		if o.F == ops.Identity {
			return w.reg(n.In[0])
		}
		return w.op(n, unaryOps[o.F])
	})
	_ = elementwise(func(w *chainWriter, _ ops.ReLUGradOp, n *accel.Node) vec.Reg { return w.op(n, vec.ReLUGrad) })
	_ = elementwise(func(w *chainWriter, o ops.ScaleOp, n *accel.Node) vec.Reg {
		d := n.Out[0].DType
		return w.round(d, w.p.Op(vec.Mul, w.float(n.In[0]), w.constant(computed(d), o.By)))
	})
	_ = elementwise(func(w *chainWriter, o ops.ShiftOp, n *accel.Node) vec.Reg {
		d := n.Out[0].DType
		return w.round(d, w.p.Op(vec.Add, w.float(n.In[0]), w.constant(computed(d), o.By)))
	})
	_ = elementwise(func(w *chainWriter, o ops.ClipOp, n *accel.Node) vec.Reg {
		d := n.Out[0].DType
		lo, hi := w.constant(computed(d), stored(d, o.Lo)), w.constant(computed(d), stored(d, o.Hi))
		return w.round(d, w.p.Op(vec.Min, w.p.Op(vec.Max, w.float(n.In[0]), lo), hi))
	})
	_ = elementwise(func(w *chainWriter, o ops.CompareOp, n *accel.Node) vec.Reg {
		return w.p.Op(compareOps[o.F], w.float(n.In[0]), w.float(n.In[1]))
	})
	_ = elementwise(func(w *chainWriter, _ ops.WhereOp, n *accel.Node) vec.Reg {
		return w.p.Op(vec.Where, w.reg(n.In[0]), w.reg(n.In[1]), w.reg(n.In[2]))
	})
	_ = elementwise(func(w *chainWriter, _ ops.CastOp, n *accel.Node) vec.Reg {
		return w.p.Cast(w.reg(n.In[0]), n.Out[0].DType)
	})
	_ = elementwise(func(w *chainWriter, _ ops.ExpandOp, n *accel.Node) vec.Reg { return w.reg(n.In[0]) })
	_ = elementwise(func(w *chainWriter, _ ops.StopGradientOp, n *accel.Node) vec.Reg { return w.reg(n.In[0]) })
	_ = random(func(w *chainWriter, o ops.DropoutOp, n *accel.Node) vec.Reg {
		seed := w.seed[n.In[1]]
		i := vec.Instr{Op: vec.Dropout, Args: [3]vec.Reg{w.float(n.In[0]), seed[0], seed[1]}, Imm: o.P.Float(), Stream: o.Stream}
		return w.round(n.Out[0].DType, w.p.Do(i))
	})
	_ = random(func(w *chainWriter, o ops.UniformOp, n *accel.Node) vec.Reg {
		u := w.draw(vec.Uniform, n.In[0], o.Stream)
		return w.affine(n.Out[0].DType, u, o.Hi.Float()-o.Lo.Float(), o.Lo.Float())
	})
	_ = random(func(w *chainWriter, o ops.NormalOp, n *accel.Node) vec.Reg {
		z := w.draw(vec.Normal, n.In[0], o.Stream)
		return w.affine(n.Out[0].DType, z, o.Std.Float(), o.Mean.Float())
	})
)

// draw is random numbers in float32.
func (w *chainWriter) draw(op vec.Op, rng ops.Edge, stream uint64) vec.Reg {
	seed := w.seed[rng]
	return w.p.Do(vec.Instr{Op: op, Args: [3]vec.Reg{seed[0], seed[1]}, Stream: stream})
}

// affine is x*by + shift in the type that d is computed in, then d.
func (w *chainWriter) affine(d tensor.DType, x vec.Reg, by, shift float64) vec.Reg {
	c := computed(d)
	if c != tensor.F32 {
		x = w.p.Cast(x, c)
	}
	x = w.p.Op(vec.Mul, x, w.constant(c, ops.F(by)))
	return w.round(d, w.p.Op(vec.Add, x, w.constant(c, ops.F(shift))))
}

// op writes a node whose operands and result have one type.
func (w *chainWriter) op(n *accel.Node, op vec.Op) vec.Reg {
	var args [3]vec.Reg
	for i, e := range n.In {
		args[i] = w.float(e)
	}
	return w.round(n.Out[0].DType, w.p.Op(op, args[:len(n.In)]...))
}

// half reports whether a type is storage only.
func half(d tensor.DType) bool { return d == tensor.BF16 || d == tensor.F16 }

// computed is the type in which d is computed.
func computed(d tensor.DType) tensor.DType {
	if half(d) {
		return tensor.F32
	}
	return d
}

// stored is a number as a d holds it.
func stored(d tensor.DType, x ops.Bits) ops.Bits {
	if !half(d) {
		return x
	}
	return ops.F(tensor.Full(tensor.Spec{DType: d}, x.Float()).At(0))
}

// round is x as a d.
func (w *chainWriter) round(d tensor.DType, x vec.Reg) vec.Reg {
	if !half(d) {
		return x
	}
	r := w.p.Cast(x, d)
	w.floats[r] = w.p.Cast(r, tensor.F32)
	return r
}

// reg is the register of a value.
func (w *chainWriter) reg(e ops.Edge) vec.Reg {
	if f, ok := w.c.consts[e]; ok {
		return w.constant(f.Spec.DType, f.X)
	}
	return w.regs[e]
}

// float is the register of a value in the type in which it is computed.
func (w *chainWriter) float(e ops.Edge) vec.Reg {
	r := w.reg(e)
	if !half(w.c.spec(e).DType) {
		return r
	}
	f, ok := w.floats[r]
	if !ok {
		f = w.p.Cast(r, tensor.F32)
		w.floats[r] = f
	}
	return f
}

// constant is the register of a number.
func (w *chainWriter) constant(d tensor.DType, x ops.Bits) vec.Reg {
	k := constant{d, x}
	r, ok := w.consts[k]
	if !ok {
		t := tensor.Full(tensor.Spec{DType: d}, x.Float())
		i := vec.Instr{Op: vec.Const, DType: d, Imm: t.At(0)}
		if !d.Float() {
			i.Int = t.Int(0)
		}
		r = w.p.Do(i)
		w.consts[k] = r
	}
	return r
}
