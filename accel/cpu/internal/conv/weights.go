package conv

// pack is a prepared task: it converts weights [cout][cin][taps] to what a pass
// reads. Without a margin the pass's outputs are the convolution's inputs; with
// one, its notes follow the weights.
type pack struct {
	p      *pass
	m      *margin
	dst, w []float32
}

// Do packs one block of output channels of the pass.
func (t *pack) Do(block int) {
	p := t.p
	size := p.passes * p.panel()
	if p.in.C%(p.kb*Block) != 0 || p.groups.out < p.out.C {
		clear(t.dst[block*size:][:size]) // weights between channels that do not exist or belong together; lanes that do not are cleared in the output
	}
	base := block * Block / p.groups.out * p.groups.in / Block * Block // the first input channel of the column
	p.eachRun(p.out, block, func(group, o, n int) {
		first := group * p.groups.in
		// Where the source is for the pass's channels, and its strides between output and input channels.
		at, outStride, inStride := o*p.groups.in*p.taps, p.groups.in*p.taps, p.taps
		if t.m == nil {
			at, outStride, inStride = (first*p.groups.out+o%p.groups.out)*p.taps, p.taps, p.groups.out*p.taps
		}
		for in := range p.groups.in {
			dst := t.dst[p.weightAt(block, first+in-base, 0)+o%Block:]
			transpose(p.k, dst, p.kb*Block*Block, t.w[at+in*inStride:], outStride, n, p.taps)
		}
	})
	if t.m != nil {
		t.m.note(t.dst[p.weightLen()+block*t.m.noteLen():], t.w, block)
	}
}

// transpose stores dst[j*step+i] = src[i*stride+j] for i < rows and j < n.
func transpose(k *kernels, dst []float32, step int, src []float32, stride, rows, n int) {
	i, whole := 0, n&^3
	for ; i+4 <= rows; i += 4 {
		if whole > 0 {
			k.transpose4(dst[i:], step, src[i*stride:], stride, whole)
		}
		for j := whole; j < n; j++ {
			d, s := dst[j*step+i:][:4], src[i*stride+j:]
			d[0], d[1], d[2], d[3] = s[0], s[stride], s[2*stride], s[3*stride]
		}
	}
	for ; i < rows; i++ {
		for j, v := range src[i*stride:][:n] {
			dst[j*step+i] = v
		}
	}
}
