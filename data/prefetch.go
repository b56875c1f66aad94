package data

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"

	"github.com/cortado-ml/cortado/tensor"
)

// prefetch is one run through the rest of an epoch.
type prefetch struct {
	Loader
	from    Position
	order   []int // the samples still to come
	batches int
	workers int
	x, y    tensor.Spec // of a full batch
}

// worker prepares every batch whose number is its own modulo the number of workers. So who prepares what is fixed, and the batches come in
// order without a queue that sorts.
type worker struct {
	free  chan buffer
	ready chan prepared
}

// buffer is memory of a full batch.
type buffer struct{ x, y tensor.Tensor }

// prepared is a batch in its buffer, or the error that came instead.
type prepared struct {
	buffer
	batch Batch
	err   error
}

// buffersEach lets a worker prepare a batch while the loop's body works on another.
const buffersEach = 2

// run starts the workers, hands their batches to yield in order, and ends them.
func (p *prefetch) run(ctx context.Context, yield func(Batch, error) bool) {
	inner, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	workers := make([]worker, p.workers)
	for i := range workers {
		w := worker{make(chan buffer, buffersEach), make(chan prepared, buffersEach)}
		for range buffersEach {
			w.free <- buffer{tensor.New(p.x), tensor.New(p.y)}
		}
		workers[i] = w
		running.Go(func() { p.work(inner, w, i) })
	}
	for k := range p.batches {
		w := workers[k%p.workers]
		var next prepared
		select {
		case next = <-w.ready:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // even where a batch is ready too
			next.err = fmt.Errorf("data: %w", context.Cause(ctx))
		}
		if next.err != nil {
			yield(Batch{}, next.err)
			return
		}
		if !yield(next.batch, nil) {
			return
		}
		w.free <- next.buffer
	}
}

// work is one worker's life. It never blocks on ready, which has room for all its buffers.
func (p *prefetch) work(ctx context.Context, w worker, number int) {
	s := &source{seed: p.Seed, epoch: uint64(p.from.Epoch)}
	random := rand.New(s)
	for k := number; k < p.batches; k += p.workers {
		select {
		case b := <-w.free:
			next := prepared{buffer: b}
			next.batch, next.err = p.fill(ctx, b, k, s, random)
			w.ready <- next
			if next.err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// fill prepares batch k in b. When ctx is done it returns early, with whatever: nobody will look.
func (p *prefetch) fill(ctx context.Context, b buffer, k int, s *source, random *rand.Rand) (Batch, error) {
	lo := k * p.Batch
	hi := min(lo+p.Batch, len(p.order))
	batch := Batch{X: b.x.Rows(0, hi-lo), Y: b.y.Rows(0, hi-lo), Index: p.order[lo:hi:hi], Next: Position{p.from.Epoch, p.from.Sample + hi}}
	if k == p.batches-1 {
		batch.Next = Position{Epoch: p.from.Epoch + 1}
	}
	for row, i := range batch.Index {
		if ctx.Err() != nil {
			return batch, nil
		}
		s.stream, s.drawn = sampleStream+uint64(i), 0
		if err := p.sample(i, b.x.Row(row), b.y.Row(row), random); err != nil {
			return batch, &SampleError{i, err}
		}
	}
	return batch, nil
}

// sample reads and changes one sample.
func (p *prefetch) sample(i int, x, y tensor.Tensor, random *rand.Rand) error {
	return recovered(func() error {
		if err := p.Data.Sample(i, x, y); err != nil || p.Transform == nil {
			return err
		}
		return p.Transform(random, x)
	})
}

// recovered calls f. A panic in it, in code that is the user's, becomes an error: a goroutine that nobody can recover must not end the
// program.
func recovered(f func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return f()
}
