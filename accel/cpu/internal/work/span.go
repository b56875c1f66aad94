package work

import "sync/atomic"

// span is a range of parts from which several threads take: its owner from the
// front, others from the back, so that neighbours in memory stay with one
// thread. It fills a cache line.
type span struct {
	ends atomic.Uint64 // the first part that is left, and above it the end
	_    [56]byte
}

func (s *span) set(from, to int) { s.ends.Store(uint64(from) | uint64(to)<<32) }

func (s *span) empty() bool {
	e := s.ends.Load()
	return uint32(e) >= uint32(e>>32)
}

func (s *span) first() (i int, ok bool) {
	for {
		e := s.ends.Load()
		from, to := uint32(e), uint32(e>>32)
		if from >= to {
			return 0, false
		}
		if s.ends.CompareAndSwap(e, e+1) {
			return int(from), true
		}
	}
}

func (s *span) last() (i int, ok bool) {
	for {
		e := s.ends.Load()
		from, to := uint32(e), uint32(e>>32)
		if from >= to {
			return 0, false
		}
		if s.ends.CompareAndSwap(e, e-1<<32) {
			return int(to - 1), true
		}
	}
}
