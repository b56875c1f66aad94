package ops

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	"github.com/cortado-ml/cortado/tensor"
)

// Sample is one row of an operation's table: operands on which it is run as value, gradient and conformance, on every driver and every
// level of vector instructions. Float operands are given in f64; a test converts them to the type that it runs.
type Sample struct {
	Name string // what the row is about: "row broadcast", "NaN"
	Op   Op
	In   []tensor.Tensor

	Refused   string  // words of the error with which Infer must refuse; empty if it accepts
	Fails     string  // words of the error at run time; empty if it runs
	ValueOnly bool    // special values, kinks: no finite difference here
	Rough     bool    // the gradient is right, but is not smooth here: no second order
	ULP       float64 // bound of a driver's error, in units in the last place of the largest element of the output; 0 means 4
}

// Sampled is an operation that brings its table.
type Sampled interface {
	Op
	Batched
	Samples() []Sample
}

// registry is one value of every operation of this package. Each file of operations enters its own while the program's variables are
// initialised, and nobody writes it afterwards.
var registry []Sampled

// register enters operations: `var _ = register(AddOp{}, SubOp{})`. Adding one so touches no other file.
func register(all ...Sampled) struct{} {
	registry = append(registry, all...)
	return struct{}{}
}

// Registry is one value of every operation of this package, in the order of their types' names, for tests that go through all of them.
func Registry() []Sampled {
	all := slices.Clone(registry)
	slices.SortFunc(all, func(a, b Sampled) int { return cmp.Compare(reflect.TypeOf(a).Name(), reflect.TypeOf(b).Name()) })
	return all
}

// The operands of samples.

// arr is an operand of any type; without dims of rank 0.
func arr[T tensor.Elem](dims []int, x ...T) tensor.Tensor {
	return tensor.Must(tensor.Must(tensor.From(x)).Reshape(dims...))
}

// farr is a float operand.
func farr(dims []int, x ...float64) tensor.Tensor { return arr(dims, x...) }

// iarr is an i64 operand.
func iarr(dims []int, x ...int64) tensor.Tensor { return arr(dims, x...) }

// ramp is a float operand of distinct values between -1 and 1 without a pattern: multiples of the golden ratio, modulo 2, minus 1.
func ramp(seed int, dims ...int) tensor.Tensor {
	t := tensor.New(tensor.SpecOf(tensor.F64, dims...))
	for i := range t.Len() {
		x := 0.6180339887498949*float64(i+1) + 0.7548776662466927*float64(seed+1)
		t.Set(i, 2*(x-float64(int(x)))-1)
	}
	return t
}

// positive is ramp moved into (0.1, 2.1).
func positive(seed int, dims ...int) tensor.Tensor {
	t := ramp(seed, dims...)
	for i := range t.Len() {
		t.Set(i, t.At(i)+1.1)
	}
	return t
}

func d(dims ...int) []int { return dims }

// special are the floats that vector code gets wrong.
var special = [...]float64{
	math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, 0.5, -3.25, 5e-324, -1e-40, 1e-30, 3e38, -1e300, 20, -20, 88.8, -104, 710, -746,
}

// specials is an operand of them.
func specials() tensor.Tensor { return farr(d(len(special)), special[:]...) }

// specialPairs is a column and a row of special values: broadcast, they meet each other.
func specialPairs() (column, row tensor.Tensor) {
	return farr(d(len(special), 1), special[:]...), specials()
}
