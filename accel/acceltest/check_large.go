package acceltest

import (
	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// large runs operations on arrays that a driver blocks and shares among workers, of sizes that no block or vector divides. The samples
// are too small for that.
func (s *suite) large() {
	d := s.device()
	stride, pad := [2]int{1, 1}, [4]int{1, 1, 1, 1}
	image, weight, small := f32(2, 17, 9, 11), f32(35, 17, 3, 3), f32(2, 35, 5, 6)
	stride2 := [2]int{2, 2}
	for _, c := range []struct {
		op ops.Op
		in []tensor.Spec
	}{
		{ops.UnaryOp{F: ops.Exp}, []tensor.Spec{f32(40007)}},
		{ops.BinaryOp{F: ops.Add}, []tensor.Spec{f32(131, 307), f32(307)}},
		{ops.BinaryOp{F: ops.Mul}, []tensor.Spec{f32(131, 307), f32(131, 1)}},
		{ops.ReduceOp{F: ops.SumOf, Axes: 1}, []tensor.Spec{f32(307, 131)}},
		{ops.ReduceOp{F: ops.MaxOf, Axes: 2}, []tensor.Spec{f32(131, 307)}},
		{ops.ReduceOp{F: ops.MeanOf, Axes: 5}, []tensor.Spec{f32(19, 31, 67)}},
		{ops.SoftmaxOp{Axis: 1}, []tensor.Spec{f32(131, 307)}},
		{ops.TransposeOp{Perm: [8]uint8{2, 0, 1}}, []tensor.Spec{f32(19, 31, 67)}},
		{ops.MatMulOp{}, []tensor.Spec{f32(131, 67), f32(67, 49)}},
		{ops.MatMulOp{TransA: true}, []tensor.Spec{f32(67, 131), f32(67, 49)}},
		{ops.MatMulOp{TransB: true}, []tensor.Spec{tensor.SpecOf(tensor.F64, 131, 37), tensor.SpecOf(tensor.F64, 49, 37)}},
		{ops.MatMulOp{}, []tensor.Spec{f32(1, 307), f32(307, 211)}},
		{ops.MatMulOp{TransA: true, TransB: true}, []tensor.Spec{f32(5, 31, 37), f32(5, 29, 31)}},
		{ops.Conv2DOp{Stride: stride, Pad: pad}, []tensor.Spec{image, weight}},
		{ops.Conv2DOp{Stride: stride2, Pad: pad}, []tensor.Spec{image, weight}},
		{ops.Conv2DInputGradOp{Stride: stride2, Pad: pad, H: 9, W: 11}, []tensor.Spec{small, weight}},
		{ops.Conv2DWeightGradOp{Stride: stride2, Pad: pad, KH: 3, KW: 3}, []tensor.Spec{image, small}},
		{ops.MaxPool2DOp{Size: [2]int{2, 2}, Stride: [2]int{2, 2}}, []tensor.Spec{f32(2, 35, 9, 11)}},
		{ops.AvgPool2DOp{Size: [2]int{3, 3}, Stride: [2]int{2, 2}}, []tensor.Spec{f32(2, 35, 9, 11)}},
		{ops.BatchNormOp{Eps: ops.F(1e-5)}, []tensor.Spec{image, f32(17), f32(17)}},
	} {
		s.many(d, c.op, c.in)
	}
}

// many runs one operation on distinct numbers, into stale memory, and once more for the same bits.
func (s *suite) many(d accel.Device, op ops.Op, in []tensor.Spec) {
	s.Helper()
	var args []tensor.Tensor
	for i, spec := range in {
		args = append(args, ramp(i, spec))
	}
	out, err := op.Infer(in)
	s.noError(op.Name(), err)
	var all []int
	for o := range out {
		all = append(all, o)
	}
	g := single(op, in, out, all...)
	if d.Supports(&g.Nodes[g.Params]) != nil {
		return // the check of the values lists it
	}
	want, tolerance, err := meaning(ops.Sample{Op: op, ULP: 64}, args, out)
	s.noError(op.Name(), err)
	for o, got := range s.twice(d, g, args) {
		if why := differ(got, want[o], tolerance[o]); why != "" {
			s.Errorf("output %d: %s%s", o, why, text(g))
		}
	}
}
