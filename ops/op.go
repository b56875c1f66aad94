package ops

import (
	"errors"

	"github.com/cortado-ml/cortado/tensor"
)

// Op is the meaning of a node. Its dynamic type is a struct whose fields compare by content: no float (store [Bits]), interface or
// pointer, so that == is total and exact. This is checked when a type is first recorded.
type Op interface {
	// Name is for people: in errors, plans and profiles.
	Name() string

	// Infer is the rule for types and shapes. It refuses with a *tensor.ShapeError, and sees every operand before anything runs.
	Infer(in []tensor.Spec) ([]tensor.Spec, error)

	// Ref is the meaning: plain loops that accumulate in float64. An out that nobody uses is none and must be skipped. It writes every
	// element of the others, and reads no out. An index out of range is an *IndexError.
	Ref(out, in []tensor.Tensor) error

	// Grad records the gradient.
	Grad(b *Backward)

	// Cost estimates the work, for placement and profiles.
	Cost(in, out []tensor.Spec) Cost
}

// Cost is an estimate of the work of a node.
type Cost struct {
	FLOPs float64 // floating-point operations
	Bytes float64 // bytes read and written at least
}

// Elementwise is the cost of an operation with flops operations for each element of its outputs.
func Elementwise(flops float64, in, out []tensor.Spec) Cost {
	c := Traffic(in, out)
	for _, s := range out {
		c.FLOPs += flops * float64(s.Shape.Size())
	}
	return c
}

// Traffic is the cost of moving all operands once, and no more.
func Traffic(in, out []tensor.Spec) (c Cost) {
	for _, list := range [][]tensor.Spec{in, out} {
		for _, s := range list {
			c.Bytes += float64(s.Bytes())
		}
	}
	return c
}

// Fused is an operation that can also be said in others: for drivers without a kernel, and for the gradient of one that embeds NoGrad.
type Fused interface {
	Op
	// Decompose records the same outputs in terms of in. Tests hold it equal to Ref.
	Decompose(in []Value) []Value
}

// BatchKind says how the result for a batch follows from the results for its shards.
type BatchKind uint8

// The kinds. Mixes is an error that names the op when a batch is to be cut there, never a wrong sum.
const (
	Mixes   BatchKind = iota // a result depends on the whole batch in some other way
	Rowwise                  // the results lie one behind the other along the batch axis
	Sum                      // the results of the shards are added
	Mean                     // their mean, weighted by shard sizes
	Max                      // their maximum
	Min                      // their minimum
)

// Batched is an operation that knows where the batch axis goes: data parallelism cuts a graph along it.
type Batched interface {
	// Batch is given the batch axis of each input, -1 for an input that has none, at least one of which is not -1. It returns the
	// batch axis of each output, -1 where the kind leaves none.
	Batch(in []tensor.Spec, axis []int) (out []int, kind BatchKind)
}

// NoGrad is embedded by operations without a gradient of their own. A gradient through them is ErrNotDifferentiable, or goes through
// Decompose where the operation is Fused.
type NoGrad struct{}

func (NoGrad) noGrad() {}

// Grad refuses.
func (NoGrad) Grad(b *Backward) { b.Fail(ErrNotDifferentiable) }

// hasNoGrad reports whether op embeds NoGrad.
func hasNoGrad(op Op) bool { _, ok := op.(interface{ noGrad() }); return ok }

// total marks operations of this package that cannot fail at run time. Everything else is fallible: index checks, users' operations.
type total struct{}

func (total) neverFails() {}

// Fallible reports whether a node with this op can fail at run time. The commit rule needs to know: nothing fallible may come after a
// variable has changed.
func Fallible(op Op) bool { _, ok := op.(interface{ neverFails() }); return !ok }

// mixes is embedded by operations whose results depend on the whole batch, whatever axis it lies along.
type mixes struct{ strict }

// Batch refuses.
func (mixes) Batch([]tensor.Spec, []int) ([]int, BatchKind) { return nil, Mixes }

func (mixes) mixesAll() {}

// strict marks operations that refuse axes along which a batch could be cut: channels and pixels are none. Tests ask the others why.
type strict struct{}

func (strict) refusesAxes() {}

// typed marks operations whose result in a type is not that in float64, rounded: their attributes name a type, or are rounded to it first.
type typed struct{}

func (typed) dependsOnType() {}

// ErrNotDifferentiable is the cause when a gradient would have to pass through an operation without one.
var ErrNotDifferentiable = errors.New("not differentiable")

// ErrMisuse is the cause of stale values, values of two recordings, repeated names.
var ErrMisuse = errors.New("misuse")

// ErrStateLost says that a commit failed half-way: variables of the step hold no known value until they are Set.
var ErrStateLost = errors.New("state lost: reload the last checkpoint")
