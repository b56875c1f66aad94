package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"

	"github.com/cortado-ml/cortado/internal/background"
	"github.com/cortado-ml/cortado/tensor"
)

// Source is samples one after another, where nobody can ask for sample i: a file larger than memory, a pipe.
type Source interface {
	// Specs describe one sample, as those of a Dataset do.
	Specs() (x, y tensor.Spec)
	// Next writes the next sample into x and y, which have the Specs: every element. io.EOF says that there is no other.
	Next(x, y tensor.Tensor) error
	// Close ends the reading.
	Close() error
}

// Stream cuts a source into batches, as a Loader does with a data set. It holds a batch or two in memory, and the samples of Shuffle.
type Stream struct {
	Open      func(epoch int) (Source, error) // the source from its start; a file is opened anew for each epoch, counted from 0
	Batch     int                             // samples in a batch, at least 1
	Shuffle   int                             // this many samples wait in memory, and the next is drawn from them; 0 or 1 keeps the order
	Seed      uint64                          // of the draws and of Transform
	DropLast  bool                            // leave out the last batch of an epoch if it is short
	Transform Transform                       // changes inputs at random; nil for evaluation
}

// Batches are the batches of an epoch from the given position to the epoch's end, prepared one or two ahead. Batch.Index numbers the samples as
// the source gives them in the epoch. The order and the random numbers are pure functions of the seed, the epoch and the source: so a restart
// from a position gives what would have come. It reads, without using them, all samples of the epoch that came before. A source that does not give
// the same samples again, a pipe, cannot be restarted within an epoch: what it gives then is taken for what came before.
//
// An error is the last thing the loop sees, as of Loader.Batches: of the fields, of Open, ctx's or a *SampleError. However the loop ends, no
// goroutine outlives it and the source is closed.
func (s Stream) Batches(ctx context.Context, from Position) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		if err := s.check(from); err != nil {
			yield(Batch{}, err)
			return
		}
		r := &streaming{Stream: s, from: from, free: make(chan streamed, streamBuffers)}
		r.ready = make(chan streamed, streamBuffers+1) // room for all batches and an error: sending never blocks
		r.run(ctx, yield)
	}
}

func (s Stream) check(from Position) error {
	switch {
	case s.Open == nil:
		return errors.New("data: the stream has no Open")
	case s.Batch < 1:
		return fmt.Errorf("data: a batch of %d samples", s.Batch)
	case s.Shuffle < 0:
		return fmt.Errorf("data: Shuffle is %d: so many samples cannot wait", s.Shuffle)
	case from.Epoch < 0 || from.Sample < 0:
		return fmt.Errorf("data: no position at sample %d of epoch %d", from.Sample, from.Epoch)
	}
	return nil
}

// streamBuffers is how many batches there are: the loop's, one that is ready, and one in preparation. A batch is ready when it is known
// whether another follows.
const streamBuffers = 3

// streaming is one run through the rest of an epoch.
type streaming struct {
	Stream
	from  Position
	free  chan streamed
	ready chan streamed
}

// streamed is memory for a batch, and the batch in it or the error that came instead.
type streamed struct {
	*shelf
	batch Batch
	err   error
}

// run starts the goroutine that reads, hands its batches to yield, and ends it.
func (r *streaming) run(ctx context.Context, yield func(Batch, error) bool) {
	ctx = background.Or(ctx)
	inner, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		defer close(r.ready)
		if err := recovered(func() error { return r.read(inner) }); err != nil {
			r.ready <- streamed{err: err}
		}
	})
	for {
		var next streamed
		more := true
		select {
		case next, more = <-r.ready:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // even where a batch is ready too
			next.err, more = fmt.Errorf("data: %w", context.Cause(ctx)), true
		}
		if !more {
			return
		}
		if next.err != nil {
			yield(Batch{}, next.err)
			return
		}
		if !yield(next.batch, nil) {
			return
		}
		r.free <- next
	}
}

// read opens the source, and sends batches until it ends or ctx is done.
func (r *streaming) read(ctx context.Context) (err error) {
	from, err := r.Open(r.from.Epoch)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	if from == nil {
		return errors.New("data: Open gave no source")
	}
	defer func() {
		if e := from.Close(); e != nil && err == nil {
			err = fmt.Errorf("data: %w", e)
		}
	}()
	p, err := newPool(from, max(1, r.Shuffle), &source{seed: r.Seed, stream: poolStream, epoch: uint64(r.from.Epoch)})
	if err != nil {
		return err
	}
	if p.size == 0 {
		return fmt.Errorf("data: the source of epoch %d is empty", r.from.Epoch)
	}
	for n := 0; n < r.from.Sample && ctx.Err() == nil; n++ { // what came before
		if _, err := p.draw(tensor.Tensor{}, tensor.Tensor{}); err != nil {
			return err
		}
		if p.size == 0 {
			return fmt.Errorf("data: no position at sample %d of epoch %d: the source has %d samples", r.from.Sample, r.from.Epoch, n+1)
		}
	}
	for range streamBuffers {
		r.free <- streamed{shelf: newShelf(from, r.Batch)}
	}
	return r.batches(ctx, p)
}

// batches sends all batches that p gives.
func (r *streaming) batches(ctx context.Context, p *pool) error {
	var last *streamed // the batch before
	at := r.from
	for {
		select {
		case <-ctx.Done():
			return nil
		case b := <-r.free:
			next := b
			index, err := r.fill(ctx, p, b)
			if err != nil {
				if last != nil {
					r.ready <- *last
				}
				return err
			}
			at.Sample += len(index)
			next.batch = Batch{X: b.x.Rows(0, len(index)), Y: b.y.Rows(0, len(index)), Index: index, Next: at}
			over := p.size == 0
			if short := len(index) < r.Batch; short && r.DropLast {
				if last == nil {
					return fmt.Errorf("data: nothing is left: DropLast leaves out a short batch, and %d samples do not fill one of %d", len(index), r.Batch)
				}
				last.batch.Next = Position{Epoch: at.Epoch + 1}
				r.ready <- *last
				return nil
			}
			if last != nil {
				r.ready <- *last
			}
			if over {
				next.batch.Next = Position{Epoch: at.Epoch + 1}
				r.ready <- next
				return nil
			}
			last = &next
		}
	}
}

// fill draws a batch into b, a short one if the source ends or ctx is done.
func (r *streaming) fill(ctx context.Context, p *pool, b streamed) (index []int, err error) {
	s := &source{seed: r.Seed, epoch: uint64(r.from.Epoch)}
	random := rand.New(s)
	for row := 0; row < r.Batch && p.size > 0 && ctx.Err() == nil; row++ {
		if err := b.room(row); err != nil {
			return nil, err
		}
		i, err := p.draw(b.x.Row(row), b.y.Row(row))
		if err != nil {
			return nil, err
		}
		index = append(index, i)
		if r.Transform == nil {
			continue
		}
		s.stream, s.drawn = sampleStream+uint64(i), 0
		if err := r.Transform(random, b.x.Row(row)); err != nil {
			return nil, &SampleError{i, err}
		}
	}
	return index, nil
}
