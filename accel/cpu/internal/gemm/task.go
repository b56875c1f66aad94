package gemm

import "unsafe"

// Do computes one task. It is part of Run.
func (p *Plan[T]) Do(t int) {
	slot, memory := p.acquire()
	defer p.release(slot)
	blocks := p.rowBlocks * p.strips
	a, b, c := p.offsets(t / blocks)
	t %= blocks
	i0, j0 := t%p.rowBlocks*p.rowBlock, t/p.rowBlocks*p.strip
	x := &block[T]{
		Plan: p,
		a:    p.a[a:], b: p.b[b:], c: p.c[c:],
		i0: i0, i1: min(i0+p.rowBlock, p.M),
		j0: j0, j1: min(j0+p.strip, p.N),
		packed: memory,
	}
	for p0 := 0; p0 < p.K || p0 == 0; p0 += p.kBlock {
		x.p0, x.p1 = p0, min(p0+p.kBlock, p.K)
		x.packStrip()
		x.multiply()
	}
}

// block is a task under way: rows i0 to i1, columns j0 to j1, steps p0 to p1.
type block[T Float] struct {
	*Plan[T]
	a, b, c        []T // of this product
	packed         []T
	i0, i1, j0, j1 int
	p0, p1         int
}

// multiply computes the tiles of the block: for each tile of rows, all panels of columns.
func (x *block[T]) multiply() {
	mode := 0
	if x.Add || x.p0 > 0 {
		mode |= modeAdd
	}
	if x.p1 == x.K {
		if x.Bias {
			mode |= modeBias
		}
		if x.ReLU {
			mode |= modeReLU
		}
	}
	nr := x.kern.widths[0]
	for i := x.i0; i < x.i1; {
		h := x.kern.height(x.i1 - i)
		a, aRow, aStep := x.tileA(i)
		for j := x.j0; j < x.j1; j += nr {
			b, bStep := x.panel(j)
			n := min(nr, x.j1-j)
			var bias *T
			if x.Bias {
				bias = &x.bias[j]
			}
			x.kern.tiles[h][x.kern.width(n)](x.p1-x.p0, a, aRow, aStep, b, bStep, &x.c[i*x.LDC+j], x.LDC, n, bias, mode)
		}
		i += x.kern.heights[h]
	}
}

// tileA returns where the tile of A at row i starts, and the distances to the
// next row and step. Tiles read A where it lies: packing it never paid.
func (x *block[T]) tileA(i int) (a *T, row, step int) {
	switch {
	case x.K == 0:
		return nil, 0, 0
	case x.TransA:
		return &x.a[x.p0*x.LDA+i], 1, x.LDA
	}
	return &x.a[i*x.LDA+x.p0], x.LDA, 1
}

// panel returns where the panel of B at column j starts, and the distance to the next step.
func (x *block[T]) panel(j int) (b *T, step int) {
	n := min(x.kern.widths[0], x.j1-j)
	w := x.kern.widths[x.kern.width(n)]
	switch {
	case x.K == 0:
		return nil, 0
	case x.packB == direct && n == w:
		return &x.b[x.p0*x.LDB+j], x.LDB
	}
	return unsafe.SliceData(x.at(j)), w
}
