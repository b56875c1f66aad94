package data

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/cortado-ml/cortado/tensor"
)

// Loader cuts a data set into batches.
type Loader struct {
	Data      Dataset
	Batch     int       // samples in a batch, at least 1
	Shuffle   bool      // each epoch has a random order of its own, instead of that of the data set
	Seed      uint64    // of the order and of Transform
	DropLast  bool      // leave out the last batch of an epoch if it is short
	Workers   int       // goroutines that prepare batches; 0 is half of the processors, from 1 to 8. The number changes no result.
	Transform Transform // changes inputs at random; nil for evaluation
}

// Position is a place in a training run: before a sample of an epoch, both counted from 0. It is what a checkpoint keeps, as JSON or
// otherwise. Counted in samples, it holds for any size of batch.
type Position struct {
	Epoch  int `json:"epoch"`
	Sample int `json:"sample"`
}

// Batch is some samples one behind another.
type Batch struct {
	X, Y  tensor.Tensor // [n, …]; their memory is used again when the loop asks for the next batch: Clone what is to be kept
	Index []int         // the numbers of the samples in the data set; not to be changed
	// Lengths are those of the samples, i64 [n], where samples of different lengths have been filled up: in batches of Buckets, and of a Loader whose
	// data set has a method Length, as Pad's has. None elsewhere. It too is used again.
	Lengths tensor.Tensor
	Next    Position // where the next batch begins; after the last of an epoch, the start of the next epoch
}

// SampleError is an error of one sample.
type SampleError struct {
	Index int // in the data set
	Err   error
}

func (e *SampleError) Error() string {
	return fmt.Sprintf("data: sample %d: %s", e.Index, strings.TrimPrefix(e.Err.Error(), "data: "))
}

// Unwrap is the cause.
func (e *SampleError) Unwrap() error { return e.Err }

// Len is the number of batches in an epoch; 0 for a loader whose Batches fails.
func (l Loader) Len() int {
	switch {
	case l.Data == nil || l.Batch < 1:
		return 0
	case l.DropLast:
		return l.Data.Len() / l.Batch
	}
	n := l.Data.Len()
	size := min(l.Batch, max(n, 1)) // no batch is too large
	return (n + size - 1) / size
}

// Batches are the batches of an epoch from the given position to the epoch's end: the zero Position is the start of the first epoch. They are
// prepared ahead, two for each worker at most, and come in order. A batch size beyond the data gives one short batch.
//
// An error is the last thing the loop sees: of the loader's fields, ctx's when that is done, or a *SampleError. However the loop ends, no
// goroutine outlives it: leaving it waits for the samples that are just being read.
func (l Loader) Batches(ctx context.Context, from Position) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		p, err := l.plan(from)
		if err != nil {
			yield(Batch{}, err)
			return
		}
		p.run(ctx, yield)
	}
}

// check finds everything that can be found before the first sample is read.
func (l Loader) check(from Position) error {
	if l.Data == nil {
		return fmt.Errorf("data: the loader has no data set")
	}
	n := l.Data.Len()
	switch {
	case l.Batch < 1:
		return fmt.Errorf("data: a batch of %d samples", l.Batch)
	case l.Workers < 0:
		return fmt.Errorf("data: %d workers", l.Workers)
	case n == 0:
		return fmt.Errorf("data: the data set is empty")
	case l.DropLast && n < l.Batch:
		return fmt.Errorf("data: nothing is left: DropLast leaves out a short batch, and %d samples do not fill one of %d", n, l.Batch)
	case from.Epoch < 0 || from.Sample < 0 || from.Sample >= n:
		return fmt.Errorf("data: no position at sample %d of epoch %d: the data set has %d samples", from.Sample, from.Epoch, n)
	}
	return nil
}

// plan lays out the rest of an epoch.
func (l Loader) plan(from Position) (*prefetch, error) {
	if err := l.check(from); err != nil {
		return nil, err
	}
	n := l.Data.Len()
	if err := checkBatch(l.Data, min(l.Batch, n)); err != nil {
		return nil, err
	}
	return newPrefetch(l, from.Epoch, cut(l.Data, l.order(from.Epoch, n), l.Batch, l.DropLast, from)), nil
}

// checkBatch refuses a batch of n samples that no array can hold.
func checkBatch(set Dataset, n int) error {
	x, y := set.Specs()
	if err := batchSpec(x, n).Check(); err != nil {
		return fmt.Errorf("data: a batch of %d samples %v: %w", n, x, err)
	}
	if err := batchSpec(y, n).Check(); err != nil && y != (tensor.Spec{}) {
		return fmt.Errorf("data: a batch of %d targets %v: %w", n, y, err)
	}
	return nil
}

// order is the samples of an epoch.
func (l Loader) order(epoch, n int) []int {
	if !l.Shuffle {
		return inOrder(n)
	}
	return permutation(&source{seed: l.Seed, stream: orderStream, epoch: uint64(epoch)}, n)
}

// cut divides the order from a position on into batches of n.
func cut(set Dataset, order []int, n int, dropLast bool, from Position) []planned {
	var batches []planned
	x, y := set.Specs()
	fullX, fullY := batchSpec(x, n), batchSpec(y, n)
	for lo, hi := from.Sample, 0; lo < len(order); lo = hi {
		hi = lo + min(n, len(order)-lo) // no n is too large
		b := planned{set: set, index: order[lo:hi:hi], x: fullX, y: fullY, next: Position{from.Epoch, hi}}
		if hi-lo < n {
			if dropLast {
				break
			}
			b.x, b.y = batchSpec(x, hi-lo), batchSpec(y, hi-lo)
		}
		if _, padded := set.(long); padded {
			b.lengths = tensor.SpecOf(tensor.I64, hi-lo)
		}
		batches = append(batches, b)
	}
	if len(batches) > 0 {
		batches[len(batches)-1].next = Position{Epoch: from.Epoch + 1}
	}
	return batches
}

// inOrder is 0 to n-1.
func inOrder(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

// batchSpec is s with a first axis that counts n samples; the zero Spec stays.
func batchSpec(s tensor.Spec, n int) tensor.Spec {
	if s == (tensor.Spec{}) {
		return s
	}
	return tensor.SpecOf(s.DType, append([]int{n}, s.Shape.Dims()...)...)
}
