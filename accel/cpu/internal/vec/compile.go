package vec

import (
	"fmt"
	"slices"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/tensor"
)

const (
	// cacheBytes is how much the operands of one block may take together, so that all of them stay in the first-level cache.
	cacheBytes = 48 << 10
	// A block has at least and at most so many elements, unless broadcasting asks for more: a call should cost little.
	minBlock, maxBlock = 256, 2048
	// streamBlock is the most for each unit of an element's price where an output goes past the caches: the shorter the block, the more its reads overlap the
	// writes of the one before; but what takes longer than the memory has nothing to gain from that.
	streamBlock = 32
	// blockUnit divides the number of elements in a block: whole vectors, and whole cache lines of four-byte elements.
	blockUnit = 16
	// partPrice is how much work one part of a chain is, in elements times price: some 10 microseconds.
	partPrice = 1 << 19
	// memoryPrice is what it costs to read or write an element in memory, an addition in the cache being 1.
	memoryPrice = 2
	// streamBytes is from what size on an output is written past the caches: beyond what a last-level cache keeps for its reader. (Memory that
	// is written in the usual way is read first. Avoiding that gains a factor of 1.3 to 1.8 on some processors, and nothing on Zen 4.)
	streamBytes = 32 << 20
	// uniformBytes is the room for one uniform value: uniformLen elements of any size.
	uniformBytes = 8 * uniformLen
)

// Compile plans a chain: each instruction runs on a block of elements that is small enough for its operands to stay in the cache, so
// only inputs and outputs meet main memory.
//
// An output may be the very memory of an input that has the program's shape and as large elements. Otherwise no output overlaps an input.
func Compile(l isa.Level, p *Program) (*Chain, error) {
	types, err := p.types()
	if err != nil {
		return nil, err
	}
	if err := p.Shape.Check(); err != nil {
		return nil, fmt.Errorf("vec: chain: %w", err)
	}
	if len(p.Outputs) == 0 {
		return nil, fmt.Errorf("vec: chain: no outputs")
	}
	own := *p // the compiler changes the code
	c := &compiler{
		Program: &own, level: l, types: types,
		Chain: &Chain{n: p.Shape.Size(), table: f32At(l), place: make([]place, len(types))},
	}
	c.analyse()
	c.describe()
	c.loads()
	c.code()
	c.size()
	return c.Chain, nil
}

// compiler turns a program into a Chain.
type compiler struct {
	*Program
	*Chain
	level   isa.Level
	types   []tensor.DType
	walks   []walk // of the inputs
	uniform []bool // by register: all elements are the same
	last    []int  // by register: the last instruction that reads it, -1 if nobody does, len(Code) if it is an output
	slots   []int  // the size of an element of each slot; until the block's size is known, the places of registers are numbers of slots
	free    []int  // slots that hold nothing now
}

// analyse finds which registers are uniform, which instructions are one, and when each register is last read.
func (c *compiler) analyse() {
	axes := coalesce(c.Shape, c.Inputs)
	for j, in := range c.Inputs {
		w := walkOf(axes, j, in.DType.Size())
		c.walks = append(c.walks, w)
		c.uniform = append(c.uniform, w.uniform())
	}
	for _, in := range c.Code {
		k := ops[in.Op].kind
		u := k != random && k != mask
		for _, a := range in.args() {
			u = u && c.uniform[a]
		}
		c.uniform = append(c.uniform, u)
	}
	c.fuse()
	c.last = slices.Repeat([]int{-1}, len(c.types))
	for _, r := range c.Outputs {
		c.last[r] = len(c.Code)
	}
	for i, in := range slices.Backward(c.Code) {
		if c.last[c.result(i)] >= 0 {
			for _, a := range in.args() {
				c.last[a] = max(c.last[a], i)
			}
		}
	}
}

// result is the register that instruction i writes.
func (c *compiler) result(i int) int { return len(c.Inputs) + i }

// args are the registers that an instruction reads.
func (in *Instr) args() []Reg { return in.Args[:ops[in.Op].args] }

// describe records how long the operands are.
func (c *compiler) describe() {
	c.name = "chain"
	for j, in := range c.Inputs {
		n := min(1, c.n)
		for i, d := range c.walks[j].n {
			n += (d - 1) * c.walks[j].stride[i]
		}
		c.in = append(c.in, array{in.DType, max(n, 0)})
	}
	for _, r := range c.Outputs {
		c.out = append(c.out, array{c.types[r], c.n})
	}
}

// loads places the inputs.
func (c *compiler) loads() {
	for r, w := range c.walks {
		l := load{r, r, w.size}
		switch {
		case c.last[r] < 0:
		case c.uniform[r]:
			c.place[r].kind = framed
			c.uniforms = append(c.uniforms, l)
		case w.dense() && c.last[r] < len(c.Code):
			c.place[r].kind = input
			c.dense = append(c.dense, l)
		default: // an input that is an output too is copied first, since another output may overwrite it
			c.place[r] = place{framed, c.slot(w.size)}
			c.spreads = append(c.spreads, spread{load: l, walk: w, period: w.period()})
		}
	}
}

// code places the results, and selects the kernels.
func (c *compiler) code() {
	for i := range c.Code {
		in, r := &c.Code[i], c.result(i)
		if c.last[r] < 0 {
			continue
		}
		s := instruction{instr: in, dst: r, args: len(in.args())}
		var args [3]tensor.DType
		for j, a := range in.args() {
			s.src[j], args[j] = int(a), c.types[a]
			if c.uniform[r] || !c.uniform[a] {
				s.step[j] = 1
			}
		}
		s.run = lookup(c.level, in, args)
		if c.uniform[r] {
			c.place[r].kind = framed
			c.prologue = append(c.prologue, s)
			continue
		}
		c.body = append(c.body, s)
		size := c.types[r].Size()
		c.release(in, i, func(s int) bool { return s == size }) // the result may take an operand's slot, element by element
		if out, ok := c.direct(i); ok {
			c.place[r] = place{output, out}
		} else {
			c.place[r] = place{framed, c.slot(size)}
		}
		c.release(in, i, func(s int) bool { return s != size })
	}
	for j, r := range c.Outputs {
		if c.place[r] == (place{output, j}) {
			continue
		}
		s := store{register: int(r), output: j, size: c.types[r].Size(), stream: c.large(r)}
		if !c.uniform[r] {
			s.step = 1
		}
		c.stores = append(c.stores, s)
		c.fenced = c.fenced || s.stream
	}
}

// large reports whether an output of this type should be written past the caches.
func (c *compiler) large(r Reg) bool {
	return c.table.stream != nil && c.n*c.types[r].Size() >= streamBytes
}

// direct finds an output that instruction i can write where it shall be: later instructions must not read an input, since the output may lie on
// it.
func (c *compiler) direct(i int) (out int, ok bool) {
	r := Reg(c.result(i))
	out = slices.Index(c.Outputs, r)
	if out < 0 || c.large(r) {
		return 0, false
	}
	for _, l := range c.dense {
		if c.last[l.register] > i {
			return 0, false
		}
	}
	return out, true
}

// slot finds a free slot for elements of that size.
func (c *compiler) slot(size int) int {
	for k, s := range c.free {
		if c.slots[s] == size {
			c.free = slices.Delete(c.free, k, k+1)
			return s
		}
	}
	c.slots = append(c.slots, size)
	return len(c.slots) - 1
}

// release frees the slots, of some sizes, that instruction i is the last to read. What a part fills once stays.
func (c *compiler) release(in *Instr, i int, which func(size int) bool) {
	for _, a := range in.args() {
		p := c.place[a]
		if int(a) < len(c.Inputs) || c.uniform[a] || p.kind != framed || c.last[a] != i || !which(c.types[a].Size()) {
			continue
		}
		if !slices.Contains(c.free, p.at) {
			c.free = append(c.free, p.at)
		}
	}
}

// size decides how long blocks and parts are, and lays out the frame.
func (c *compiler) size() {
	bytes, price := 0, 0
	for _, l := range c.dense {
		bytes += l.size
		price += memoryPrice
	}
	for _, o := range c.out {
		bytes += o.dtype.Size()
		price += memoryPrice
	}
	for _, s := range c.slots {
		bytes += s
	}
	for _, s := range c.body {
		price += ops[s.instr.Op].price
	}
	price += len(c.spreads)
	c.block = max(minBlock, min(maxBlock, cacheBytes/max(bytes, 1)))
	if c.fenced {
		c.block = min(c.block, max(minBlock, streamBlock*price))
	}
	c.block -= c.block % blockUnit
	unit := blockUnit
	for i := range c.spreads {
		s := &c.spreads[i]
		if m := lcm(unit, max(s.period, 1)); s.period > 0 && m <= maxBlock {
			unit, s.once = m, true
		}
	}
	c.block = max(unit, c.block-c.block%unit)
	c.part = max(1, partPrice/max(price, 1)/c.block) * c.block

	at := 0
	for r := range c.types {
		if c.uniform[r] && c.place[r].kind == framed {
			c.place[r].at = at
			at += uniformBytes
		}
	}
	start := make([]int, len(c.slots))
	for k, s := range c.slots {
		start[k] = at
		at += align(c.block * s)
	}
	for r := range c.types {
		if !c.uniform[r] && c.place[r].kind == framed {
			c.place[r].at = start[c.place[r].at]
		}
	}
	// Last, random words. Without any this may be the end of the frame, so there is always one more line.
	c.words, c.bytes = at, at+alignment
	for _, s := range c.body {
		if k := ops[s.instr.Op].kind; k == random || k == mask {
			c.bytes = at + wordBytes(c.block)
		}
	}
}

// lcm is the least common multiple.
func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
