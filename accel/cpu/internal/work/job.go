package work

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// job is one Run under way. Its caller uses it, and each worker that helps.
type job struct {
	task    Task
	ranges  []span // of parts, one for each thread
	failure atomic.Pointer[Panic]

	users atomic.Int32  // goroutines that may still touch the job, and parked
	done  chan struct{} // tells a parked caller that the last worker has left

	next, prev *job // in the pool's list, under its lock
	linked     bool
}

// parked is added to users by a caller that waits on done.
const parked = 1 << 30

func newJob(threads int) *job {
	return &job{ranges: make([]span, threads), done: make(chan struct{}, 1)}
}

// reset makes it the job of doing n parts of a task. Nobody else uses it.
func (j *job) reset(n int, t Task) {
	j.task = t
	for i := range j.ranges {
		threads := len(j.ranges)
		j.ranges[i].set(i*n/threads, (i+1)*n/threads)
	}
	j.users.Store(1)
}

// open reports whether there are parts that nobody has claimed.
func (j *job) open() bool {
	for i := range j.ranges {
		if !j.ranges[i].empty() {
			return true
		}
	}
	return false
}

// claim returns a part for a thread: the next of its own range or, when that is
// done, the last of another's.
func (j *job) claim(thread int) (i int, ok bool) {
	if i, ok = j.ranges[thread].first(); ok {
		return i, true
	}
	for k := 1; k < len(j.ranges); k++ {
		if i, ok = j.ranges[(thread+k)%len(j.ranges)].last(); ok {
			return i, true
		}
	}
	return 0, false
}

// work does parts until none is left to claim.
func (j *job) work(thread int) {
	finished := false
	defer func() {
		if !finished {
			j.failure.CompareAndSwap(nil, capture(recover()))
			for i := range j.ranges { // nobody begins another part
				j.ranges[i].set(0, 0)
			}
		}
	}()
	for i, ok := j.claim(thread); ok; i, ok = j.claim(thread) {
		j.task.Do(i)
	}
	finished = true
}

// leave is a worker's last touch of the job.
func (j *job) leave() {
	if j.users.Add(-1) == parked {
		j.done <- struct{}{}
	}
}

// wait returns when the caller alone uses the job.
func (j *job) wait() {
	if spin(func() bool { return j.users.Load() == 1 }) {
		return
	}
	// Whoever leaves last sees parked and sends, unless all left before it was set.
	if j.users.Add(parked-1) != parked {
		<-j.done
	}
}

// alone does all parts on the caller's goroutine.
func alone(n int, t Task) (err *Panic) {
	finished := false
	defer func() {
		if !finished {
			err = capture(recover())
		}
	}()
	for i := range n {
		t.Do(i)
	}
	finished = true
	return nil
}

// Panic is what Run panics with when a part has panicked, on whatever goroutine.
type Panic struct {
	Value any    // of the part's panic
	Stack []byte // of its goroutine
}

// Error is the value and the stack.
func (p *Panic) Error() string { return fmt.Sprintf("work: %v\n%s", p.Value, p.Stack) }

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

var errExit = errors.New("work: a part called runtime.Goexit")

// capture wraps the value of a panic. A nested Run has wrapped it before; nil means that the goroutine exits.
func capture(v any) *Panic {
	switch v := v.(type) {
	case nil:
		return &Panic{errExit, debug.Stack()}
	case *Panic:
		return v
	}
	return &Panic{v, debug.Stack()}
}
