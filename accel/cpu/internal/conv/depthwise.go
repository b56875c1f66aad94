package conv

import (
	"fmt"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// Depthwise is a planned depthwise convolution, in which each channel is a group
// of its own, or the gradient of its input: that is the same with the links
// reversed. One plan serves one call at a time.
type Depthwise struct {
	Shape
	k       *kernels
	in, out Tensor // of the direction
	relu    bool
	bias    []float32 // padded to whole blocks
	regions []firstRegion

	packing depthPack
	task    depthTask
}

// depthPixels is about how many pixels of the output a region has: they and what they need stay in the second cache.
const depthPixels = 512

// NewDepthwise plans a depthwise convolution, with or without a ReLU behind it.
func NewDepthwise(level isa.Level, s Shape, relu bool) (*Depthwise, error) {
	if err := s.checkDepthwise(); err != nil {
		return nil, err
	}
	return newDepthwise(level, s, s.forwardGrid(s.H, s.W), s.In(), s.Out(), relu), nil
}

// NewDepthwiseInputGradient plans the gradient of the input: Run is given that of the output as x, and no bias.
func NewDepthwiseInputGradient(level isa.Level, s Shape) (*Depthwise, error) {
	if err := s.checkDepthwise(); err != nil {
		return nil, err
	}
	return newDepthwise(level, s, s.forwardGrid(s.H, s.W).transpose(s.H, s.W), s.Out(), s.In(), false), nil
}

// Depthwise reports whether each channel is a group of its own.
func (s Shape) Depthwise() bool { return s.Groups > 1 && s.Groups == s.Cin && s.Groups == s.Cout }

func (s Shape) checkDepthwise() error {
	if err := s.check(); err != nil {
		return err
	}
	if s.Groups != s.Cin || s.Groups != s.Cout {
		return fmt.Errorf("conv: %v is not depthwise", s)
	}
	return nil
}

func newDepthwise(level isa.Level, s Shape, g grid, in, out Tensor, relu bool) *Depthwise {
	d := &Depthwise{Shape: s, k: kernelsOf(level), in: in, out: out, relu: relu, bias: make([]float32, out.Blocks()*Block)}
	shared(g, regions(in, out, depthPixels), func(r region) firstRegion { return d.planRegion(g, r) }, func(r region, planned firstRegion) {
		planned.region = r
		d.regions = append(d.regions, planned)
	})
	return d
}

// planRegion makes the tables of a region. Pixels that have the same taps need the same offsets, from that of the first one.
func (d *Depthwise) planRegion(g grid, r region) firstRegion {
	var planned firstRegion
	outPixel := func(q point) int { return (q.n*r.rows+q.y-r.row)*d.out.W + q.x }
	g.eachClass(r, func(rowTaps, colTaps []int, px []point) {
		if len(rowTaps) == 0 || len(colTaps) == 0 {
			for _, q := range px {
				planned.empty = append(planned.empty, outPixel(q))
			}
			return
		}
		var taps []int32
		rows, cols := g.rows[px[0].y], g.cols[px[0].x]
		for i, kh := range rowTaps {
			for j, kw := range colTaps {
				taps = append(taps, bytes(kh*d.KW+kw), bytes((rows[i].src-rows[0].src)*d.in.W+cols[j].src-cols[0].src))
			}
		}
		cut(px, d.k.big, d.k.small, func(px []point) {
			t := firstTile{taps: taps}
			for _, q := range px {
				t.in = append(t.in, bytes((q.n*d.in.H+g.rows[q.y][0].src-r.base)*d.in.W+g.cols[q.x][0].src))
				t.out = append(t.out, bytes(outPixel(q)))
			}
			planned.tiles = append(planned.tiles, t)
		})
	})
	return planned
}

// WeightLen is the length of the packed weights: [block][tap][16].
func (d *Depthwise) WeightLen() int { return d.out.Blocks() * d.Taps() * Block }

// PackWeights converts weights [c][1][kh][kw] to the order in which Run reads them.
func (d *Depthwise) PackWeights(pool *work.Pool, dst, w []float32) {
	d.packing = depthPack{d, dst, w}
	run(pool, len(dst), d.out.Blocks(), &d.packing)
	d.packing = depthPack{}
}

// depthPack is a prepared task.
type depthPack struct {
	d      *Depthwise
	dst, w []float32
}

// Do packs one block.
func (t *depthPack) Do(block int) {
	taps, lanes := t.d.Taps(), min(Block, t.d.out.C-block*Block)
	dst := t.dst[block*taps*Block:][:taps*Block]
	if lanes < Block {
		clear(dst)
	}
	transpose(t.d.k, dst, Block, t.w[block*Block*taps:], taps, lanes, taps)
}

// Scratch is the length of the workspace that Run needs: none.
func (d *Depthwise) Scratch(threads int) int { return 0 }

// Run stores in y the convolution of x with packed weights. bias has a value for each channel or is nil; win and scratch are nil.
func (d *Depthwise) Run(pool *work.Pool, y []float32, win []uint8, x, weights, bias, scratch []float32) {
	if bias != nil {
		copy(d.bias, bias)
		bias = d.bias
	}
	d.task = depthTask{d, y, x, weights, bias}
	run(pool, int(d.Flops()/8), len(d.regions)*d.out.Blocks(), &d.task)
	d.task = depthTask{}
}

// depthTask is a prepared task: one block of channels of one region.
type depthTask struct {
	d             *Depthwise
	y, x, w, bias []float32
}

// Do computes part i.
func (t *depthTask) Do(i int) {
	d := t.d
	r, block := &d.regions[i%len(d.regions)], i/len(d.regions)
	c := firstCall{
		tiles: r.tiles, wide: 1,
		x: t.x[block*d.in.Plane()+(r.n*d.in.H+r.base)*d.in.W*Block:],
		y: t.y[block*d.out.Plane()+(r.n*d.out.H+r.row)*d.out.W*Block:],
		w: t.w[block*d.Taps()*Block:],
	}
	if t.bias != nil {
		c.bias, c.mode = t.bias[block*Block:], modeBias
	}
	if d.relu {
		c.mode |= modeReLU
	}
	if len(c.tiles) > 0 {
		d.k.depth(c)
	}
	fill(r.empty, c.y, d.out.Plane(), c.bias, d.relu, 1)
}
