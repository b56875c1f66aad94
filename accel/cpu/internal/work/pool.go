package work

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Task is work in independent parts. A pointer makes a Task without allocation.
type Task interface {
	// Do does part i. Parts are done in any order, several at once.
	Do(i int)
}

// Pool is a number of threads that share work: the goroutine that calls Run,
// and persistent workers. Many goroutines may call Run at once, tasks too: a
// caller does every part that no worker takes, so Run never waits for a free
// worker.
type Pool struct {
	threads int

	jobs atomic.Int32 // how many jobs are linked; read without the lock by workers that spin

	mu          sync.Mutex
	first, last *job      // jobs that may have unclaimed parts, in order of arrival
	free        *job      // jobs for reuse
	idle        []*worker // workers that are parked
	closed      bool
}

// worker is a goroutine that is parked, or looks for jobs.
type worker struct {
	thread int // from 1; callers of Run are thread 0
	wake   chan struct{}
}

// New starts a pool of that many threads, the caller of Run among them; less
// than one counts as one. Close ends its goroutines.
func New(threads int) *Pool {
	p := &Pool{threads: max(threads, 1)}
	p.idle = make([]*worker, 0, p.threads-1)
	for i := range p.threads - 1 {
		go p.serve(&worker{thread: i + 1, wake: make(chan struct{}, 1)})
	}
	return p
}

// Threads returns the number of threads, the caller of Run among them.
func (p *Pool) Threads() int { return p.threads }

// Close ends the workers once they have nothing to do. A Run that is under way,
// or comes later, is completed by its caller.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.wake(len(p.idle))
}

// Run calls t.Do(0) ... t.Do(n-1) and returns when all are done. Each thread
// begins with a range of its own, the same for every task of n parts, so that what
// one task leaves in a core's cache is there for the next. It allocates
// nothing once the pool has met as many simultaneous calls before. If a part
// panics, parts not begun are left out, and Run panics with a *Panic when those
// under way are done.
func (p *Pool) Run(n int, t Task) {
	if n <= 1 || p.threads == 1 {
		if err := alone(n, t); err != nil {
			panic(err)
		}
		return
	}
	j := p.start(n, t)
	j.work(0)
	p.unlink(j)
	j.wait()
	err := j.failure.Load()
	p.recycle(j)
	if err != nil {
		panic(err)
	}
}

// start links a job and wakes workers for it.
func (p *Pool) start(n int, t Task) *job {
	p.mu.Lock()
	j := p.free
	if j == nil {
		j = newJob(p.threads)
	} else {
		p.free = j.next
	}
	j.reset(n, t)
	j.next, j.prev, j.linked = nil, p.last, true
	if p.last == nil {
		p.first = j
	} else {
		p.last.next = j
	}
	p.last = j
	p.jobs.Add(1)
	p.wake(n - 1)
	p.mu.Unlock()
	return j
}

// wake unparks up to n workers. The lock is held.
func (p *Pool) wake(n int) {
	for ; n > 0 && len(p.idle) > 0; n-- {
		last := len(p.idle) - 1
		p.idle[last].wake <- struct{}{} // does not block: a parked worker's channel is empty
		p.idle = p.idle[:last]
	}
}

// unlink takes a job off the list, where no worker finds it any more.
func (p *Pool) unlink(j *job) {
	p.mu.Lock()
	p.unlinkLocked(j)
	p.mu.Unlock()
}

func (p *Pool) unlinkLocked(j *job) {
	if !j.linked {
		return
	}
	j.linked = false
	if j.prev == nil {
		p.first = j.next
	} else {
		j.prev.next = j.next
	}
	if j.next == nil {
		p.last = j.prev
	} else {
		j.next.prev = j.prev
	}
	p.jobs.Add(-1)
}

// recycle keeps a job that nobody uses for the next Run.
func (p *Pool) recycle(j *job) {
	j.task = nil
	j.failure.Store(nil)
	p.mu.Lock()
	j.next, p.free = p.free, j
	p.mu.Unlock()
}

// take returns a job with unclaimed parts, which the worker then uses, or nil. The lock is held.
func (p *Pool) take() *job {
	for j := p.first; j != nil; j = p.first {
		if j.open() {
			j.users.Add(1)
			return j
		}
		p.unlinkLocked(j)
	}
	return nil
}

// serve is the life of a worker.
func (p *Pool) serve(w *worker) {
	for {
		found := spin(func() bool { return p.jobs.Load() > 0 })
		p.mu.Lock()
		j := p.take()
		closed := p.closed
		park := j == nil && !found && !closed
		if park {
			p.idle = append(p.idle, w)
		}
		p.mu.Unlock()
		switch {
		case j != nil:
			j.work(w.thread)
			j.leave()
		case park:
			<-w.wake
		case closed:
			return
		}
		// Else the job found was about to end: the next may follow at once.
	}
}

// patience is how long a goroutine polls before it parks. The parts of one
// program follow each other within microseconds, while waking a parked thread
// of a virtual machine takes 30.
const patience = 100 * time.Microsecond

// spin polls until done, but not longer than patience, and reports whether it is
// done. It yields, so that the goroutines of others get their turn; with one
// processor it would only delay them.
func spin(done func() bool) bool {
	if done() {
		return true
	}
	if runtime.GOMAXPROCS(0) == 1 {
		return false
	}
	for start := time.Now(); time.Since(start) < patience; runtime.Gosched() {
		for range 50 {
			if done() {
				return true
			}
		}
	}
	return false
}
