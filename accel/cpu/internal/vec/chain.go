package vec

import (
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// Chain is a compiled program.
type Chain struct {
	operands
	n           int // elements
	block, part int // elements of a block, and of a part
	table       *table[float32]

	// A frame has the uniform values, each uniformBytes long, and then the slots.
	place []place // by register; of those that do not move, its offset in the frame
	bytes int     // of a frame
	words int     // where in a frame random words go

	uniforms []load        // uniform inputs, read once for a part
	prologue []instruction // uniform results, computed once for a part
	dense    []load        // inputs that are read where they lie
	spreads  []spread      // inputs that are spread out in slots
	body     []instruction // for each block
	stores   []store       // outputs that are copied from slots, after the body
	fenced   bool          // some of them past the caches

	src, dst [][]byte // of the run
}

// place is where a register lies while a block is computed.
type place struct {
	kind placeKind
	at   int // the offset in a frame, or the number of the output
}

type placeKind uint8

const (
	nowhere placeKind = iota // nobody reads it
	framed                   // in the frame
	input                    // in the caller's memory
	output                   // in the caller's memory
)

// load is an input that is read where it lies, or whose only value is.
type load struct{ register, input, size int }

// spread is an input whose elements are put in order, in a slot, for each block.
type spread struct {
	load
	walk
	period int  // if not 0, the input is dense and repeats after so many elements
	once   bool // a block is a whole number of periods, so all blocks of a part are alike
}

// store is an output that is copied from its register.
type store struct {
	register, output, size int
	step                   int // 0 if the register is uniform
	stream                 bool
}

// instruction is an Instr with its kernel.
type instruction struct {
	instr *Instr
	run   kernel
	dst   int // registers
	src   [3]int
	args  int
	step  [3]int
}

// Run computes the outputs.
func (c *Chain) Run(pool *work.Pool, in, out [][]byte) error {
	if err := c.check(in, out); err != nil {
		return err
	}
	if c.n > 0 {
		c.src, c.dst = in, out
		pool.Run(parts(c.n, c.part), c)
		c.src, c.dst = nil, nil
	}
	return nil
}

// Do computes one part.
func (c *Chain) Do(part int) {
	f := newFrame(c.bytes, len(c.place))
	base := unsafe.Pointer(unsafe.SliceData(f.buf))
	for r, p := range c.place {
		if p.kind == framed {
			f.ptr[r] = unsafe.Add(base, p.at)
		}
	}
	f.words = unsafe.Add(base, c.words)
	once := walk{n: []int{uniformLen}, stride: []int{0}}
	for _, l := range c.uniforms {
		once.size = l.size
		once.fill(f.ptr[l.register], unsafe.Pointer(&c.src[l.input][0]), 0, uniformLen)
	}
	for i := range c.prologue {
		c.prologue[i].do(f, 0, uniformLen)
	}
	end := min(c.n, (part+1)*c.part)
	first := true
	for start := part * c.part; start < end; start += c.block {
		c.doBlock(f, base, start, min(c.block, end-start), first)
		first = false
	}
	if c.fenced {
		c.table.fence()
	}
	f.free()
}

// doBlock computes n elements.
func (c *Chain) doBlock(f *frame, base unsafe.Pointer, start, n int, first bool) {
	for _, l := range c.dense {
		f.ptr[l.register] = unsafe.Pointer(&c.src[l.input][start*l.size])
	}
	for i := range c.spreads {
		s := &c.spreads[i]
		src := unsafe.Pointer(&c.src[s.input][0])
		slot := unsafe.Add(base, c.place[s.register].at)
		switch {
		case s.once && !first:
		case s.period > 0 && start%s.period+n <= s.period:
			f.ptr[s.register] = unsafe.Add(src, start%s.period*s.load.size)
		default:
			s.fill(slot, src, start, n)
			f.ptr[s.register] = slot
		}
	}
	for i := range c.body {
		in := &c.body[i]
		if p := c.place[in.dst]; p.kind == output {
			f.ptr[in.dst] = unsafe.Pointer(&c.dst[p.at][start*c.operands.out[p.at].dtype.Size()])
		}
		in.do(f, start, n)
	}
	for i := range c.stores {
		s := &c.stores[i]
		dst := unsafe.Pointer(&c.dst[s.output][start*s.size])
		c.store(s, dst, f.ptr[s.register], n)
	}
}

// do runs the kernel on n elements, of which the first is number start.
func (in *instruction) do(f *frame, start, n int) {
	c := &f.call
	c.dst, c.step, c.n, c.start, c.instr, c.words = f.ptr[in.dst], in.step, n, start, in.instr, f.words
	for j := range in.args {
		c.src[j] = f.ptr[in.src[j]]
	}
	in.run(c)
}

// store copies n elements of a register.
func (c *Chain) store(s *store, dst, src unsafe.Pointer, n int) {
	bytes := n * s.size
	switch {
	case s.step == 0:
		w := walk{n: []int{n}, stride: []int{0}, size: s.size}
		w.fill(dst, src, 0, n)
	case s.stream && bytes >= alignment && uintptr(dst)%alignment == 0 && !c.inPlace(s):
		whole := bytes &^ (alignment - 1)
		c.table.stream((*byte)(dst), (*byte)(src), whole)
		copy(unsafe.Slice((*byte)(dst), bytes)[whole:], unsafe.Slice((*byte)(src), bytes)[whole:])
	default:
		copy(unsafe.Slice((*byte)(dst), bytes), unsafe.Slice((*byte)(src), bytes))
	}
}

// inPlace reports whether the output is the memory of an input, which is in the caches already.
func (c *Chain) inPlace(s *store) bool {
	for _, l := range c.dense {
		if &c.src[l.input][0] == &c.dst[s.output][0] {
			return true
		}
	}
	return false
}
