package conv

import (
	"fmt"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// MaxFirst is the largest number of input channels for which First pays.
const MaxFirst = 4

// First is a planned convolution whose input of few channels is NCHW, while its
// output is blocked. One plan serves one call at a time.
type First struct {
	Shape
	Epilogue
	k       *kernels
	m       margin
	pool    *fusedPool // nil without Pool
	bias    []float32  // padded to whole blocks
	regions []firstRegion

	packing firstPack
	task    firstTask
}

// firstRegion is a region with the tiles of its kind; empty as in plannedRegion.
type firstRegion struct {
	region
	tiles []firstTile
	empty []int
}

// firstPixels is about how many pixels of the output a region has: what a pool follows stays in L1.
const firstPixels = 128

// NewFirst plans a convolution.
func NewFirst(level isa.Level, s Shape, e Epilogue) (*First, error) {
	if err := s.checkFirst(); err != nil {
		return nil, err
	}
	f := &First{Shape: s, Epilogue: e, k: kernelsOf(level), m: newMargin(s), bias: make([]float32, s.Out().Blocks()*Block)}
	out := s.Out()
	rs := regions(s.In(), out, firstPixels)
	shared(f.m.grid, rs, f.planRegion, func(r region, planned firstRegion) {
		planned.region = r
		f.regions = append(f.regions, planned)
	})
	if e.Pool {
		f.pool = newFusedPool(f.k, out, rs, e.ReLU)
	}
	return f, nil
}

func (s Shape) checkFirst() error {
	if err := s.check(); err != nil {
		return err
	}
	if s.Groups > 1 {
		return fmt.Errorf("conv: a first layer of %d groups", s.Groups)
	}
	if s.Cin*s.H*s.W > maxPixels {
		return fmt.Errorf("conv: an image of %v is larger than %d values", s.In(), maxPixels)
	}
	return nil
}

// planRegion makes the tables of a region.
func (f *First) planRegion(r region) firstRegion {
	var planned firstRegion
	outPixel := func(q point) int { return (q.n*r.rows+q.y-r.row)*f.Out().W + q.x }
	f.m.eachClass(r, func(rowTaps, colTaps []int, px []point) {
		if len(rowTaps) == 0 || len(colTaps) == 0 {
			for _, q := range px {
				planned.empty = append(planned.empty, outPixel(q))
			}
			return
		}
		var taps []int32
		for c := range f.Cin {
			for _, kh := range rowTaps {
				for _, kw := range colTaps {
					weights := (c*f.KH+kh)*f.KW + kw
					taps = append(taps, int32(4*weights*Block), int32(4*f.tap(c, kh, kw)))
				}
			}
		}
		cut(px, f.k.big, f.k.small, func(px []point) {
			t := firstTile{taps: taps}
			for _, q := range px {
				t.in = append(t.in, int32(4*f.origin(r, q)))
				t.out = append(t.out, bytes(outPixel(q)))
			}
			planned.tiles = append(planned.tiles, t)
		})
	})
	return planned
}

// tap is the offset of a tap in planes of the input, in values; with origin it makes an index.
func (s Shape) tap(c, kh, kw int) int { return (c*s.H+kh*s.DH-s.Top)*s.W + kw*s.DW - s.Left }

// origin is what all taps of a pixel of the output share, from row base of the region's first image.
func (s Shape) origin(r region, q point) int {
	return (q.n*s.Cin*s.H+q.y*s.SH-r.base)*s.W + q.x*s.SW
}

// Result is the shape of the output, after the pool if there is one.
func (f *First) Result() Tensor {
	if f.pool != nil {
		return f.pool.out
	}
	return f.Out()
}

// WeightLen is the length of the packed weights and of the notes about them.
func (f *First) WeightLen() int { return f.Out().Blocks() * (f.panel() + f.m.noteLen()) }

// panel is the size of the weights of one block: [input channel][tap][16].
func (f *First) panel() int { return f.Cin * f.Taps() * Block }

// PackWeights converts weights [cout][cin][kh][kw] to the order in which Run reads them.
func (f *First) PackWeights(pool *work.Pool, dst, w []float32) {
	f.packing = firstPack{f, dst, w}
	run(pool, len(dst), f.Out().Blocks(), &f.packing)
	f.packing = firstPack{}
}

// firstPack is a prepared task.
type firstPack struct {
	f      *First
	dst, w []float32
}

// Do packs one block.
func (t *firstPack) Do(block int) {
	panel := t.f.panel()
	dst := t.dst[block*panel:][:panel]
	size := panel / Block
	for o := range min(Block, t.f.Cout-block*Block) {
		for k, v := range t.w[(block*Block+o)*size:][:size] {
			dst[k*Block+o] = v
		}
	}
	t.f.m.note(t.f.notes(t.dst)[block*t.f.m.noteLen():], t.w, block)
}

// notes is the part of the packed weights that holds the notes.
func (f *First) notes(weights []float32) []float32 { return weights[f.Out().Blocks()*f.panel():] }

// Scratch is the length of the workspace that Run needs on a pool of that many threads.
func (f *First) Scratch(threads int) int { return f.pool.scratch(threads, f.k.wide) }

// Run stores in y the convolution of x, which is NCHW, as Forward.Run does.
func (f *First) Run(pool *work.Pool, y []float32, win []uint8, x, weights, bias, scratch []float32) {
	if bias != nil {
		copy(f.bias, bias)
		bias = f.bias
	}
	f.task = firstTask{f, y, win, x, weights, bias, scratch, nil}
	if notes := f.notes(weights); f.m.noted(notes) {
		f.task.notes = notes
	}
	f.pool.reset(pool.Threads())
	run(pool, int(f.Flops()/50), len(f.regions), &f.task)
	f.task = firstTask{}
}

// firstTask is a prepared task: one region, all channels.
type firstTask struct {
	f                   *First
	y                   []float32
	win                 []uint8
	x, w, bias, scratch []float32
	notes               []float32 // nil if they say nothing
}

// Do computes part i.
func (t *firstTask) Do(i int) {
	f := t.f
	out := f.Out()
	r := &f.regions[i]
	slot := -1
	if f.pool != nil {
		slot = f.pool.slots.take()
		defer f.pool.slots.give(slot)
	}
	for column := 0; column < out.Blocks(); column += f.k.wide {
		wide := min(f.k.wide, out.Blocks()-column)
		c := firstCall{
			tiles: r.tiles, x: t.x[(r.n*f.Cin*f.H+r.base)*f.W:], w: t.w[column*f.panel():],
			wPlane: f.panel(), yPlane: out.Plane(), wide: wide,
		}
		if t.bias != nil {
			c.bias, c.mode = t.bias[column*Block:], modeBias
		}
		if f.pool != nil {
			c.y, c.yPlane = f.pool.strip(t.scratch, slot, f.k.wide)
		} else {
			c.y = t.y[column*c.yPlane+(r.n*out.H+r.row)*out.W*Block:]
			if f.ReLU {
				c.mode |= modeReLU
			}
		}
		if len(c.tiles) > 0 {
			f.k.first(c)
		}
		fill(r.empty, c.y, c.yPlane, c.bias, c.mode&modeReLU != 0, wide)
		out.clearRegion(column, wide, c.y, c.yPlane, r.pixels(out.W))
		f.m.addNotes(r.region, column, wide, c.y, c.yPlane, t.notes)
		if f.pool != nil {
			f.pool.do(i, column, wide, t.y, t.win, c.y, c.yPlane)
		}
	}
}
