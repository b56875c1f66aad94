package cpu_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// What users of other engines have met, on the kernels of every level.

// level is a tape at one level.
type level struct {
	*testing.T
	tape *autograd.Tape
}

// atLevels calls f at each level. Nothing may run by its reference.
func atLevels(t *testing.T, f func(l level)) {
	for _, d := range open(t) {
		eng, err := sched.New(d)
		if err != nil {
			t.Fatal(err)
		}
		eng.NoFallback = true
		t.Run(d.Info().ISA, func(t *testing.T) { f(level{t, autograd.New(eng)}) })
	}
}

// want evaluates values and compares each with numbers.
func (l level) want(what string, tolerance float64, want [][]float64, vs ...ops.Value) {
	l.Helper()
	out, err := l.tape.Eval(context.Background(), vs...)
	l.tape.Discard()
	if err != nil {
		l.Fatalf("%s: %v", what, err)
	}
	for i, x := range out {
		for j, y := range want[i] {
			if got := x.At(j); got != y && !(got != got && y != y) && !(math.Abs(got-y) <= tolerance) {
				l.Errorf("%s: element %d of value %d is %v, want %v", what, j, i, got, y)
			}
		}
	}
}

// f32 is an input.
func (l level) f32(name string, x []float32, dims ...int) ops.Value {
	l.Helper()
	return l.tape.Input(name, array(l.T, x, dims...))
}

// TestLongSums: a sum of more ones than a float32 can count does not stick at 2^24, along whichever axes it goes.
func TestLongSums(t *testing.T) {
	const n = 17_000_000
	ones := tensor.Full(tensor.SpecOf(tensor.F32, n, 2), 1)
	apart, err := ones.Reshape(n/2, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	atLevels(t, func(l level) {
		x := l.tape.Input("x", ones)
		l.want("columns", 0, [][]float64{{n, n}, {1, 1}}, x.Sum(0), x.Mean(0))
		x = l.tape.Input("x", ones)
		l.want("all", 0, [][]float64{{2 * n}, {1}}, x.Sum(), x.Mean())
		l.want("two axes", 0, [][]float64{{2 * n}}, l.tape.Input("x", apart).Sum(0, 1))
	})
}

// TestBatchNormOfLargeMeans: batch-norm of numbers around a mean that is large beside their spread, in rows and in images.
func TestBatchNormOfLargeMeans(t *testing.T) {
	atLevels(t, func(l level) {
		norm := func(x ops.Value) (y, mean, variance ops.Value) {
			c := x.Dim(1)
			scale, bias := tensor.Full(tensor.SpecOf(tensor.F32, c), 1), tensor.New(tensor.SpecOf(tensor.F32, c))
			return ops.BatchNorm(x, l.tape.Input("scale", scale), l.tape.Input("bias", bias), 1e-5)
		}
		for m, first := range map[float64]float64{0: -1.34164, 100: -1.34153, 1000: -1.34151, 10000: -1.33133} {
			x := make([]float32, 16)
			for i := range x {
				x[i] = float32(m + float64(i)*1e-3)
			}
			for _, dims := range [][]int{{16, 1}, {1, 1, 4, 4}, {2, 1, 8}} {
				y, _, _ := norm(l.f32("x", x, dims...))
				l.want(fmt.Sprint("around ", m, dims), 1e-5, [][]float64{{first}}, y)
			}
		}
		y, _, _ := norm(l.f32("x", []float32{40000, 40001, 40002, 40003}, 4, 1))
		l.want("40000", 1e-5, [][]float64{{-1.34164, -0.44721, 0.44721, 1.34164}}, y)
		columns := make([]float32, 2_000_000)
		for i := range columns {
			columns[i] = 100 - 200*float32(i%2)
		}
		_, mean, variance := norm(l.f32("x", columns, 1_000_000, 2))
		l.want("constant columns", 0, [][]float64{{100, -100}, {0, 0}}, mean, variance)
	})
}

// TestLossAtInfinity: what is impossible has probability 0 and gradient 0, unless nothing is possible.
func TestLossAtInfinity(t *testing.T) {
	inf, nan := float32(math.Inf(1)), math.NaN()
	atLevels(t, func(l level) {
		for _, c := range []struct {
			x     []float32
			label int64
			loss  float64
			grad  []float64
			soft  []float64
		}{
			{[]float32{-inf, -inf, 2}, 2, 0, []float64{0, 0, 0}, []float64{0, 0, 1}},
			{[]float32{200, -200, 0}, 0, 0, []float64{0, 0, 0}, []float64{1, 0, 0}},
			{[]float32{200, -200, 0}, 1, 400, []float64{1, -1, 0}, []float64{1, 0, 0}},
			{[]float32{-inf, -inf, -inf}, 0, nan, []float64{nan, nan, nan}, []float64{nan, nan, nan}},
		} {
			x := l.f32("x", c.x, 1, 3)
			loss := ops.CrossEntropy(x, l.tape.Input("label", array(l.T, []int64{c.label})))
			l.want(fmt.Sprint(c.x), 1e-6, [][]float64{{c.loss}, c.grad, c.soft}, loss, l.tape.Grad(loss, x)[0], x.Softmax(1))
		}
	})
}

// TestDropoutEdges: infinities are kept or dropped, nothing is left of all, and a kept zero has a gradient.
func TestDropoutEdges(t *testing.T) {
	const n = 100
	atLevels(t, func(l level) {
		for _, x := range []float32{float32(math.Inf(1)), 0, -3} {
			for _, p := range []float64{0, 0.5, 1} {
				v := l.tape.Input("x", tensor.Full(tensor.SpecOf(tensor.F32, n), float64(x)))
				y := ops.Dropout(v, p)
				out, err := l.tape.Eval(context.Background(), y, l.tape.Grad(y.Sum(), v)[0])
				l.tape.Discard()
				if err != nil {
					l.Fatal(err)
				}
				kept := 0
				for i := range n {
					got, g := out[0].At(i), out[1].At(i)
					want := float64(x) / (1 - p)
					switch {
					case g == 0 && got == 0 && p > 0:
					case p < 1 && g == 1/(1-p) && got == want:
						kept++
					default:
						l.Errorf("dropout %v of %v: element %d is %v, with gradient %v", p, x, i, got, g)
					}
				}
				if p == 0 && kept != n || p == 1 && kept != 0 || p == 0.5 && (kept < n/4 || kept > 3*n/4) {
					l.Errorf("dropout %v keeps %d of %d", p, kept, n)
				}
			}
		}
	})
}

// TestOptions: what a device cannot be opened with is said in words.
func TestOptions(t *testing.T) {
	for what, o := range map[string]cpu.Option{
		"no thread": cpu.Threads(0), "minus one": cpu.Threads(-1), "ten thousand": cpu.Threads(10000),
		"no level": cpu.Level(""), "another level": cpu.Level("sse2"),
	} {
		if d, err := cpu.Open(o); err == nil {
			d.Close()
			t.Errorf("%s: no error", what)
		}
	}
	for _, threads := range []string{"0", "-1", "10000", "two", "1.5"} {
		t.Setenv("CORTADO_THREADS", threads)
		if d, err := cpu.Open(); err == nil {
			d.Close()
			t.Errorf("CORTADO_THREADS=%s: no error", threads)
		}
	}
	t.Setenv("CORTADO_THREADS", "")
	t.Setenv("CORTADO_ISA", "sse2")
	if d, err := cpu.Open(); err == nil {
		d.Close()
		t.Error("CORTADO_ISA=sse2: no error")
	}
}
