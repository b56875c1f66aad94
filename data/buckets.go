package data

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// Buckets cuts samples of different lengths into batches of similar ones, so that little is padding: a sample is filled up to the first of the
// Bounds that holds it, and a batch has one bound. A program is compiled once for each. Loader.Batches says what else holds; Transform changes
// samples that have been filled up.
type Buckets struct {
	Data      Sequences
	Bounds    []int   // lengths, ascending; the last one holds every sample
	Padding   Padding // what fills samples up
	Batch     int     // samples in a batch, at least 1
	Shuffle   bool    // each epoch has a random order of samples, and one of batches; else short samples come first
	Seed      uint64  // of the order and of Transform
	DropLast  bool    // leave out the last batch of each bucket if it is short
	Workers   int     // goroutines that prepare batches; 0 is half of the processors, from 1 to 8
	Transform Transform
}

// Batches are the batches of an epoch from the given position, which is the start of an epoch or the Next of a batch, to the epoch's end.
func (b Buckets) Batches(ctx context.Context, from Position) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		p, err := b.plan(from)
		if err != nil {
			yield(Batch{}, err)
			return
		}
		p.run(ctx, yield)
	}
}

// plan lays out the rest of an epoch.
func (b Buckets) plan(from Position) (*prefetch, error) {
	if err := b.check(from); err != nil {
		return nil, err
	}
	sets, err := b.sets()
	if err != nil {
		return nil, err
	}
	l := Loader{Shuffle: b.Shuffle, Seed: b.Seed, Workers: b.Workers, Transform: b.Transform}
	orders := make([][]int, len(sets))
	for _, i := range l.order(from.Epoch, b.Data.Len()) {
		k, err := b.bucket(i)
		if err != nil {
			return nil, err
		}
		orders[k] = append(orders[k], i)
	}
	var batches []planned
	for k, order := range orders {
		batches = append(batches, cut(sets[k], order, b.Batch, b.DropLast, Position{Epoch: from.Epoch})...)
	}
	if len(batches) == 0 {
		return nil, b.nothingLeft()
	}
	if b.Shuffle {
		batches = shuffled(batches, &source{seed: b.Seed, stream: bucketStream, epoch: uint64(from.Epoch)})
	}
	if batches, err = rest(batches, from); err != nil {
		return nil, err
	}
	return newPrefetch(l, from.Epoch, batches), nil
}

// sets are the samples, filled up to each bound.
func (b Buckets) sets() ([]*padded, error) {
	sets := make([]*padded, len(b.Bounds))
	for k, bound := range b.Bounds {
		var err error
		if sets[k], err = newPadded(b.Data, bound, b.Padding); err != nil {
			return nil, err
		}
		if err := checkBatch(sets[k], min(b.Batch, b.Data.Len())); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// bucket is the number of the bound that holds a sample.
func (b Buckets) bucket(i int) (int, error) {
	length := b.Data.Length(i)
	k, _ := slices.BinarySearch(b.Bounds, length)
	if k == len(b.Bounds) || length < 0 {
		return 0, &SampleError{i, fmt.Errorf("it has the length %d, and the bounds end at %d", length, b.Bounds[len(b.Bounds)-1])}
	}
	return k, nil
}

func (b Buckets) nothingLeft() error {
	return fmt.Errorf("data: nothing is left: DropLast leaves out short batches, and no bucket fills one of %d", b.Batch)
}

// shuffled is the batches in a random order.
func shuffled(batches []planned, s *source) []planned {
	out := make([]planned, len(batches))
	for i, j := range permutation(s, len(batches)) {
		out[i] = batches[j]
	}
	return out
}

// rest numbers the batches of an epoch, and gives those from a position on.
func rest(batches []planned, from Position) ([]planned, error) {
	at := Position{Epoch: from.Epoch}
	first := -1
	for k := range batches {
		if at == from {
			first = k
		}
		at.Sample += len(batches[k].index)
		batches[k].next = at
	}
	batches[len(batches)-1].next = Position{Epoch: from.Epoch + 1}
	if first < 0 {
		return nil, fmt.Errorf("data: no batch begins at sample %d of epoch %d: Batch or Bounds were others when that position was kept", from.Sample, from.Epoch)
	}
	return batches[first:], nil
}

// check finds everything that can be found before the samples are looked at.
func (b Buckets) check(from Position) error {
	switch {
	case b.Data == nil:
		return fmt.Errorf("data: the buckets have no data")
	case b.Batch < 1:
		return fmt.Errorf("data: a batch of %d samples", b.Batch)
	case b.Workers < 0:
		return fmt.Errorf("data: %d workers", b.Workers)
	case b.Data.Len() == 0:
		return fmt.Errorf("data: there are no samples")
	case len(b.Bounds) == 0:
		return fmt.Errorf("data: the buckets have no bounds")
	case from.Epoch < 0 || from.Sample < 0:
		return fmt.Errorf("data: no position at sample %d of epoch %d", from.Sample, from.Epoch)
	}
	for k := 1; k < len(b.Bounds); k++ {
		if b.Bounds[k] <= b.Bounds[k-1] {
			return fmt.Errorf("data: the bounds %v do not ascend", b.Bounds)
		}
	}
	return nil
}
