package gemm

import "unsafe"

// packStrip packs what tiles do not read in place of B: panels of one width, in
// which step p of column j lies at p*width+j. Missing columns of the last panel
// are zero: their products go nowhere, but what scratch memory holds could be subnormal, which is slow.
func (x *block[T]) packStrip() {
	if x.K == 0 {
		return
	}
	nr := x.kern.widths[0]
	whole := x.j0 + (x.j1-x.j0)/nr*nr
	switch x.packB {
	case copied:
		x.copyWhole((whole - x.j0) / nr)
	case transposed:
		for j := x.j0; j < whole; j += nr {
			x.transposePanel(j, nr)
		}
	}
	if n := x.j1 - whole; n > 0 {
		w := x.kern.widths[x.kern.width(n)]
		switch {
		case x.packB == transposed:
			x.transposePanel(whole, n)
		case x.packB == copied || n < w:
			x.copyPanel(whole, n, w)
		}
	}
}

// at returns the place of the packed panel at column j.
func (x *block[T]) at(j int) []T {
	if x.packB == direct {
		return x.packed
	}
	return x.packed[(j-x.j0)/x.kern.widths[0]*x.panelB:]
}

// copyWhole packs the whole panels.
func (x *block[T]) copyWhole(panels int) {
	w := x.kern.widths[0]
	switch {
	case panels == 0:
	case x.kern.copyPanels != nil:
		x.kern.copyPanels(bytes(x.packed), x.panelB*size[T](), bytes(x.b[x.p0*x.LDB+x.j0:]), x.LDB*size[T](), panels, x.p1-x.p0)
	default:
		for j := range panels {
			x.copyPanel(x.j0+j*w, w, w)
		}
	}
}

// copyPanel packs one panel of n columns for tiles of width w.
func (x *block[T]) copyPanel(j, n, w int) {
	dst := x.at(j)
	for p := x.p0; p < x.p1; p++ {
		d := dst[(p-x.p0)*w:][:w]
		copy(d, x.b[p*x.LDB+j:][:n])
		clear(d[n:])
	}
}

// transposePanel packs a panel of n columns, which are rows in memory.
func (x *block[T]) transposePanel(j, n int) {
	w := x.kern.widths[x.kern.width(n)]
	dst := x.at(j)[:w*(x.p1-x.p0)]
	if n < w {
		clear(dst)
	}
	for i := 0; i < n; {
		i += x.transposeRows(dst[i:], w, j+i, n-i)
	}
}

// transposeRows packs at most n rows of B from row i on to the first columns of dst, and returns how many.
func (x *block[T]) transposeRows(dst []T, w, i, n int) int {
	if k := x.p1 - x.p0; k >= 4 {
		for _, pack := range x.kern.packs {
			if pack.rows <= n {
				pack.run(&dst[0], w, &x.b[i*x.LDB+x.p0], x.LDB, k)
				return pack.rows
			}
		}
	}
	row := func(i int) []T { return x.b[i*x.LDB+x.p0 : i*x.LDB+x.p1] }
	if n >= 4 {
		s0, s1, s2, s3 := row(i), row(i+1), row(i+2), row(i+3)
		for p := range s0 {
			*(*[4]T)(dst[p*w:]) = [4]T{s0[p], s1[p], s2[p], s3[p]}
		}
		return 4
	}
	for p, v := range row(i) {
		dst[p*w] = v
	}
	return 1
}

func bytes[T Float](x []T) *byte { return (*byte)(unsafe.Pointer(unsafe.SliceData(x))) }

// size returns the bytes of a value.
func size[T Float]() int { return int(unsafe.Sizeof(*new(T))) }
