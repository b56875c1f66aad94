package gemm

import "unsafe"

// What a task packs of B.
type packing int

const (
	direct     packing = iota // nothing but an incomplete last panel
	copied                    // values of a step lie side by side
	transposed                // they lie apart
)

// The blocking follows the caches: a tile of A (height x kBlock) stays in L1
// while the panels of a strip of B (kBlock x strip) stream past it from L2.
const (
	kMean    = 384
	stripMax = 256     // columns
	taskWork = 1 << 20 // multiplications worth a task of its own
	maxTasks = 64
	packRows = 96 // rows of A that are packed at once
)

// partition chooses the blocking from the shape alone.
func (p *Plan[T]) partition() {
	if p.M == 0 || p.N == 0 || p.products() == 0 {
		return
	}
	k := p.kern
	nr, mr := k.widths[0], k.heights[0]
	p.kBlock = split(p.K, kMean, 4)

	// As many tasks as the work is worth: narrower strips first, since a block
	// of rows would pack B anew.
	want := min(max(p.M*p.N*p.K*p.products()/taskWork, 1), maxTasks)
	want = ceil(want, p.products())
	p.strip = min(stripMax, max(nr, split(p.N, max(p.N/want, 1), nr)))
	p.strips = ceil(p.N, p.strip)
	p.rowBlock = max(2*packRows, split(p.M, max(p.M*p.strips/want, 1), mr))
	p.rowBlocks = ceil(p.M, p.rowBlock)

	switch {
	case p.TransB:
		p.packB = transposed
	case conflicts[T](p.LDB) && p.M > mr || p.M > 4*mr:
		p.packB = copied
	}
	// A cache line lies between panels, and between rows, or those of a
	// power-of-two block would share their cache sets.
	line := 64 / int(unsafe.Sizeof(*new(T)))
	p.rowA, p.panelB = p.kBlock+line, nr*p.kBlock+line
	if conflicts[T](p.LDA) && p.strip > nr {
		p.rowsA = min(packRows, p.M)
	}
	p.scratch = p.rowsA * p.rowA
	if p.packB == direct {
		p.scratch += p.panelB
	} else {
		p.scratch += ceil(p.strip, nr) * p.panelB
	}
	p.scratch = ceil(p.scratch, line) * line
}

// conflicts reports whether rows so far apart fall into few sets of the L1 cache.
func conflicts[T Float](ld int) bool { return ld*int(unsafe.Sizeof(*new(T)))%2048 == 0 }

// split returns the size, a multiple of unit, of the parts when n is cut into equal parts of about size mean.
func split(n, mean, unit int) int {
	parts := max(1, (n+mean/2)/mean)
	return max(unit, ceil(ceil(n, parts), unit)*unit)
}

func ceil(a, b int) int { return (a + b - 1) / b }
