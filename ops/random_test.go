package ops

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/internal/philox"
	"github.com/cortado-ml/cortado/tensor"
)

// TestDropoutEdges: what is dropped is 0 even where x is infinite or NaN; p = 1 drops all, with gradient 0; p = 0 keeps all; the gradient
// is that of the mask, not of where the output is 0.
func TestDropoutEdges(t *testing.T) {
	drop := func(p float64) func(in []Value) Value { return func(in []Value) Value { return Dropout(in[0], p) } }
	const n = 64
	for _, x := range []float64{math.Inf(1), math.NaN(), 0, -3} {
		in := tensor.Full(tensor.SpecOf(tensor.F64, n), x)
		half, gradient := values(t, drop(0.5), in), gradients(t, 1, drop(0.5), in)[0]
		kept := 0
		for i := range n {
			g := gradient.At(i)
			if g != 0 && g != ramp(1, n).At(i)/0.5 {
				t.Errorf("x = %v: gradient %v", x, g)
			}
			want := 0.0
			if g != 0 {
				want = x / 0.5
				kept++
			}
			if !same(half.At(i), want, 0) {
				t.Errorf("x = %v: %v, want %v", x, half.At(i), want)
			}
		}
		if kept < n/4 || kept > 3*n/4 {
			t.Errorf("%d of %d kept", kept, n)
		}
		check(t, "all dropped", values(t, drop(1), in), make([]float64, n)...)
		check(t, "all dropped, gradient", gradients(t, 1, drop(1), in)[0], make([]float64, n)...)
		check(t, "none dropped", values(t, drop(0), in), in.Floats()...)
		check(t, "none dropped, gradient", gradients(t, 1, drop(0), in)[0], ramp(1, n).Floats()...)
	}
	for _, p := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		refused(t, "it lies between 0 and 1", drop(p), ramp(1, 3))
	}
}

// TestDrawIsPhilox: number i is a function of seed, stream, step and i alone.
func TestDrawIsPhilox(t *testing.T) {
	rng := iarr(d(2), -7, 1<<40)
	spec := tensor.SpecOf(tensor.F64, 3, 5)
	u := mustRef(t, UniformOp{Spec: spec, Lo: F(-1), Hi: F(3), Stream: 99}, []tensor.Tensor{rng})[0]
	z := mustRef(t, NormalOp{Spec: spec, Mean: F(5), Std: F(2), Stream: 99}, []tensor.Tensor{rng})[0]
	k := mustRef(t, DropoutOp{P: F(0.5), Stream: 99}, []tensor.Tensor{tensor.Full(spec, 1), rng})[0]
	minus7 := int64(-7)
	for i := range spec.Shape.Size() {
		x := float64(philox.Uniform(uint64(minus7), 99, 1<<40, uint64(i)))
		n := float64(philox.Normal(uint64(minus7), 99, 1<<40, uint64(i)))
		if u.At(i) != -1+4*x || z.At(i) != 5+2*n || (k.At(i) == 2) != (x >= 0.5) {
			t.Errorf("element %d: %v %v %v from %v and %v", i, u.At(i), z.At(i), k.At(i), x, n)
		}
	}
}

// TestDrawMoments: mean and variance are those that were asked for.
func TestDrawMoments(t *testing.T) {
	const n = 20000
	spec := tensor.SpecOf(tensor.F32, n)
	for _, c := range []struct {
		op             Op
		mean, variance float64
	}{
		{UniformOp{Spec: spec, Lo: F(1), Hi: F(4)}, 2.5, 0.75},
		{NormalOp{Spec: spec, Mean: F(-3), Std: F(0.5)}, -3, 0.25},
	} {
		var sum, squares float64
		for _, x := range mustRef(t, c.op, []tensor.Tensor{iarr(d(2), 1, 2)})[0].Floats() {
			sum += x
			squares += (x - c.mean) * (x - c.mean)
		}
		if mean, variance := sum/n, squares/n; math.Abs(mean-c.mean) > 0.03 || math.Abs(variance/c.variance-1) > 0.04 {
			t.Errorf("%s: mean %v, variance %v", c.op.Name(), mean, variance)
		}
	}
}
