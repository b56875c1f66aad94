package conv

// pack is a prepared task: it converts weights [cout][cin][kh][kw] to what a pass
// reads. swap tells that the pass's outputs are the convolution's inputs.
type pack struct {
	p      *pass
	swap   bool
	dst, w []float32
}

// Do packs one block of output channels of the pass.
func (t *pack) Do(block int) {
	p := t.p
	size := p.passes * p.panel()
	clear(t.dst[block*size:][:size]) // the padding
	outStride, inStride := p.in.C*p.taps, p.taps
	if t.swap {
		outStride, inStride = p.taps, p.out.C*p.taps
	}
	for in := range p.in.C {
		dst := t.dst[p.weightAt(block, in, 0):]
		step := p.kb * Block * Block
		for o := block * Block; o < min(block*Block+Block, p.out.C); o++ {
			for k, v := range t.w[o*outStride+in*inStride:][:p.taps] {
				dst[k*step+o%Block] = v
			}
		}
	}
}
