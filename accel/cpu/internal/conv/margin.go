package conv

import "math"

// margin is the padding around the images of a convolution. It is zeros, and
// zero times a weight, or times the gradient of an output, is zero: the tables
// leave these products out. But if the other factor is infinite or NaN, the
// product is NaN, and belongs to the result. That case is rare, found cheaply,
// and handled here pixel by pixel.
type margin struct {
	Shape
	grid
}

func newMargin(s Shape) margin { return margin{s, s.forwardGrid(s.H, s.W)} }

// noteLen is the length of what packed weights note about one block of output
// channels: whether there is anything to note, and for each tap the sum over
// input channels of 0 x weight.
func (m *margin) noteLen() int { return 1 + m.Taps()*Block }

// note writes the note of a block; w is [cout][cin][taps].
func (m *margin) note(dst, w []float32, block int) {
	clear(dst[:m.noteLen()])
	in, _ := m.PerGroup()
	size := in * m.Taps()
	from, to := block*Block, min(block*Block+Block, m.Cout)
	if finite(w[from*size : to*size]) {
		return
	}
	dst[0] = 1
	for o := from; o < to; o++ {
		for k, v := range w[o*size:][:size] {
			dst[1+k%m.Taps()*Block+o%Block] += 0 * v
		}
	}
}

// noted tells whether the notes of any block say something.
func (m *margin) noted(notes []float32) bool {
	for b := range m.Out().Blocks() {
		if notes[b*m.noteLen()] != 0 {
			return true
		}
	}
	return false
}

// finite tells whether no value is infinite or NaN.
func finite(x []float32) bool {
	largest := uint32(0)
	for _, v := range x {
		largest = max(largest, math.Float32bits(v)<<1)
	}
	return largest < 0xff<<24
}

// covers tells whether tap k of a position lies inside the image.
func covers(links []link, k int) bool {
	for _, l := range links {
		if l.k == k {
			return true
		}
	}
	return false
}

// outside calls f for each tap of pixel (y, x) of the output that lies in the padding.
func (m *margin) outside(y, x int, f func(tap int)) {
	rows, cols := m.rows[y], m.cols[x]
	if len(rows) == m.KH && len(cols) == m.KW {
		return
	}
	for kh := range m.KH {
		for kw := range m.KW {
			if !covers(rows, kh) || !covers(cols, kw) {
				f(kh*m.KW + kw)
			}
		}
	}
}

// addNotes adds to a region's output y what the notes say about the taps in the
// padding, if there are notes. ReLU may have been applied: it keeps NaN.
func (m *margin) addNotes(r region, column, wide int, y []float32, plane int, notes []float32) {
	if notes == nil {
		return
	}
	out := m.Out()
	for p := range r.pixels(out.W) {
		m.outside(r.row+p/out.W%r.rows, p%out.W, func(tap int) {
			for b := range wide {
				note := notes[(column+b)*m.noteLen():][1:]
				addScaled((*lanes)(y[b*plane+p*Block:]), 1, (*lanes)(note[tap*Block:]))
			}
		})
	}
}

// addGradients adds 0 x dy of the taps in the padding to the gradient dw
// [cout][cin/groups][taps]: that of one block of output channels and of some input
// channels. Every finite gradient dy leaves dw as it is, and any other shows in
// dw already unless a window lies in the padding alone, so nothing is done without need.
func (m *margin) addGradients(dw, dy []float32, block, fromIn, toIn int) {
	from, to := block*Block, min(block*Block+Block, m.Cout)
	needed := m.blind()
	for o := from; o < to && !needed; o++ {
		needed = !finite(m.gradientOf(dw, o, fromIn, toIn))
	}
	if !needed {
		return
	}
	out := m.Out()
	dy = dy[block*out.Plane():]
	for p := range out.Pixels() {
		d := (*lanes)(dy[p*Block:])
		if finite(d[:]) {
			continue
		}
		m.outside(p/out.W%out.H, p%out.W, func(tap int) {
			for o := from; o < to; o++ {
				for of := m.gradientOf(dw, o, fromIn, toIn); len(of) > 0; of = of[m.Taps():] {
					of[tap] += 0 * d[o%Block]
				}
			}
		})
	}
}

// gradientOf is the part of dw for output channel o and those of some input channels that it sees.
func (m *margin) gradientOf(dw []float32, o, fromIn, toIn int) []float32 {
	in, out := m.PerGroup()
	first := o / out * in // of the group
	fromIn, toIn = max(fromIn-first, 0), min(toIn-first, in)
	if fromIn >= toIn {
		return nil
	}
	return dw[(o*in+fromIn)*m.Taps() : (o*in+toIn)*m.Taps()]
}

// blind tells whether some window lies in the padding alone.
func (m *margin) blind() bool {
	for _, a := range []axis{m.rows, m.cols} {
		for _, links := range a {
			if len(links) == 0 {
				return true
			}
		}
	}
	return false
}
