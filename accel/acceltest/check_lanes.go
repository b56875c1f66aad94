package acceltest

import (
	"math"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// maxLane covers several whole vectors of every width, and every tail.
const maxLane = 70

// lanes puts special values at each place of arrays of each length up to maxLane: a vector kernel and its tail must agree about NaN, the
// infinities and the sign of zero.
func (s *suite) lanes() {
	d := s.device()
	for n := 1; n <= maxLane; n++ {
		for _, dt := range []tensor.DType{tensor.F32, tensor.F64} {
			x, y := specials(n, dt)
			for f := ops.Identity; f <= ops.GELUTanhGrad; f++ {
				s.lane(d, ops.UnaryOp{F: f}, x)
			}
			for f := ops.Add; f <= ops.Pow; f++ {
				s.lane(d, ops.BinaryOp{F: f}, x, y)
			}
			s.lane(d, ops.ReLUGradOp{}, x, y)
			for f := ops.Less; f <= ops.NotEqual; f++ {
				s.lane(d, ops.CompareOp{F: f}, x, y)
			}
			rows, columns := oneNaN(n, dt)
			for f := ops.SumOf; f <= ops.MinOf; f++ {
				s.lane(d, ops.ReduceOp{F: f, Axes: 2}, rows)
				s.lane(d, ops.ReduceOp{F: f, Axes: 1}, columns)
			}
			s.lane(d, ops.ArgMaxOp{Axis: 1}, rows)
			s.lane(d, ops.SoftmaxOp{Axis: 1}, rows)
			s.lane(d, ops.SoftmaxOp{Axis: 0}, columns)
		}
		for _, from := range tensor.DTypes {
			x := extremes(n, from)
			for _, to := range tensor.DTypes {
				s.lane(d, ops.CastOp{To: to}, x)
			}
		}
	}
}

// extremes is an array of n numbers, among which those that types hold differently stand at other places for each n.
func extremes(n int, dt tensor.DType) tensor.Tensor {
	list := []float64{
		math.NaN(), math.Inf(1), math.Inf(-1), 3e9, -3e9, math.MaxInt32, math.MinInt32, 1 << 31, 9.3e18, -9.3e18, 300, -1, 255, 256,
		0.5, -0.5, -0.999, 1.5, 65504, 65520, 1e-8, 1e39, math.Copysign(0, -1), 16777217, 257, 4098, 2049,
	}
	x := ramp(n, tensor.SpecOf(dt, n))
	for i := range n {
		if i%2 == n%2 || n < 4 {
			x.Set(i, list[(i/2+n)%len(list)])
		}
	}
	return x
}

// specials are two arrays of n numbers, among which special values stand at other places for each n.
func specials(n int, dt tensor.DType) (x, y tensor.Tensor) {
	list := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 1, -1}
	x, y = ramp(n, tensor.SpecOf(dt, n)), ramp(n+1, tensor.SpecOf(dt, n))
	for k, v := range list {
		x.Set((n*k/len(list)+n/2)%n, v)
		y.Set((n*(len(list)-k)/len(list)+n/3)%n, v)
	}
	return x, y
}

// oneNaN is n+1 rows of n positive numbers, so that a sum does not cancel; in each row but the last, another one is NaN. columns is its
// transpose.
func oneNaN(n int, dt tensor.DType) (rows, columns tensor.Tensor) {
	rows, columns = ramp(n, tensor.SpecOf(dt, n+1, n)), tensor.New(tensor.SpecOf(dt, n, n+1))
	for i := range n + 1 {
		for j := range n {
			x := rows.At(i*n+j) + 1.5
			if i == j {
				x = math.NaN()
			}
			rows.Set(i*n+j, x)
			columns.Set(j*(n+1)+i, rows.At(i*n+j))
		}
	}
	return rows, columns
}

// lane runs one operation.
func (s *suite) lane(d accel.Device, op ops.Op, in ...tensor.Tensor) {
	s.Helper()
	out, err := op.Infer(specs(in))
	s.noError(op.Name(), err)
	g := single(op, specs(in), out, 0)
	if d.Supports(&g.Nodes[g.Params]) != nil {
		return // the check of the values lists it
	}
	want, tolerance, err := meaning(ops.Sample{Op: op, ULP: 16}, in, out)
	s.noError(op.Name(), err)
	p := s.compile(d, g)
	defer p.Close()
	bufs := s.stale(d, g)
	s.run(p, host(in...), bufs)
	if why := differ(s.download(bufs[0]), want[0], tolerance[0]); why != "" {
		s.Errorf("%s %+v of %v: %s", op.Name(), op, in[0].Spec(), why)
	}
	free(bufs...)
}
