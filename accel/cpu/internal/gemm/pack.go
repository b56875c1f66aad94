package gemm

// packStrip packs what tiles do not read in place of B: panels of one width, in
// which step p of column j lies at p*width+j. Missing columns of the last panel
// are zero.
func (x *block[T]) packStrip() {
	nr := x.kern.widths[0]
	whole := x.j0 + (x.j1-x.j0)/nr*nr
	switch x.packB {
	case copied:
		for p := x.p0; p < x.p1; p++ {
			x.copyStep(p, whole)
		}
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
			x.copyRest(whole, n, w)
		}
	}
}

// at returns the place of the packed panel at column j.
func (x *block[T]) at(j int) []T {
	if x.packB == direct {
		return x.packedB
	}
	return x.packedB[(j-x.j0)/x.kern.widths[0]*x.panelB:]
}

// copyStep packs step p of all whole panels.
func (x *block[T]) copyStep(p, whole int) {
	src := x.b[p*x.LDB+x.j0 : p*x.LDB+whole]
	nr := x.kern.widths[0]
	at := (p - x.p0) * nr
	for ; len(src) > 0; src = src[nr:] {
		s, d := src[:nr], x.packedB[at:at+nr]
		// Assigning 16 bytes is one move; a call of copy would cost more than it moves.
		for len(s) >= 4 && len(d) >= 4 {
			*(*[4]T)(d) = *(*[4]T)(s)
			s, d = s[4:], d[4:]
		}
		at += x.panelB
	}
}

// copyRest packs an incomplete panel of n columns for tiles of width w.
func (x *block[T]) copyRest(j, n, w int) {
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
	k := x.p1 - x.p0
	dst := x.at(j)[:w*k]
	i := 0
	if r := x.kern.packRows; r > 0 && k >= 4 {
		for ; i+r <= n; i += r {
			x.kern.pack(&dst[i], w, &x.b[(j+i)*x.LDB+x.p0], x.LDB, k)
		}
	}
	for ; i < n; i++ {
		src := x.b[(j+i)*x.LDB+x.p0:][:k]
		for p, v := range src {
			dst[p*w+i] = v
		}
	}
	if n < w {
		for p := range k {
			clear(dst[p*w+n : (p+1)*w])
		}
	}
}

// packRows packs rows i to end of A: rows one after the other but a cache line
// apart or, if they are columns in memory, tile by tile with the values of a
// step side by side.
func (x *block[T]) packTiles(i, end int) {
	k := x.p1 - x.p0
	if !x.TransA {
		for dst := x.packedA; i < end; i++ {
			copy(dst, x.a[i*x.LDA+x.p0:][:k])
			dst = dst[x.rowA:]
		}
		return
	}
	for p := range k {
		src := x.a[(x.p0+p)*x.LDA+i : (x.p0+p)*x.LDA+end]
		for at := 0; len(src) > 0; {
			h := x.kern.heights[x.kern.height(len(src))]
			d := x.packedA[at*x.rowA+p*h:][:h]
			for j, v := range src[:h] {
				d[j] = v
			}
			src = src[h:]
			at += h
		}
	}
}
