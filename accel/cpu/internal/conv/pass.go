package conv

// pass is the common part of the forward pass and of the input gradient: both
// sum, for each pixel of the output, over taps and blocks of input channels.
// The tables hold every address; taps in the padding are left out.
type pass struct {
	k       *kernels
	in, out Tensor
	groups
	taps    int
	kb      int      // blocks of input channels that one panel of weights covers
	passes  int      // panels for one block of output channels
	columns []column // tasks for one region
	regions []plannedRegion
	sums    []float64 // of mixed groups: 16 for each task
}

// plannedRegion is a region with the tiles of its kind. empty lists the pixels,
// from the region's first, that no tap reaches.
type plannedRegion struct {
	region
	tiles []tile
	empty []int
}

// newPass plans the sums that the grid names.
func newPass(k *kernels, g grid, in, out Tensor, n, kernelWidth, taps int) *pass {
	p := &pass{k: k, in: in, out: out, groups: groups{in.C / n, out.C / n}, taps: taps}
	blocks := 0
	p.columns = p.columnsOf(out, k.wide)
	for _, c := range p.columns {
		blocks = max(blocks, c.blocks)
	}
	p.passes = ceil(blocks, panelBlocks(g))
	p.kb = ceil(blocks, max(1, p.passes))
	rs := regions(in, out, regionTarget(max(in.Pixels(), out.Pixels())*len(p.columns)))
	shared(g, rs, func(r region) plannedRegion { return p.planRegion(g, r, kernelWidth) }, func(r region, planned plannedRegion) {
		planned.region = r
		p.regions = append(p.regions, planned)
	})
	if p.mixed() {
		p.sums = make([]float64, p.tasks()*Block)
	}
	return p
}

// panelBlocks returns how many blocks of input channels one panel of weights
// should cover: a tile should run some 600 steps, since it reads and writes its
// outputs once for each panel, but a panel should stay in cache.
func panelBlocks(g grid) int {
	mean := func(a axis) float64 {
		used, taps := 0, 0
		for _, links := range a {
			if len(links) > 0 {
				used++
				taps += len(links)
			}
		}
		return float64(taps) / float64(max(1, used))
	}
	switch taps := mean(g.rows) * mean(g.cols); {
	case taps > 4.5:
		return 4
	case taps > 1.5:
		return 8
	}
	return 16
}

// regionTarget returns how many pixels a region should have, so that there are
// some tasks to share, and that a panel of weights is used often enough.
func regionTarget(work int) int { return min(max(work/16, 128), 1024) }

// planRegion makes the tables of a region.
func (p *pass) planRegion(g grid, r region, kernelWidth int) plannedRegion {
	planned := plannedRegion{}
	outPixel := func(q point) int { return (q.n*r.rows+q.y-r.row)*p.out.W + q.x }
	g.eachClass(r, func(rowTaps, colTaps []int, px []point) {
		if len(rowTaps) == 0 || len(colTaps) == 0 {
			for _, q := range px {
				planned.empty = append(planned.empty, outPixel(q))
			}
			return
		}
		cut(px, p.k.big, p.k.small, func(px []point) {
			t := tile{rows: len(px), taps: len(rowTaps) * len(colTaps)}
			for i, kh := range rowTaps {
				for j, kw := range colTaps {
					t.table = append(t.table, int32(4*(kh*kernelWidth+kw)*p.kb*Block*Block))
					for _, q := range px {
						t.table = append(t.table, bytes((q.n*p.in.H+g.rows[q.y][i].src-r.base)*p.in.W+g.cols[q.x][j].src))
					}
				}
			}
			for _, q := range px {
				t.out = append(t.out, bytes(outPixel(q)))
			}
			planned.tiles = append(planned.tiles, t)
		})
	})
	return planned
}

// cut calls f with tiles of big or small pixels. If they do not come out even,
// the last pixel is repeated: a tile reads everything before it writes, so that does no harm.
func cut(px []point, big, small int, f func([]point)) {
	for len(px) < small || len(px)%(big-small) != 0 {
		px = append(px, px[len(px)-1])
	}
	for len(px) > 0 {
		n := big
		if len(px)%big != 0 {
			n = small
		}
		f(px[:n])
		px = px[n:]
	}
}

// tasks is the number of parts of the work.
func (p *pass) tasks() int { return len(p.regions) * len(p.columns) }

// panel is the size of the weights of one block of output channels and kb blocks of input channels.
func (p *pass) panel() int { return p.taps * p.kb * Block * Block }

// weightLen is the number of packed weights: [output block][pass][tap][input channel of the pass][16 output channels].
func (p *pass) weightLen() int { return p.out.Blocks() * p.passes * p.panel() }

// weightAt is the place of the weights of one input channel and tap for a block
// of output channels; the channel counts from the first block that they see.
func (p *pass) weightAt(outBlock, inChannel, tap int) int {
	perPass := p.kb * Block
	return (outBlock*p.passes+inChannel/perPass)*p.panel() + (tap*perPass+inChannel%perPass)*Block
}

// place is where a region's output lies in y.
func (p *pass) place(r region) int { return (r.n*p.out.H + r.row) * p.out.W }

// do computes task i. y holds the region's output: wide blocks of channels that
// are yPlane values apart. It returns the number of blocks.
func (p *pass) do(i int, y []float32, yPlane int, x, w, bias []float32, relu bool) {
	r := &p.regions[i/len(p.columns)]
	column := p.columns[i%len(p.columns)]
	last := 0
	if bias != nil {
		last |= modeBias
		bias = bias[column.block*Block:]
	}
	if relu {
		last |= modeReLU
	}
	c := convCall{
		tiles: r.tiles, y: y, bias: bias, wide: column.wide,
		xPlane: p.in.Plane(), yPlane: yPlane, wPlane: p.passes * p.panel(),
	}
	first := (r.n*p.in.H + r.base) * p.in.W * Block
	for k := 0; k*p.kb < column.blocks; k++ {
		from := k * p.kb
		c.x = x[(column.from+from)*c.xPlane+first:]
		c.w = w[(column.block*p.passes+k)*p.panel():]
		c.blocks = min(p.kb, column.blocks-from)
		c.mode = 0
		if k > 0 {
			c.mode = modeAdd
		}
		if from+p.kb >= column.blocks {
			c.mode |= last
		}
		if len(r.tiles) > 0 {
			p.k.conv(c)
		}
	}
	fill(r.empty, y, yPlane, bias, relu, column.wide)
	p.out.clearRegion(column.block, column.wide, y, yPlane, r.pixels(p.out.W))
	if p.mixed() {
		p.separate(i, y, yPlane, x[first:], w, bias, relu)
	}
}

// fill stores what pixels have that no tap reaches: the bias, or 0.
func fill(pixels []int, y []float32, yPlane int, bias []float32, relu bool, wide int) {
	for _, px := range pixels {
		for b := range wide {
			v := (*lanes)(y[b*yPlane+px*Block:])
			*v = lanes{}
			if bias != nil {
				*v = lanes(bias[b*Block:])
			}
			if relu {
				for l := range v {
					v[l] = atLeast(v[l], 0)
				}
			}
		}
	}
}

func ceil(n, d int) int { return (n + d - 1) / d }
