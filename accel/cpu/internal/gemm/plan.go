package gemm

import (
	"fmt"
	"sync"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// Plan is a product of fixed shape at a fixed level. Only one Run may be under way at a time.
type Plan[T Float] struct {
	Shape
	kern *kernels[T]

	// The blocking. A task is a block of rows times a strip of columns of one
	// product; it goes through K in blocks, and packs what it must for itself.
	kBlock, rowBlock, strip int
	rowBlocks, strips       int
	packB                   packing
	panelB                  int // values from one packed panel of B to the next
	scratch                 int // values of one thread
	lenA, lenB, lenC        int

	call[T]
}

// call is what one Run works on.
type call[T Float] struct {
	a, b, bias, c []T
	memory        []T
	mu            sync.Mutex
	slots         []int // parts of memory that no thread uses
}

// NewPlan plans the product for a level of this processor. An error is about the shape.
func NewPlan[T Float](level isa.Level, s Shape) (*Plan[T], error) {
	s = s.dense()
	if err := s.check(); err != nil {
		return nil, err
	}
	p := &Plan[T]{Shape: s, kern: kernelsOf[T](level)}
	p.lenA, p.lenB, p.lenC = s.lens()
	p.partition()
	return p, nil
}

// Scratch returns how many values of scratch memory Run needs with so many threads.
func (p *Plan[T]) Scratch(threads int) int {
	return p.scratch * min(max(threads, 1), p.tasks())
}

func (p *Plan[T]) tasks() int { return p.products() * p.rowBlocks * p.strips }

// Run stores the product in c. scratch has at least Scratch(pool.Threads())
// values, best on a cache line boundary; what it holds does not matter. bias has N values, or
// is nil. No slice overlaps c. It panics if a slice is too short, or if a task does.
func (p *Plan[T]) Run(pool *work.Pool, scratch, a, b, bias, c []T) {
	threads := min(pool.Threads(), p.tasks())
	switch {
	case len(a) < p.lenA || len(b) < p.lenB || len(c) < p.lenC:
		panic(fmt.Sprintf("gemm: a, b, c have %d, %d, %d values, need %d, %d, %d", len(a), len(b), len(c), p.lenA, p.lenB, p.lenC))
	case p.Bias && len(bias) < p.N:
		panic(fmt.Sprintf("gemm: bias has %d values, needs %d", len(bias), p.N))
	case len(scratch) < p.scratch*threads:
		panic(fmt.Sprintf("gemm: scratch has %d values, needs %d", len(scratch), p.scratch*threads))
	}
	p.a, p.b, p.bias, p.c, p.memory = a, b, bias, c, scratch
	p.slots = p.slots[:0]
	for i := range threads {
		p.slots = append(p.slots, i)
	}
	pool.Run(p.tasks(), p)
	p.a, p.b, p.bias, p.c, p.memory = nil, nil, nil, nil, nil
}

// acquire takes a thread's part of the scratch memory.
func (p *Plan[T]) acquire() (slot int, memory []T) {
	p.mu.Lock()
	last := len(p.slots) - 1
	slot = p.slots[last]
	p.slots = p.slots[:last]
	p.mu.Unlock()
	return slot, p.memory[slot*p.scratch:][:p.scratch]
}

func (p *Plan[T]) release(slot int) {
	p.mu.Lock()
	p.slots = append(p.slots, slot)
	p.mu.Unlock()
}
