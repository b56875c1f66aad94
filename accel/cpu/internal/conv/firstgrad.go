package conv

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// FirstWeightGradient is the planned gradient of the weights of a First. As in
// WeightGradient, the batch is cut into pieces by shape. One plan serves one call at a time.
type FirstWeightGradient struct {
	Shape
	k       *kernels
	m       margin
	chunks  []firstChunk
	pieces  int
	columns int // pairs of blocks of output channels

	task   firstWeightTask
	finish firstUnpack
}

// firstChunk is a region of the output with what there is to sum.
type firstChunk struct {
	region
	sums []firstSum
}

// firstSum is a sum over pairs of pixels that have all of one or three consecutive taps.
type firstSum struct {
	row   int     // the first tap's number
	taps  []int32 // their offsets
	pairs []int32
}

// NewFirstWeightGradient plans the gradient.
func NewFirstWeightGradient(level isa.Level, s Shape) (*FirstWeightGradient, error) {
	if err := s.checkFirst(); err != nil {
		return nil, err
	}
	g := &FirstWeightGradient{Shape: s, k: kernelsOf(level), m: newMargin(s)}
	out := s.Out()
	shared(g.m.grid, regions(s.In(), out, chunkPixels), func(r region) []firstSum { return s.sums(r, 4) }, func(r region, sums []firstSum) {
		g.chunks = append(g.chunks, firstChunk{r, sums})
	})
	g.columns = ceil(out.Blocks(), 2)
	g.pieces = piecesOf(g.columns, len(g.chunks))
	return g, nil
}

// sums lists the sums of a region; a value of the input has size bytes. Taps go
// three by three; where only some of the three lie inside the image, at its
// border, each goes alone.
func (s Shape) sums(r region, size int) []firstSum {
	out := s.Out()
	// The kernels take only the taps' offsets as negative. If the region's rows start in the padding, its pixels would be too.
	shift := max(0, r.base-r.row*s.SH) * s.W
	inside := func(q point, tap int) bool {
		y, x := q.y*s.SH-s.Top+tap/s.KW%s.KH*s.DH, q.x*s.SW-s.Left+tap%s.KW*s.DW
		return y >= 0 && y < s.H && x >= 0 && x < s.W
	}
	var sums []firstSum
	rows := s.Cin * s.Taps()
	for row := 0; row < rows; row += 3 {
		together, alone := firstSum{row: row}, make([]firstSum, min(3, rows-row))
		for k := range alone {
			offset := int32(size * (s.tap((row+k)/s.Taps(), (row+k)/s.KW%s.KH, (row+k)%s.KW) - shift))
			alone[k] = firstSum{row: row + k, taps: []int32{offset}}
			together.taps = append(together.taps, offset)
		}
		for n := range r.images {
			for y := r.row; y < r.row+r.rows; y++ {
				for x := range out.W {
					q := point{n, y, x}
					all := len(alone) == 3
					for k := range alone {
						all = all && inside(q, row+k)
					}
					pair := []int32{int32(size * (s.origin(r, q) + shift)), bytes((n*r.rows+y-r.row)*out.W + x)}
					if all {
						together.pairs = append(together.pairs, pair...)
						continue
					}
					for k := range alone {
						if inside(q, row+k) {
							alone[k].pairs = append(alone[k].pairs, pair...)
						}
					}
				}
			}
		}
		for _, sum := range append([]firstSum{together}, alone...) {
			if len(sum.pairs) > 0 {
				sums = append(sums, sum)
			}
		}
	}
	return sums
}

// panel is the size of the gradient of one block of output channels: [input channel][tap][16].
func (g *FirstWeightGradient) panel() int { return g.Cin * g.Taps() * Block }

// len is the size of one packed gradient.
func (g *FirstWeightGradient) len() int { return g.Out().Blocks() * g.panel() }

// Scratch is the length of the workspace that Run needs.
func (g *FirstWeightGradient) Scratch() int { return g.pieces * g.len() }

// Run stores in dw the gradient of the weights [cout][cin][kh][kw]. x is NCHW.
func (g *FirstWeightGradient) Run(pool *work.Pool, dw, x, dy, scratch []float32) {
	clear(scratch[:g.Scratch()])
	g.task = firstWeightTask{g, x, dy, scratch}
	run(pool, int(g.Flops()/50), g.pieces*g.columns, &g.task)
	g.task = firstWeightTask{}
	g.finish = firstUnpack{g, dw, dy, scratch}
	run(pool, g.Scratch(), g.Out().Blocks(), &g.finish)
	g.finish = firstUnpack{}
}

// firstWeightTask is a prepared task.
type firstWeightTask struct {
	g              *FirstWeightGradient
	x, dy, scratch []float32
}

// Do sums one piece of the batch for one or two blocks of output channels.
func (t *firstWeightTask) Do(i int) {
	g := t.g
	out := g.Out()
	column, piece := i%g.columns*2, i/g.columns
	dw := t.scratch[piece*g.len()+column*g.panel():]
	c := firstWgradCall{dyPlane: out.Plane(), dwPlane: g.panel(), wide: min(2, out.Blocks()-column), add: true}
	for _, chunk := range g.chunks[piece*len(g.chunks)/g.pieces : (piece+1)*len(g.chunks)/g.pieces] {
		c.x = t.x[(chunk.n*g.Cin*g.H+chunk.base)*g.W:]
		c.dy = t.dy[column*out.Plane()+(chunk.n*out.H+chunk.row)*out.W*Block:]
		for _, sum := range chunk.sums {
			c.taps, c.pairs, c.dw = sum.taps, sum.pairs, dw[sum.row*Block:]
			g.k.firstWgrad(c)
		}
	}
}

// firstUnpack is a prepared task: it adds the pieces in order, and stores the weights [cout][cin*taps].
type firstUnpack struct {
	g               *FirstWeightGradient
	dw, dy, scratch []float32
}

// Do unpacks one block of output channels.
func (t *firstUnpack) Do(block int) {
	g := t.g
	sum := addPieces(t.scratch, block*g.panel(), g.panel(), g.len(), g.pieces)
	size := g.panel() / Block
	for o := range min(Block, g.Cout-block*Block) {
		dst := t.dw[(block*Block+o)*size:][:size]
		for k := range dst {
			dst[k] = sum[k*Block+o]
		}
	}
	g.m.addGradients(t.dw, t.dy, block, 0, g.Cin)
}
