package acceltest

import (
	"context"
	"sync"

	"github.com/cortado-ml/cortado/accel"
)

// queue does a device's work in the order of the calls: at once on the caller's goroutine, or later on one of its own. It has no bound,
// so that putting something in it never blocks.
type queue struct {
	inline bool

	mu     sync.Mutex
	news   sync.Cond // something below has changed
	tasks  []task
	budget int // how many runs may still start; below zero for any number
	closed bool
	ended  chan struct{}
}

// task is one piece of work. A paused queue stops before a run, and what lies behind the run waits with it.
type task struct {
	do  func()
	run bool
}

func newQueue(inline bool) *queue {
	q := &queue{inline: inline, budget: -1, ended: make(chan struct{})}
	q.news.L = &q.mu
	if inline {
		close(q.ended)
	} else {
		go q.work()
	}
	return q
}

// work is the queue's goroutine. It ends when the queue is closed and empty.
func (q *queue) work() {
	defer close(q.ended)
	for {
		q.mu.Lock()
		for !q.closed && (len(q.tasks) == 0 || q.tasks[0].run && q.budget == 0) {
			q.news.Wait()
		}
		if len(q.tasks) == 0 {
			q.mu.Unlock()
			return
		}
		t := q.tasks[0]
		q.tasks = q.tasks[1:]
		if t.run && q.budget > 0 {
			q.budget--
		}
		q.mu.Unlock()
		t.do()
	}
}

// add puts work behind all that was added before, or answers ErrClosed.
func (q *queue) add(t task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return accel.ErrClosed
	}
	if q.inline {
		t.do()
		return nil
	}
	q.tasks = append(q.tasks, t)
	q.news.Signal()
	return nil
}

// ask does f in order and returns its answer. Cancelling ctx abandons the wait; f is done all the same.
func (q *queue) ask(ctx context.Context, f func() error) error {
	answer := make(chan error, 1)
	if err := q.add(task{do: func() { answer <- f() }}); err != nil {
		return err
	}
	select {
	case err := <-answer:
		return err
	default:
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// allow sets how many runs may start; below zero for any number.
func (q *queue) allow(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.budget = n
	q.news.Signal()
}

// permit lets n more runs start.
func (q *queue) permit(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.budget >= 0 {
		q.budget += n
	}
	q.news.Signal()
}

// close ends the work that is in the queue; a pause ends too.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.news.Signal()
	q.mu.Unlock()
	<-q.ended
}
