package conv

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// WeightGradient is the planned gradient of a convolution's weights. A part sums
// one block of input channels x one or two blocks of output channels over a
// piece of the batch, chunk by chunk, so that the pixels of a chunk serve all
// taps while they are in cache. The pieces depend on the shape alone, and their
// sums are added in order. One plan serves one call at a time.
type WeightGradient struct {
	Shape
	k *kernels
	m margin
	groups
	chunks []chunk
	pieces int // of the batch
	parts  []weightPart
	inner  int // the largest number of blocks of input channels that a block of output channels sees

	task   weightTask
	finish unpack
}

// weightPart is the gradient between a block of input channels and some of output channels.
type weightPart struct {
	column
	in int // the block of input channels, of those that the column sees
}

// chunk is a region of the output with the pairs of pixels of each tap.
type chunk struct {
	region
	pairs [][]int32
}

// chunkPixels is about how many pixels of the output a chunk has: with those of
// the input that they need, they should fill half of the first cache.
const chunkPixels = 160

// minParts is how many parts the work should have, if the batch allows it.
const minParts = 8

// NewWeightGradient plans the gradient.
func NewWeightGradient(level isa.Level, s Shape) (*WeightGradient, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	in, per := s.PerGroup()
	g := &WeightGradient{Shape: s, k: kernelsOf(level), groups: groups{in, per}}
	out := s.Out()
	g.m = newMargin(s)
	shared(g.m.grid, regions(s.In(), out, chunkPixels*min(s.SH*s.SW, 4)), func(r region) [][]int32 { return g.m.pairs(r) }, func(r region, pairs [][]int32) {
		g.chunks = append(g.chunks, chunk{r, pairs})
	})
	columns := g.columnsOf(out, g.k.wide)
	for _, c := range columns {
		g.inner = max(g.inner, c.blocks)
	}
	for in := range g.inner { // neighbours share their input, if there are no groups
		for _, c := range columns {
			if in < c.blocks {
				g.parts = append(g.parts, weightPart{c, in})
			}
		}
	}
	g.pieces = piecesOf(len(g.parts), len(g.chunks))
	return g, nil
}

// piecesOf returns into how many pieces a sum over chunks is cut, given the number of parts without that.
func piecesOf(parts, chunks int) int { return max(1, min(ceil(minParts, max(1, parts)), chunks)) }

// pairs lists for each tap the pairs of pixels of a region that it links.
func (m *margin) pairs(r region) [][]int32 {
	pairs := make([][]int32, m.Taps())
	for n := range r.images {
		for y := range r.rows {
			for _, l := range m.rows[r.row+y] {
				for x, links := range m.cols {
					for _, k := range links {
						tap := l.k*m.KW + k.k
						pairs[tap] = append(pairs[tap], bytes((n*m.H+l.src-r.base)*m.W+k.src), bytes((n*r.rows+y)*len(m.cols)+x))
					}
				}
			}
		}
	}
	return pairs
}

// len is the length of one packed gradient: [output block][input block that it sees][tap][16 in][16 out].
func (g *WeightGradient) len() int {
	return g.Out().Blocks() * g.inner * g.Taps() * Block * Block
}

// Scratch is the length of the workspace that Run needs.
func (g *WeightGradient) Scratch() int { return g.pieces * g.len() }

// Run stores in dw the gradient of the weights [cout][cin/groups][kh][kw].
func (g *WeightGradient) Run(pool *work.Pool, dw, x, dy, scratch []float32) {
	if len(g.chunks) == 0 {
		clear(dw)
		return
	}
	g.task = weightTask{g, x, dy, scratch}
	run(pool, int(g.Flops()/100), g.pieces*len(g.parts), &g.task)
	g.task = weightTask{}
	g.finish = unpack{g, dw, dy, scratch}
	run(pool, g.pieces*g.len(), len(g.parts), &g.finish)
	g.finish = unpack{}
}

// weightTask is a prepared task.
type weightTask struct {
	g              *WeightGradient
	x, dy, scratch []float32
}

// Do computes part i.
func (t *weightTask) Do(i int) {
	g := t.g
	in, out := g.In(), g.Out()
	p, piece := g.parts[i%len(g.parts)], i/len(g.parts)
	perBlock := g.Taps() * Block * Block
	c := wgradCall{dyPlane: out.Plane(), dwPlane: g.inner * perBlock, wide: p.wide}
	dw := t.scratch[piece*g.len()+(p.block*g.inner+p.in)*perBlock:]
	from, to := piece*len(g.chunks)/g.pieces, (piece+1)*len(g.chunks)/g.pieces
	for j := range g.chunks[from:to] {
		chunk := &g.chunks[from+j]
		c.x = t.x[(p.from+p.in)*in.Plane()+(chunk.n*in.H+chunk.base)*in.W*Block:]
		c.dy = t.dy[p.block*out.Plane()+(chunk.n*out.H+chunk.row)*out.W*Block:]
		c.add = j > 0
		for tap, pairs := range chunk.pairs {
			c.pairs, c.dw = pairs, dw[tap*Block*Block:]
			switch {
			case len(pairs) > 0:
				g.k.wgrad(c)
			case j == 0:
				for b := range c.wide {
					clear(c.dw[b*c.dwPlane:][:Block*Block])
				}
			}
		}
	}
}

// unpack is a prepared task: it adds the pieces in order, and stores the weights [cout][cin/groups][taps].
type unpack struct {
	g               *WeightGradient
	dw, dy, scratch []float32
}

// Do unpacks part i.
func (t *unpack) Do(i int) {
	g, p := t.g, t.g.parts[i]
	taps := g.Taps()
	block := taps * Block * Block
	from := (p.from + p.in) * Block
	to := min(from+Block, g.Cin)
	for b := p.block; b < p.block+p.wide; b++ {
		sum := addPieces(t.scratch, (b*g.inner+p.in)*block, block, g.len(), g.pieces)
		g.eachRun(g.Out(), b, func(group, o, n int) {
			first := group * g.groups.in
			for c := max(from, first); c < min(to, first+g.groups.in); c++ {
				dst := t.dw[(o*g.groups.in+c-first)*taps:]
				transpose(g.k, dst, g.groups.in*taps, sum[(c-from)*Block+o%Block:], Block*Block, taps, n)
			}
		})
		g.m.addGradients(t.dw, t.dy, b, from, to)
	}
}

// addPieces adds n values from at on of all pieces, which are size values apart, to those of the first.
func addPieces(scratch []float32, at, n, size, pieces int) []float32 {
	sum := scratch[at:][:n]
	for p := 1; p < pieces; p++ {
		for k, v := range scratch[p*size+at:][:n] {
			sum[k] += v
		}
	}
	return sum
}
