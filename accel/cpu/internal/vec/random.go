package vec

import (
	"math"
	"unsafe"

	"github.com/cortado-ml/cortado/internal/philox"
)

// draw is where in the random numbers a call begins.
type draw struct{ seed, stream, step, next uint64 }

// draw finds the seed and the step in operands s and s+1.
func (c *call) draw(s int) draw {
	seed, step := *(*uint64)(c.src[s]), *(*uint64)(c.src[s+1])
	return draw{seed, c.instr.Stream, step, c.instr.Base + uint64(c.start)}
}

// words calls f for each block of four words that n elements need. The block is for elements i to i+3, of which only those from i+lo to
// i+hi-1 are wanted: neither the first element nor n need be a multiple of four.
func (d draw) words(n int, f func(i, lo, hi int, block [4]uint32)) {
	skip := int(d.next % 4)
	for i := -skip; i < n; i += 4 {
		f(i, max(0, -i), min(4, n-i), philox.Block(d.seed, d.stream, d.step, (d.next+uint64(i))/4))
	}
}

// randomKernel gives Uniform or Normal.
func randomKernel(op Op) kernel {
	return func(c *call) {
		d := unsafe.Slice((*float32)(c.dst), c.n)
		c.draw(0).words(c.n, func(i, lo, hi int, block [4]uint32) {
			var v [4]float32
			if op == Normal {
				v = philox.Normal32(block)
			} else {
				for j, u := range block {
					v[j] = philox.Uniform32(u)
				}
			}
			copy(d[i+lo:i+hi], v[lo:hi])
		})
	}
}

// threshold is the least word, shifted right by 8, whose Uniform value is at least p.
func threshold(p float64) uint32 { return uint32(math.Ceil(p * (1 << 24))) }

// dropout divides what it keeps; the rest becomes 0 whatever it was.
func dropout[T float](c *call) {
	d, a := unsafe.Slice((*T)(c.dst), c.n), arg[T](c, 0)
	least, kept := threshold(c.instr.Imm), T(1-c.instr.Imm)
	c.draw(1).words(c.n, func(i, lo, hi int, block [4]uint32) {
		for j := lo; j < hi; j++ {
			if block[j]>>8 >= least {
				d[i+j] = a[(i+j)*c.step[0]] / kept
			} else {
				d[i+j] = 0
			}
		}
	})
}
