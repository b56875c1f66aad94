package conv

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// DepthwiseWeightGradient is the planned gradient of a depthwise convolution's
// weights. As in WeightGradient, the batch is cut into pieces by shape. One plan
// serves one call at a time.
type DepthwiseWeightGradient struct {
	Shape
	k      *kernels
	chunks []firstChunk
	pieces int

	task   depthWeightTask
	finish depthUnpack
}

// NewDepthwiseWeightGradient plans the gradient.
func NewDepthwiseWeightGradient(level isa.Level, s Shape) (*DepthwiseWeightGradient, error) {
	if err := s.checkDepthwise(); err != nil {
		return nil, err
	}
	g := &DepthwiseWeightGradient{Shape: s, k: kernelsOf(level)}
	one := s
	one.Cin = 1 // a plane whose values are blocks of channels
	shared(s.forwardGrid(s.H, s.W), regions(s.In(), s.Out(), chunkPixels*min(s.SH*s.SW, 4)), func(r region) []firstSum { return one.sums(r, 4*Block) }, func(r region, sums []firstSum) {
		g.chunks = append(g.chunks, firstChunk{r, sums})
	})
	g.pieces = piecesOf(s.In().Blocks(), len(g.chunks))
	return g, nil
}

// panel is the size of the gradient of one block: [tap][16].
func (g *DepthwiseWeightGradient) panel() int { return g.Taps() * Block }

// len is the size of one packed gradient.
func (g *DepthwiseWeightGradient) len() int { return g.In().Blocks() * g.panel() }

// Scratch is the length of the workspace that Run needs.
func (g *DepthwiseWeightGradient) Scratch() int { return g.pieces * g.len() }

// Run stores in dw the gradient of the weights [c][1][kh][kw].
func (g *DepthwiseWeightGradient) Run(pool *work.Pool, dw, x, dy, scratch []float32) {
	clear(scratch[:g.Scratch()])
	g.task = depthWeightTask{g, x, dy, scratch}
	run(pool, int(g.Flops()/8), g.pieces*g.In().Blocks(), &g.task)
	g.task = depthWeightTask{}
	g.finish = depthUnpack{g, dw, scratch}
	run(pool, g.Scratch(), g.In().Blocks(), &g.finish)
	g.finish = depthUnpack{}
}

// depthWeightTask is a prepared task.
type depthWeightTask struct {
	g              *DepthwiseWeightGradient
	x, dy, scratch []float32
}

// Do sums one piece of the batch for one block of channels.
func (t *depthWeightTask) Do(i int) {
	g := t.g
	in, out := g.In(), g.Out()
	piece, block := i%g.pieces, i/g.pieces
	dw := t.scratch[piece*g.len()+block*g.panel():]
	c := firstWgradCall{wide: 1, add: true}
	for _, chunk := range g.chunks[piece*len(g.chunks)/g.pieces : (piece+1)*len(g.chunks)/g.pieces] {
		c.x = t.x[block*in.Plane()+(chunk.n*in.H+chunk.base)*in.W*Block:]
		c.dy = t.dy[block*out.Plane()+(chunk.n*out.H+chunk.row)*out.W*Block:]
		for _, sum := range chunk.sums {
			c.taps, c.pairs, c.dw = sum.taps, sum.pairs, dw[sum.row*Block:]
			g.k.depthWgrad(c)
		}
	}
}

// depthUnpack is a prepared task: it adds the pieces in order, and stores the weights [c][taps].
type depthUnpack struct {
	g           *DepthwiseWeightGradient
	dw, scratch []float32
}

// Do unpacks one block.
func (t *depthUnpack) Do(block int) {
	g := t.g
	sum := addPieces(t.scratch, block*g.panel(), g.panel(), g.len(), g.pieces)
	transpose(g.k, t.dw[block*Block*g.Taps():], g.Taps(), sum, Block, g.Taps(), min(Block, g.Cin-block*Block))
}
