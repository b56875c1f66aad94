package data

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/cortado-ml/cortado/internal/background"
	"github.com/cortado-ml/cortado/tensor"
)

// prefetch is one run through the rest of an epoch.
type prefetch struct {
	batches   []planned
	workers   int
	seed      uint64
	epoch     int
	transform Transform
	x, y      tensor.Spec // room for the largest batch: [elements]
	lengths   tensor.Spec
}

// planned is a batch that is to come: samples of a data set, the Specs they have together, and what follows.
type planned struct {
	set   Dataset
	index []int
	x, y  tensor.Spec
	next  Position

	lengths tensor.Spec // the zero Spec if nobody knows any
}

// newPrefetch shares the batches among the workers, 0 for the usual number.
func newPrefetch(l Loader, epoch int, batches []planned) *prefetch {
	p := &prefetch{batches: batches, seed: l.Seed, epoch: epoch, transform: l.Transform, workers: l.Workers}
	for _, b := range batches {
		p.x, p.y, p.lengths = larger(p.x, b.x), larger(p.y, b.y), larger(p.lengths, b.lengths)
	}
	if p.workers == 0 {
		p.workers = max(1, min(8, runtime.GOMAXPROCS(0)/2))
	}
	p.workers = min(p.workers, len(batches))
	return p
}

// larger is room for what fits into room, and for s. The zero Spec needs none.
func larger(room, s tensor.Spec) tensor.Spec {
	if s == (tensor.Spec{}) || room.DType == s.DType && room.Shape.Size() >= s.Shape.Size() {
		return room
	}
	return tensor.SpecOf(s.DType, s.Shape.Size())
}

// worker prepares every batch whose number is its own modulo the number of workers. So who prepares what is fixed, and the batches come in
// order without a queue that sorts.
type worker struct {
	free  chan buffer
	ready chan prepared
}

// buffer is memory of the largest batch.
type buffer struct{ x, y, lengths room }

// room is memory, and the arrays that have been made of it.
type room struct {
	all   tensor.Tensor // [elements], or none
	views map[tensor.Spec]tensor.Tensor
}

func newRoom(s tensor.Spec) room { return room{tensor.New(s), map[tensor.Spec]tensor.Tensor{}} }

// as is the start of the room as an array; none for the zero Spec.
func (r room) as(s tensor.Spec) tensor.Tensor {
	t, there := r.views[s]
	if !there && s != (tensor.Spec{}) {
		t, _ = r.all.Rows(0, s.Shape.Size()).Reshape(s.Shape.Dims()...) // always has room
		r.views[s] = t
	}
	return t
}

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
	ctx = background.Or(ctx)
	inner, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	workers := make([]worker, p.workers)
	for i := range workers {
		w := worker{make(chan buffer, buffersEach), make(chan prepared, buffersEach)}
		for range buffersEach {
			w.free <- buffer{newRoom(p.x), newRoom(p.y), newRoom(p.lengths)}
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
	s := &source{seed: p.seed, epoch: uint64(p.epoch)}
	random := rand.New(s)
	for k := number; k < len(p.batches); k += p.workers {
		select {
		case b := <-w.free:
			next := prepared{buffer: b}
			next.batch, next.err = p.fill(ctx, b, p.batches[k], s, random)
			w.ready <- next
			if next.err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// fill prepares a batch in b. When ctx is done it returns early, with whatever: nobody will look.
func (p *prefetch) fill(ctx context.Context, b buffer, plan planned, s *source, random *rand.Rand) (Batch, error) {
	batch := Batch{X: b.x.as(plan.x), Y: b.y.as(plan.y), Lengths: b.lengths.as(plan.lengths), Index: plan.index, Next: plan.next}
	for row, i := range plan.index {
		if ctx.Err() != nil {
			return batch, nil
		}
		s.stream, s.drawn = sampleStream+uint64(i), 0
		if err := p.sample(plan.set, i, batch.X.Row(row), batch.Y.Row(row), random); err != nil {
			return batch, &SampleError{i, err}
		}
		if s, ok := plan.set.(long); ok {
			batch.Lengths.SetInt(row, int64(s.Length(i)))
		}
	}
	return batch, nil
}

// sample reads and changes one sample.
func (p *prefetch) sample(set Dataset, i int, x, y tensor.Tensor, random *rand.Rand) error {
	return recovered(func() error {
		if err := set.Sample(i, x, y); err != nil || p.transform == nil {
			return err
		}
		return p.transform(random, x)
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
