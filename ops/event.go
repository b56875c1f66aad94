package ops

import (
	"context"
	"sync"

	"github.com/cortado-ml/cortado/internal/background"
)

// Event is the end of one run. It is reusable, so that a steady step allocates none: only a Wait that must block makes a waiter, which
// keeps the error apart from the event, so that a late waiter and an early Reset cannot meet.
type Event struct {
	mu      sync.Mutex
	pending bool
	err     error
	w       *waiter
}

type waiter struct {
	done chan struct{}
	err  error
}

// Reset makes the event pending.
func (e *Event) Reset() {
	e.mu.Lock()
	e.pending, e.err, e.w = true, nil, nil
	e.mu.Unlock()
}

// Finish ends it.
func (e *Event) Finish(err error) {
	e.mu.Lock()
	e.pending, e.err = false, err
	if e.w != nil {
		e.w.err = err
		close(e.w.done)
	}
	e.mu.Unlock()
}

// Finished reports whether the run is over. An event whose wait was abandoned is not reusable before: drop it.
func (e *Event) Finished() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.pending
}

// Wait returns the run's error. Cancelling ctx abandons the wait, not the work.
func (e *Event) Wait(ctx context.Context) error {
	e.mu.Lock()
	if !e.pending {
		defer e.mu.Unlock()
		return e.err
	}
	if e.w == nil {
		e.w = &waiter{done: make(chan struct{})}
	}
	w := e.w
	e.mu.Unlock()
	select {
	case <-w.done:
		return w.err
	case <-background.Or(ctx).Done():
		return context.Cause(ctx)
	}
}
