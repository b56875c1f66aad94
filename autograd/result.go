package autograd

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/cortado-ml/cortado/internal/background"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// slot holds one run's results. It is guarded by Tape.mu but for res, which its holders use.
type slot struct {
	t    *Tape
	gen  uint64
	refs int
	step int64
	seen bool // somebody was told of the error
	res  *ops.Results
	num  tensor.Tensor // scratch of Float
}

func (t *Tape) get() *slot {
	t.mu.Lock()
	defer t.mu.Unlock()
	var s *slot
	if n := len(t.free); n > 0 {
		s, t.free = t.free[n-1], t.free[:n-1]
	} else {
		s = &slot{t: t, res: &ops.Results{}}
		runtime.AddCleanup(s, freeAll, s.res) // a Result that nobody released
	}
	s.refs, s.seen, s.step = 1, false, t.step
	return s
}

func (t *Tape) put(s *slot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.refs--; s.refs > 0 {
		return
	}
	s.gen++
	if s.res.Done.Finished() {
		t.free = append(t.free, s)
		return
	}
	freeAll(s.res) // abandoned: the run still owns the event; the device frees in its order
}

func freeAll(res *ops.Results) {
	for _, b := range res.Bufs {
		if b != nil {
			b.Free()
		}
	}
	res.Bufs = nil
}

// wait is the run's error, explained and marked as told.
func (s *slot) wait(ctx context.Context) error {
	err := s.res.Done.Wait(ctx)
	if err == nil {
		return nil
	}
	if !s.res.Done.Finished() {
		return err // the wait was cancelled, not the run
	}
	s.t.mu.Lock()
	if !s.seen {
		s.t.lost++
	}
	s.seen = true
	s.t.mu.Unlock()
	return &StepError{s.step, s.res.Explain(err)}
}

// Result is what a Step computed, a small value. It stays readable until Release, however many steps follow; after Release it says so
// instead of reading another step's numbers. Releasing makes steps free of allocation.
type Result struct {
	s   *slot
	gen uint64
	n   int
}

// errNoResult is what the zero Result answers.
var errNoResult = errors.New("autograd: the zero Result")

// hold keeps the slot while it is read: a Release by another goroutine takes effect afterwards. The caller puts it back if err is nil.
func (r Result) hold(ctx context.Context) error {
	ctx = background.Or(ctx)
	if r.s == nil {
		return errNoResult
	}
	t := r.s.t
	t.mu.Lock()
	ok := r.s.gen == r.gen
	if ok {
		r.s.refs++
	}
	t.mu.Unlock()
	if !ok {
		return fmt.Errorf("autograd: %w: a Result read after Release", ops.ErrMisuse)
	}
	err := r.s.wait(ctx)
	if err != nil {
		t.put(r.s)
	}
	return err
}

// buffer is the storage of result i of a held slot.
func (r Result) buffer(i int) (ops.Storage, error) {
	if i < 0 || i >= r.n {
		return nil, fmt.Errorf("autograd: %w: result %d of %d", ops.ErrMisuse, i, r.n)
	}
	return r.s.res.Bufs[i], nil
}

// Wait returns the step's error.
func (r Result) Wait(ctx context.Context) error {
	err := r.hold(ctx)
	if err == nil {
		r.s.t.put(r.s)
	}
	return err
}

// Tensor downloads result i.
func (r Result) Tensor(ctx context.Context, i int) (tensor.Tensor, error) {
	if err := r.hold(ctx); err != nil {
		return tensor.Tensor{}, err
	}
	defer r.s.t.put(r.s)
	b, err := r.buffer(i)
	if err != nil {
		return tensor.Tensor{}, err
	}
	x := tensor.New(b.Spec())
	return x, b.Download(background.Or(ctx), x)
}

// Float reads result i, which has one element, without allocating; one goroutine at a time.
func (r Result) Float(ctx context.Context, i int) (float64, error) {
	if err := r.hold(ctx); err != nil {
		return 0, err
	}
	defer r.s.t.put(r.s)
	b, err := r.buffer(i)
	if err != nil {
		return 0, err
	}
	if b.Spec().Shape.Size() != 1 {
		return 0, fmt.Errorf("autograd: %w: result %d is %v, not one number", ops.ErrMisuse, i, b.Spec())
	}
	if r.s.num.Spec() != b.Spec() {
		r.s.num = tensor.New(b.Spec())
	}
	if err := b.Download(background.Or(ctx), r.s.num); err != nil {
		return 0, err
	}
	return r.s.num.At(0), nil
}

// Release gives the result's storage back to the tape.
func (r Result) Release() {
	if r.s == nil {
		return
	}
	t := r.s.t
	t.mu.Lock()
	ok := r.s.gen == r.gen
	if ok {
		r.s.gen++
	}
	t.mu.Unlock()
	if ok {
		t.put(r.s)
	}
}
