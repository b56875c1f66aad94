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
	k       *kernels
	m       margin
	chunks  []chunk
	pieces  int // of the batch
	columns int // groups of blocks of output channels

	task   weightTask
	finish unpack
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
	g := &WeightGradient{Shape: s, k: kernelsOf(level)}
	out := s.Out()
	g.m = newMargin(s)
	shared(g.m.grid, regions(s.In(), out, chunkPixels*min(s.SH*s.SW, 4)), func(r region) [][]int32 { return g.m.pairs(r) }, func(r region, pairs [][]int32) {
		g.chunks = append(g.chunks, chunk{r, pairs})
	})
	g.columns = ceil(out.Blocks(), g.k.wide)
	g.pieces = piecesOf(g.columns*s.In().Blocks(), len(g.chunks))
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

// len is the length of one packed gradient: [output block][input block][tap][16 in][16 out].
func (g *WeightGradient) len() int {
	return g.Out().Blocks() * g.In().Blocks() * g.Taps() * Block * Block
}

// Scratch is the length of the workspace that Run needs.
func (g *WeightGradient) Scratch() int { return g.pieces * g.len() }

// Run stores in dw the gradient of the weights [cout][cin][kh][kw].
func (g *WeightGradient) Run(pool *work.Pool, dw, x, dy, scratch []float32) {
	if len(g.chunks) == 0 {
		clear(dw)
		return
	}
	g.task = weightTask{g, x, dy, scratch}
	in, out := g.In().Blocks(), g.Out().Blocks()
	run(pool, int(g.Flops()/100), g.pieces*in*g.columns, &g.task)
	g.task = weightTask{}
	g.finish = unpack{g, dw, dy, scratch}
	run(pool, g.pieces*g.len(), in*out, &g.finish)
	g.finish = unpack{}
}

// weightTask is a prepared task.
type weightTask struct {
	g              *WeightGradient
	x, dy, scratch []float32
}

// Do computes part i. Neighbours share their input.
func (t *weightTask) Do(i int) {
	g := t.g
	in, out := g.In(), g.Out()
	column := i % g.columns * g.k.wide
	block := i / g.columns % in.Blocks()
	piece := i / g.columns / in.Blocks()
	perBlock := g.Taps() * Block * Block
	c := wgradCall{dyPlane: out.Plane(), dwPlane: in.Blocks() * perBlock, wide: min(g.k.wide, out.Blocks()-column)}
	dw := t.scratch[piece*g.len()+(column*in.Blocks()+block)*perBlock:]
	from, to := piece*len(g.chunks)/g.pieces, (piece+1)*len(g.chunks)/g.pieces
	for j := range g.chunks[from:to] {
		chunk := &g.chunks[from+j]
		c.x = t.x[block*in.Plane()+(chunk.n*in.H+chunk.base)*in.W*Block:]
		c.dy = t.dy[column*out.Plane()+(chunk.n*out.H+chunk.row)*out.W*Block:]
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

// unpack is a prepared task: it adds the pieces in order, and stores the weights [cout][cin][taps].
type unpack struct {
	g               *WeightGradient
	dw, dy, scratch []float32
}

// Do unpacks one block of input channels of one block of output channels.
func (t *unpack) Do(i int) {
	g := t.g
	inBlocks, taps := g.In().Blocks(), g.Taps()
	block := taps * Block * Block
	sum := addPieces(t.scratch, i*block, block, g.len(), g.pieces)
	outBlock, from := i/inBlocks, i%inBlocks*Block
	to := min(from+Block, g.Cin)
	for c := from; c < to; c++ {
		dst := t.dw[(outBlock*Block*g.Cin+c)*taps:]
		transpose(g.k, dst, g.Cin*taps, sum[(c-from)*Block:], Block*Block, taps, min(Block, g.Cout-outBlock*Block))
	}
	g.m.addGradients(t.dw, t.dy, outBlock, from, to)
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
