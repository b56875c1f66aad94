package vec

import (
	"sync"
	"unsafe"
)

// frame is the working memory of one part of a step. Parts run on any number of goroutines, each with a frame of its own.
type frame struct {
	buf   []byte            // aligned to 64 bytes
	acc   [maxLanes]float64 // partial results of reductions
	call  call              // of the instruction being run
	ptr   []unsafe.Pointer  // of each register of a chain
	words unsafe.Pointer    // room for random words, in buf, of a chain that draws them
}

// frames keeps frames for reuse: there are as many as parts have run at once.
var frames = sync.Pool{New: func() any { return new(frame) }}

// newFrame returns a frame with that many bytes and registers.
func newFrame(bytes, registers int) *frame {
	f := frames.Get().(*frame)
	if len(f.buf) < bytes {
		b := make([]byte, bytes+alignment)
		skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (alignment - 1)
		f.buf = b[skip : skip+bytes]
	}
	if len(f.ptr) < registers {
		f.ptr = make([]unsafe.Pointer, registers)
	}
	return f
}

// free forgets the caller's memory and gives the frame back.
func (f *frame) free() {
	clear(f.ptr)
	f.call, f.words = call{}, nil
	frames.Put(f)
}

// alignment is a cache line, and the widest vector.
const alignment = 64

// align rounds up to whole cache lines.
func align(bytes int) int { return (bytes + alignment - 1) &^ (alignment - 1) }
