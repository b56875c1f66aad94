package conv

import (
	"sync"

	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// small is the time, in nanoseconds, below which waking another thread costs more than it saves.
const small = 20_000

// run does n parts of a task, on the caller's goroutine alone where the work is
// small. ns is what one thread takes, roughly.
func run(pool *work.Pool, ns, n int, t work.Task) {
	if ns >= small {
		pool.Run(n, t)
		return
	}
	for i := range n {
		t.Do(i)
	}
}

// slots hands out pieces of scratch to the parts of a task. At most as many
// parts run at once as the pool has threads.
type slots struct {
	mu   sync.Mutex
	free []int
}

// reset makes slots 0 to n-1 free.
func (s *slots) reset(n int) {
	s.free = s.free[:0]
	for i := range n {
		s.free = append(s.free, i)
	}
}

func (s *slots) take() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return i
}

func (s *slots) give(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, i)
}
