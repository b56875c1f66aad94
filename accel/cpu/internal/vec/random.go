package vec

import (
	"math"
	"unsafe"

	"github.com/cortado-ml/cortado/internal/philox"
)

// wordBytes is the room that the random words of a block of n elements take: they begin with a whole block of four words, and the assembly
// stores them in groups.
func wordBytes(n int) int { return align(4 * (n + 4 + wordGroup)) }

// wordGroup is how many words the widest level stores at a time.
const wordGroup = 64

// words draws a random word for each element of a call. The seed and the step are operands s and s+1.
func (t *table[T]) words(c *call, s int) []uint32 {
	key := philox.Key(*(*uint64)(c.src[s]), c.instr.Stream)
	step, first := *(*uint64)(c.src[s+1]), c.instr.Base+uint64(c.start)
	skip := int(first % 4)
	groups := parts(skip+c.n, 4*t.lanes)
	w := unsafe.Slice((*uint32)(c.words), groups*4*t.lanes)
	t.philox(&w[0], uint64(key[0])|uint64(key[1])<<32, step, first/4, groups)
	return w[skip : skip+c.n]
}

// philoxWords is the plain loop of table.philox.
func philoxWords(dst *uint32, key, step, block uint64, n int) {
	d := unsafe.Slice((*[4]uint32)(unsafe.Pointer(dst)), n*goLanes)
	for i := range d {
		b := block + uint64(i)
		d[i] = philox.Cipher([4]uint32{uint32(b), uint32(b >> 32), uint32(step), uint32(step >> 32)}, [2]uint32{uint32(key), uint32(key >> 32)})
	}
}

// uniform is the kernel of Uniform.
func (t *table[T]) uniform(c *call) {
	w := t.words(c, 0)
	t.unit((*float32)(c.dst), (*float32)(unsafe.Pointer(&w[0])), c.n)
}

// unit is the plain loop of table.unit.
func unit(dst, words *float32, n int) {
	d := unsafe.Slice(dst, n)
	for i, w := range unsafe.Slice(words, n) {
		d[i] = philox.Uniform32(math.Float32bits(w))
	}
}

// normal is the kernel of Normal. The numbers come in fours, so those at the ends are drawn in full.
func normal(c *call) {
	d := unsafe.Slice((*float32)(c.dst), c.n)
	seed, step := *(*uint64)(c.src[0]), *(*uint64)(c.src[1])
	first := c.instr.Base + uint64(c.start)
	for i := -int(first % 4); i < c.n; i += 4 {
		z := philox.Normal32(philox.Block(seed, c.instr.Stream, step, (first+uint64(i))/4))
		copy(d[max(0, i):], z[max(0, -i):])
	}
}

// threshold is the least word, shifted right by 8, whose Uniform value is at least p.
func threshold(p float64) int { return int(math.Ceil(p * (1 << 24))) }

// dropoutKernel divides what it keeps; the rest becomes 0 whatever it was.
func dropoutKernel[T float](t *table[T]) kernel {
	return func(c *call) {
		w := t.words(c, 1)
		least, kept := threshold(c.instr.Imm), T(1-c.instr.Imm)
		if c.step[0] == 1 {
			t.dropout((*T)(c.dst), (*T)(c.src[0]), &w[0], least-1, kept, c.n)
			return
		}
		a := *(*T)(c.src[0]) / kept
		for i, d := 0, unsafe.Slice((*T)(c.dst), c.n); i < c.n; i++ {
			if d[i] = 0; int(w[i]>>8) >= least {
				d[i] = a
			}
		}
	}
}

// dropout is the plain loop of table.dropout.
func dropout[T float](dst, a *T, words *uint32, below int, kept T, n int) {
	d, w := unsafe.Slice(dst, n), unsafe.Slice(words, n)
	for i, x := range unsafe.Slice(a, n) {
		if int(w[i]>>8) > below {
			d[i] = x / kept
		} else {
			d[i] = 0
		}
	}
}
