package layers

import (
	"math"

	"github.com/cortado-ml/cortado/internal/philox"
	"github.com/cortado-ml/cortado/tensor"
)

// Init gives a parameter its first value: it writes every element of w.
type Init func(w tensor.Tensor, d Draw)

// Draw is the random numbers of one parameter: number i is a pure function of the seed, the parameter's name and i.
type Draw struct{ seed, stream uint64 }

// drawFor hashes the name by FNV-1a: the same numbers in every process.
func drawFor(seed uint64, name string) Draw {
	h := uint64(14695981039346656037)
	for _, b := range []byte(name) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return Draw{seed, h}
}

// Uniform is number i, a multiple of 2^-24 in [0, 1).
func (d Draw) Uniform(i int) float64 {
	return float64(philox.Uniform(d.seed, d.stream, 0, uint64(i)))
}

// Normal is number i, of mean 0 and standard deviation 1.
func (d Draw) Normal(i int) float64 { return float64(philox.Normal(d.seed, d.stream, 0, uint64(i))) }

// Constant is x everywhere.
func Constant(x float64) Init {
	return func(w tensor.Tensor, _ Draw) {
		for i := range w.Len() {
			w.Set(i, x)
		}
	}
}

// Zeros is 0 everywhere.
func Zeros(w tensor.Tensor, d Draw) { Constant(0)(w, d) }

// Ones is 1 everywhere.
func Ones(w tensor.Tensor, d Draw) { Constant(1)(w, d) }

// Uniform draws from [lo, hi).
func Uniform(lo, hi float64) Init {
	return func(w tensor.Tensor, d Draw) {
		for i := range w.Len() {
			w.Set(i, lo+(hi-lo)*d.Uniform(i))
		}
	}
}

// Normal draws with the given mean and standard deviation.
func Normal(mean, std float64) Init {
	return func(w tensor.Tensor, d Draw) {
		for i := range w.Len() {
			w.Set(i, mean+std*d.Normal(i))
		}
	}
}

// KaimingUniform draws from ±sqrt(6 / ((1+slope²) fan_in)), for a layer before a rectifier with that slope at negative inputs: 0 for
// ReLU. The slope of Linear and Conv2D without an Init is √5, which makes ±1/sqrt(fan_in), as in PyTorch. Source: K. He and others,
// "Delving deep into rectifiers", 2015.
func KaimingUniform(slope float64) Init {
	return func(w tensor.Tensor, d Draw) {
		in, _ := fans(w.Shape())
		uniform(math.Sqrt(6/((1+slope*slope)*in)), w, d)
	}
}

// KaimingNormal draws with standard deviation sqrt(2 / ((1+slope²) fan_in)). Source: as KaimingUniform.
func KaimingNormal(slope float64) Init {
	return func(w tensor.Tensor, d Draw) {
		in, _ := fans(w.Shape())
		Normal(0, math.Sqrt(2/((1+slope*slope)*in)))(w, d)
	}
}

// XavierUniform draws from ±gain*sqrt(6 / (fan_in+fan_out)). The gain is 1 for a layer before a sigmoid or nothing, 5/3 before tanh. Source:
// X. Glorot and Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
func XavierUniform(gain float64) Init {
	return func(w tensor.Tensor, d Draw) {
		in, out := fans(w.Shape())
		uniform(gain*math.Sqrt(6/(in+out)), w, d)
	}
}

// XavierNormal draws with standard deviation gain*sqrt(2 / (fan_in+fan_out)). Source: as XavierUniform.
func XavierNormal(gain float64) Init {
	return func(w tensor.Tensor, d Draw) {
		in, out := fans(w.Shape())
		Normal(0, gain*math.Sqrt(2/(in+out)))(w, d)
	}
}

func uniform(bound float64, w tensor.Tensor, d Draw) { Uniform(-bound, bound)(w, d) }

// fans are how many inputs an output of a [out, in, ...] weight sees, and how many outputs an input. A weight of fewer than two axes
// connects its elements one to one.
func fans(s tensor.Shape) (in, out float64) {
	if s.Rank() < 2 {
		return 1, 1
	}
	field := 1
	for i := 2; i < s.Rank(); i++ {
		field *= s.Dim(i)
	}
	return float64(s.Dim(1) * field), float64(s.Dim(0) * field)
}
