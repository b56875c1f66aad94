package gemm

// What a task packs of B.
type packing int

const (
	direct     packing = iota // nothing but an incomplete last panel
	copied                    // values of a step lie side by side
	transposed                // they lie apart
)

// Measured on Zen 4 at AVX2 and AVX-512, little depends on the blocking as long as a panel
// of B (kMean x the widest tile) stays in L2: a tile of A streams through L1. So K is hardly
// ever cut, and strips are narrow unless there are many.
const (
	kMean    = 1024
	taskWork = 1 << 19 // multiplications that are worth a task, at least
	packWork = 8       // multiplications in the time of packing a value
	tasks    = 16      // enough of them
	rowsMin  = 192     // of a task whose strip others have, too: each packs its own
	rowsMax  = 2048    // of a task, which then has packed for long enough
	wide     = 8       // panels in the widest strip
)

// partition chooses the blocking from the shape alone.
func (p *Plan[T]) partition() {
	if p.M == 0 || p.N == 0 || p.products() == 0 {
		return
	}
	nr, mr := p.kern.widths[0], p.kern.heights[0]
	p.kBlock = split(p.K, kMean, 4)
	all := ceil(p.N, nr)
	panels := max(ceil(taskWork, (p.M+packWork)*nr*max(p.K, 1)), min(all/tasks, wide))
	if p.M >= tasks*rowsMin {
		panels = wide // rows are cut anyway
	}
	p.strip = min(panels, all) * nr
	p.strips = ceil(p.N, p.strip)
	rows := max(p.M*p.strips*p.products()/tasks, ceil(taskWork, p.strip*max(p.K, 1)), rowsMin)
	p.rowBlock = split(p.M, min(rows, rowsMax), mr)
	p.rowBlocks = ceil(p.M, p.rowBlock)

	switch {
	case p.TransB:
		p.packB = transposed
	case conflicts[T](p.LDB) && p.M > mr || p.M > 4*mr:
		p.packB = copied
	}
	// A cache line lies between panels, or those of a power-of-two block would
	// share their cache sets.
	line := 64 / size[T]()
	p.panelB = nr*p.kBlock + line
	if p.packB == direct {
		p.scratch = p.panelB
	} else {
		p.scratch = ceil(p.strip, nr) * p.panelB
	}
	p.scratch = ceil(p.scratch, line) * line
}

// conflicts reports whether rows so far apart fall into few sets of the L1 cache.
func conflicts[T Float](ld int) bool { return ld*size[T]()%2048 == 0 }

// split returns the size, a multiple of unit, of the parts when n is cut into equal parts of about size mean.
func split(n, mean, unit int) int {
	parts := max(1, (n+mean/2)/mean)
	return max(unit, ceil(ceil(n, parts), unit)*unit)
}

func ceil(a, b int) int { return (a + b - 1) / b }
