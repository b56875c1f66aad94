package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/internal/philox"
	"github.com/cortado-ml/cortado/tensor"
)

// Operations that draw numbers. Element i of an operation's random numbers is a pure function of (seed, stream, step, i) by package philox:
// seed and step are the value rng, an i64[2] input of every step; the stream is an attribute that every copy of the node keeps. So
// eliminating, recomputing and pinning change no bit. Cutting a batch would, which is why their batch rule refuses.

var _ = register(DropoutOp{}, UniformOp{}, NormalOp{})

// draw is the (seed, stream, step) of an operation's numbers.
type draw struct{ seed, stream, step uint64 }

func drawOf(rng tensor.Tensor, stream uint64) draw {
	return draw{uint64(rng.Int(0)), stream, uint64(rng.Int(1))}
}

// uniform is number i, a multiple of 2^-24 in [0, 1).
func (d draw) uniform(i int) float64 {
	return float64(philox.Uniform(d.seed, d.stream, d.step, uint64(i)))
}

// normal is number i, of mean 0 and deviation 1.
func (d draw) normal(i int) float64 {
	return float64(philox.Normal(d.seed, d.stream, d.step, uint64(i)))
}

// DropoutOp zeroes each element of x, of any shape, with probability P and divides the others by 1-P: (x, rng). What is dropped is 0 even where x is infinite or NaN. Element i is kept where uniform number i is at least P. Source: N. Srivastava
// and others, "Dropout", 2014.
type DropoutOp struct {
	total
	mixes  // a shard would draw the numbers of the first
	P      Bits
	Stream uint64
}

// Name is "dropout".
func (DropoutOp) Name() string { return "dropout" }

// Infer wants a probability.
func (o DropoutOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(2, in); err != nil {
		return nil, err
	}
	if p := o.P.Float(); !(p >= 0 && p <= 1) {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("the probability is %v: it lies between 0 and 1", p), In: in[:1]}
	}
	if !in[0].DType.Float() || in[1] != RNGSpec {
		return nil, &tensor.ShapeError{Msg: "wants floats, and the (seed, step) input", In: in}
	}
	return in[:1:1], nil
}

// Ref draws for each element.
func (o DropoutOp) Ref(out, in []tensor.Tensor) error {
	d, p := drawOf(in[1], o.Stream), o.P.Float()
	for i := range out[0].Len() {
		if d.uniform(i) >= p {
			out[0].Set(i, in[0].At(i)/(1-p))
		} else {
			out[0].Set(i, 0)
		}
	}
	return nil
}

// Grad drops and scales the same elements: the mask is drawn again, from the same stream.
func (o DropoutOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, Apply(o, dy, b.In(1)))
}

// philoxFLOPs is what one random number costs, about.
const philoxFLOPs = 20

// Cost is a random number for each element.
func (DropoutOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(philoxFLOPs, in, out) }

// Samples drop everything, nothing and some.
func (DropoutOp) Samples() []Sample {
	some := DropoutOp{P: F(0.3), Stream: 5}
	rng := iarr(d(2), 7, 11)
	return []Sample{
		{Name: "some", Op: some, In: []tensor.Tensor{ramp(1, 5, 7), rng}},
		{Name: "half", Op: DropoutOp{P: F(0.5), Stream: 1 << 63}, In: []tensor.Tensor{ramp(1, 31), iarr(d(2), -1, math.MaxInt64)}},
		{Name: "none", Op: DropoutOp{P: F(0)}, In: []tensor.Tensor{ramp(1, 9), rng}},
		{Name: "all", Op: DropoutOp{P: F(1)}, In: []tensor.Tensor{ramp(1, 9), rng}},
		{Name: "almost all", Op: DropoutOp{P: F(0.99)}, In: []tensor.Tensor{ramp(1, 99), rng}},
		{Name: "rank 0", Op: some, In: []tensor.Tensor{ramp(1), rng}},
		{Name: "zero size", Op: some, In: []tensor.Tensor{ramp(1, 0, 3), rng}},
		{Name: "special", Op: DropoutOp{P: F(0.5), Stream: 5}, In: []tensor.Tensor{specials(), rng}, ValueOnly: true},
		{Name: "special, none", Op: DropoutOp{P: F(0)}, In: []tensor.Tensor{specials(), rng}, ValueOnly: true},
		{Name: "special, all", Op: DropoutOp{P: F(1)}, In: []tensor.Tensor{specials(), rng}, ValueOnly: true},
		{Name: "negative", Op: DropoutOp{P: F(-0.1)}, In: []tensor.Tensor{ramp(1, 3), rng}, Refused: "the probability is -0.1: it lies between 0 and 1"},
		{Name: "above 1", Op: DropoutOp{P: F(1.5)}, In: []tensor.Tensor{ramp(1, 3), rng}, Refused: "the probability is 1.5"},
		{Name: "NaN", Op: DropoutOp{P: F(math.NaN())}, In: []tensor.Tensor{ramp(1, 3), rng}, Refused: "the probability is NaN"},
		{Name: "integers", Op: some, In: []tensor.Tensor{iarr(d(1), 1), rng}, Refused: "wants floats, and the (seed, step) input"},
		{Name: "no seed", Op: some, In: []tensor.Tensor{ramp(1, 3), iarr(d(1), 1)}, Refused: "wants floats, and the (seed, step) input"},
		{Name: "one value", Op: some, In: []tensor.Tensor{ramp(1, 3)}, Refused: "wants 2 values, not 1"},
	}
}

// UniformOp draws floats from Lo up to but without Hi, of any shape: (rng) gives Lo + (Hi-Lo) u, where u is a multiple of 2^-24 in [0, 1). Rounding to a type may
// reach Hi.
type UniformOp struct {
	total
	mixes  // there is no batch to cut
	NoGrad // it has no float input
	Spec   tensor.Spec
	Lo, Hi Bits
	Stream uint64
}

// Name is "uniform".
func (UniformOp) Name() string { return "uniform" }

// Infer wants a float spec.
func (o UniformOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return inferDraw(o.Spec, in) }

func inferDraw(s tensor.Spec, in []tensor.Spec) ([]tensor.Spec, error) {
	if len(in) != 1 || in[0] != RNGSpec {
		return nil, &tensor.ShapeError{Msg: "wants the (seed, step) input", In: in}
	}
	if !s.DType.Float() {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("draws floats, not %v; write a Cast", s.DType), In: in}
	}
	return []tensor.Spec{s}, nil
}

// Ref draws for each element.
func (o UniformOp) Ref(out, in []tensor.Tensor) error {
	d, lo, hi := drawOf(in[0], o.Stream), o.Lo.Float(), o.Hi.Float()
	for i := range out[0].Len() {
		out[0].Set(i, lo+(hi-lo)*d.uniform(i))
	}
	return nil
}

// Cost is a random number for each element.
func (UniformOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(philoxFLOPs, in, out) }

// Samples draw few and many.
func (UniformOp) Samples() []Sample {
	of := func(dt tensor.DType, dims ...int) UniformOp {
		return UniformOp{Spec: tensor.SpecOf(dt, dims...), Lo: F(-1), Hi: F(3), Stream: 3}
	}
	rng := iarr(d(2), 7, 11)
	return []Sample{
		{Name: "f64", Op: of(tensor.F64, 3, 7), In: []tensor.Tensor{rng}},
		{Name: "f32", Op: of(tensor.F32, 1031), In: []tensor.Tensor{rng}},
		{Name: "bf16", Op: of(tensor.BF16, 5), In: []tensor.Tensor{rng}},
		{Name: "f16", Op: of(tensor.F16, 5), In: []tensor.Tensor{rng}},
		{Name: "rank 0", Op: of(tensor.F64), In: []tensor.Tensor{iarr(d(2), math.MinInt64, 0)}},
		{Name: "zero size", Op: of(tensor.F64, 0, 2), In: []tensor.Tensor{rng}},
		{Name: "integers", Op: of(tensor.I32, 2), In: []tensor.Tensor{rng}, Refused: "draws floats, not i32"},
		{Name: "no seed", Op: of(tensor.F64, 2), In: []tensor.Tensor{iarr(d(1), 7)}, Refused: "wants the (seed, step) input"},
		{Name: "no value", Op: of(tensor.F64, 2), Refused: "wants the (seed, step) input"},
	}
}

// NormalOp draws floats of mean Mean and standard deviation Std, of any shape: (rng).
type NormalOp struct {
	total
	mixes     // there is no batch to cut
	NoGrad    // it has no float input
	Spec      tensor.Spec
	Mean, Std Bits
	Stream    uint64
}

// Name is "normal".
func (NormalOp) Name() string { return "normal" }

// Infer wants a float spec.
func (o NormalOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return inferDraw(o.Spec, in) }

// Ref draws for each element.
func (o NormalOp) Ref(out, in []tensor.Tensor) error {
	d, mean, std := drawOf(in[0], o.Stream), o.Mean.Float(), o.Std.Float()
	for i := range out[0].Len() {
		out[0].Set(i, mean+std*d.normal(i))
	}
	return nil
}

// Cost is a random number, a logarithm and a sine for each element.
func (NormalOp) Cost(in, out []tensor.Spec) Cost { return Elementwise(2*philoxFLOPs, in, out) }

// Samples draw few and many.
func (NormalOp) Samples() []Sample {
	of := func(dt tensor.DType, dims ...int) NormalOp {
		return NormalOp{Spec: tensor.SpecOf(dt, dims...), Mean: F(1), Std: F(0.5), Stream: 3}
	}
	rng := iarr(d(2), 7, 11)
	return []Sample{
		{Name: "f64", Op: of(tensor.F64, 3, 7), In: []tensor.Tensor{rng}},
		{Name: "f32", Op: of(tensor.F32, 1031), In: []tensor.Tensor{rng}},
		{Name: "bf16", Op: of(tensor.BF16, 5), In: []tensor.Tensor{rng}},
		{Name: "f16", Op: of(tensor.F16, 5), In: []tensor.Tensor{rng}},
		{Name: "rank 0", Op: of(tensor.F64), In: []tensor.Tensor{iarr(d(2), math.MinInt64, 0)}},
		{Name: "zero size", Op: of(tensor.F64, 0, 2), In: []tensor.Tensor{rng}},
		{Name: "integers", Op: of(tensor.I32, 2), In: []tensor.Tensor{rng}, Refused: "draws floats, not i32"},
		{Name: "no seed", Op: of(tensor.F64, 2), In: []tensor.Tensor{iarr(d(1), 7)}, Refused: "wants the (seed, step) input"},
		{Name: "no value", Op: of(tensor.F64, 2), Refused: "wants the (seed, step) input"},
	}
}

// Dropout zeroes each element of x with probability p and divides the others by 1-p, so that the expectation stays. It draws from
// the next stream of the scope; a p outside [0, 1] is refused.
//
//go:noinline
func Dropout(x Value, p float64) Value {
	if x.IsNone() {
		return x
	}
	return Apply(DropoutOp{P: F(p), Stream: x.r.stream()}, x, x.r.RNG())
}

// Uniform draws floats from [lo, hi) from the next stream of the scope.
//
//go:noinline
func Uniform(r *Recorder, s tensor.Spec, lo, hi float64) Value {
	return Apply(UniformOp{Spec: s, Lo: F(lo), Hi: F(hi), Stream: r.stream()}, r.RNG())
}

// Normal draws floats of the given mean and standard deviation from the next stream of the scope.
//
//go:noinline
func Normal(r *Recorder, s tensor.Spec, mean, std float64) Value {
	return Apply(NormalOp{Spec: s, Mean: F(mean), Std: F(std), Stream: r.stream()}, r.RNG())
}
