package cpu

import (
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/gemm"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var _ = kernelOf[ops.MatMulOp]((*compiler).matmul)

// matmul emits a product, with the bias and the ReLU that follow it where nobody else reads what lies between.
func (c *compiler) matmul(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.MatMulOp)
	spec := n.Out[0]
	if spec.Shape.Size() == 0 {
		c.consts[out(i, 0)] = ops.FillOp{Spec: spec}
		return nil
	}
	s := product(o, n.Args[0].Shape, n.Args[1].Shape, spec.Shape)
	nodes, last := []int{i}, ops.Edge{Node: uint32(i)}
	var bias *value
	if !half(spec.DType) { // a 16-bit product is rounded before the bias is added
		if add, x, ok := c.biasAfter(last, func(b tensor.Shape) bool { return rowBias(b, spec.Shape) }); ok {
			v, err := c.need(x)
			if err != nil {
				return err
			}
			bias, s.Bias = v, true
			nodes, last = append(nodes, add), ops.Edge{Node: uint32(add)}
		}
		if relu, ok := c.reluAfter(last); ok {
			s.ReLU = true
			nodes, last = append(nodes, relu), ops.Edge{Node: uint32(relu)}
		}
	}
	in, err := views(c.needFloat, n.In...)
	if err != nil {
		return err
	}
	if bias != nil {
		in = append(in, whole(bias))
	}
	for _, f := range nodes {
		c.fused[f] = true
	}
	var k kernel
	name := "gemm f32 "
	var scratch int
	if spec.DType == tensor.F64 {
		p, err := gemm.NewPlan[float64](c.d.level, s)
		if err != nil {
			return err
		}
		name, scratch, k = "gemm f64 ", 8*p.Scratch(c.d.pool.Threads()), product64{p}
	} else {
		p, err := gemm.NewPlan[float32](c.d.level, s)
		if err != nil {
			return err
		}
		scratch, k = 4*p.Scratch(c.d.pool.Threads()), product32{p}
	}
	y, done := c.makeFloat(last)
	c.emit(name+c.d.level.String(), k, nodes, in, []view{whole(y), whole(c.scratch(scratch))})
	return done()
}

// product is the shape of a matmul. Leading axes that the right operand repeats join the rows of the left one: one large product is faster
// than many small ones.
func product(o ops.MatMulOp, a, b, y tensor.Shape) gemm.Shape {
	s := gemm.Shape{M: y.Dim(-2), N: y.Dim(-1), K: a.Dim(-1), TransA: o.TransA, TransB: o.TransB}
	if o.TransA {
		s.K = a.Dim(-2)
	}
	if y.Size() == 0 { // nothing to compute, in however many matrices
		s.M = 0
		return s
	}
	if b.Rank() == 2 && !o.TransA && a.Size() > 0 {
		s.M = a.Size() / max(s.K, 1)
		return s
	}
	lead := tensor.Of(y.Dims()[:y.Rank()-2]...)
	stride := func(x tensor.Shape) [tensor.MaxRank]int {
		st := tensor.BroadcastStrides(tensor.Of(x.Dims()[:x.Rank()-2]...), lead)
		for i := range st {
			st[i] *= x.Dim(-1) * x.Dim(-2)
		}
		return st
	}
	sa, sb, sy := stride(a), stride(b), stride(y)
	for i := range lead.Rank() {
		if lead.Dim(i) != 1 {
			s.Batch = append(s.Batch, gemm.Batch{N: lead.Dim(i), A: sa[i], B: sb[i], C: sy[i]})
		}
	}
	return s
}

// rowBias reports whether b adds one number to each column of y.
func rowBias(b, y tensor.Shape) bool { return b.Size() == y.Dim(-1) && b.Dim(-1) == y.Dim(-1) }

type product32 struct{ *gemm.Plan[float32] }

func (k product32) Run(pool *work.Pool, in, out [][]byte) error {
	var bias []float32
	if k.Bias {
		bias = floats(in[2])
	}
	k.Plan.Run(pool, floats(out[1]), floats(in[0]), floats(in[1]), bias, floats(out[0]))
	return nil
}

type product64 struct{ *gemm.Plan[float64] }

func (k product64) Run(pool *work.Pool, in, out [][]byte) error {
	var bias []float64
	if k.Bias {
		bias = doubles(in[2])
	}
	k.Plan.Run(pool, doubles(out[1]), doubles(in[0]), doubles(in[1]), bias, doubles(out[0]))
	return nil
}

// doubles is memory as float64.
func doubles(b []byte) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}
