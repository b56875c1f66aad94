package vec

import (
	"flag"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/internal/exact"
	"github.com/cortado-ml/cortado/tensor"
)

var all = flag.Bool("all", false, "measure the functions' errors at every float32")

// TestExact compares the assembly's functions with package exact, with which the interpreter compares the levels that this processor lacks.
func TestExact(t *testing.T) {
	const n = 1 << 15
	x, got := make([]float32, n), make([]float32, n)
	r := source()
	for i := range x {
		x[i] = math.Float32frombits(r.Uint32())
		if i%2 == 0 {
			x[i] = float32(r.NormFloat64() * 20)
		}
	}
	for i, v := range special {
		x[i] = float32(v)
	}
	levels(t, func(t *testing.T, l isa.Level) {
		if l == isa.Generic {
			t.Skip("no assembly")
		}
		for op, f := range map[Op]func(float32) float32{Exp: exact.Exp, Log: exact.Log, Tanh: exact.Tanh, Sigmoid: exact.Sigmoid,
			SiLU: exact.SiLU, SiLUGrad: exact.SiLUGrad, GELU: exact.GELU, GELUGrad: exact.GELUGrad, GELUTanh: exact.GELUTanh, GELUTanhGrad: exact.GELUTanhGrad,
			Erf: exact.Erf, Expm1: exact.Expm1, Log1p: exact.Log1p, Softplus: exact.Softplus} {
			run(t, compile(t, l, single(op, n, tensor.F32)), [][]byte{memory(x)}, [][]byte{memory(got)})
			for i, g := range got {
				if w := f(x[i]); math.Float32bits(g) != math.Float32bits(w) && !(g != g && w != w) {
					t.Fatalf("%v of %g is %g, want %g", op, x[i], g, w)
				}
			}
		}
		k := f32At(l)
		var acc [maxLanes]float64
		sums := func(what string, want []float64) {
			for i, w := range want {
				if acc[i] != w {
					t.Fatalf("%s: sum %d is %g, want %g", what, i, acc[i], w)
				}
			}
		}
		if l == isa.NEON {
			return // its sums take vectors in another order
		}
		for n := 1; n < 200; n++ {
			a, b, d := values[float32](r, n, 2), values[float32](r, n, 2), make([]float32, n)
			k.sum(&acc[0], &a[0], n)
			sums("sum", exact.Sum(a, k.lanes))
			k.dot(&acc[0], &a[0], &b[0], n)
			sums("dot", exact.Dot(a, b, k.lanes))
			k.expSum(&got[0], &acc[0], &a[0], 0.7, n)
			sums("expSum", exact.ExpSum(d, a, 0.7, k.lanes))
		}
	})
}

// TestBounds measures the functions' errors over samples of all exponents. With -all it takes every float32, which takes minutes.
func TestBounds(t *testing.T) {
	step := uint32(769)
	if *all {
		step = 1
	}
	if quick() {
		step *= 16
	}
	const n = 1 << 16
	x, got := make([]float32, n), make([]float32, n)
	levels(t, func(t *testing.T, l isa.Level) {
		if l == isa.Generic && !*all {
			t.Skip("package math is rounded: it is within the bounds")
		}
		for op, bound := range bounds {
			c := compile(t, l, single(op, n, tensor.F32))
			worst, at := 0.0, float32(0)
			for hi := uint32(0); hi < 1<<16; hi += step {
				for i := range x {
					x[i] = math.Float32frombits((hi<<16 | uint32(i)) * 0x9e3779b1) // an odd factor: all values in another order
				}
				if err := c.Run(pool, [][]byte{memory(x)}, [][]byte{memory(got)}); err != nil {
					t.Fatal(err)
				}
				for i, g := range got {
					if e := ulps(g, model(op, float64(x[i]), 0), floor(op, float64(x[i]))); !(e <= worst) {
						worst, at = e, x[i]
					}
				}
			}
			t.Logf("%v: at most %.3f ULP, at %g", op, worst, at)
			if worst > bound {
				t.Errorf("%v: %.3f ULP at %g, more than %g", op, worst, at, bound)
			}
		}
	})
}
