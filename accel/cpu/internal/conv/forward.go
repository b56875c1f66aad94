package conv

import (
	"math"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// Epilogue is what a convolution does to its output before it is stored.
type Epilogue struct {
	ReLU bool
	Pool bool // then the maximum of each 2x2 pixels, stride 2, without padding
}

// Forward is a planned convolution of blocked tensors. One plan serves one call at a time.
type Forward struct {
	Shape
	Epilogue
	p    *pass
	m    margin
	pool *fusedPool // nil without Pool
	bias []float32  // padded to whole blocks

	packing pack
	task    forwardTask
}

// NewForward plans a convolution.
func NewForward(level isa.Level, s Shape, e Epilogue) (*Forward, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	f := &Forward{Shape: s, Epilogue: e, bias: make([]float32, s.Out().Blocks()*Block)}
	f.m = newMargin(s)
	f.p = newPass(kernelsOf(level), f.m.grid, s.In(), s.Out(), s.Groups, s.KW, s.Taps())
	if e.Pool {
		f.pool = newFusedPool(f.p.k, s.Out(), f.p.regionsOf(), e.ReLU)
	}
	return f, nil
}

// Result is the shape of the output, after the pool if there is one.
func (f *Forward) Result() Tensor {
	if f.pool != nil {
		return f.pool.out
	}
	return f.Out()
}

// WeightLen is the length of the packed weights and of the notes about them.
func (f *Forward) WeightLen() int { return f.p.weightLen() + f.Out().Blocks()*f.m.noteLen() }

// PackWeights converts weights [cout][cin][kh][kw] to the order in which Run reads them.
func (f *Forward) PackWeights(pool *work.Pool, dst, w []float32) {
	f.packing = pack{p: f.p, m: &f.m, dst: dst, w: w}
	run(pool, len(dst), f.p.out.Blocks(), &f.packing)
	f.packing = pack{}
}

// Scratch is the length of the workspace that Run needs on a pool of that many threads.
func (f *Forward) Scratch(threads int) int { return f.pool.scratch(threads, f.p.k.wide) }

// Run stores in y the convolution of x with packed weights. bias has Cout values or is
// nil. With Pool, win has the length of y and tells Pool.MaxGradient which pixels
// won; else it is nil.
func (f *Forward) Run(pool *work.Pool, y []float32, win []uint8, x, weights, bias, scratch []float32) {
	if bias != nil {
		copy(f.bias, bias)
		bias = f.bias
	}
	f.task = forwardTask{f: f, y: y, win: win, x: x, w: weights, bias: bias, scratch: scratch}
	if notes := weights[f.p.weightLen():]; f.m.noted(notes) {
		f.task.notes = notes
	}
	f.pool.reset(pool.Threads())
	run(pool, int(f.Flops()/100), f.p.tasks(), &f.task)
	f.task = forwardTask{}
}

// forwardTask is a prepared task: some blocks of output channels of one region.
type forwardTask struct {
	f                   *Forward
	y                   []float32
	win                 []uint8
	x, w, bias, scratch []float32
	notes               []float32 // nil if they say nothing
}

// Do computes part i.
func (t *forwardTask) Do(i int) {
	f := t.f
	r := f.p.regions[i/len(f.p.columns)].region
	c := f.p.columns[i%len(f.p.columns)]
	column, wide := c.block, c.wide
	if f.pool == nil {
		plane := f.p.out.Plane()
		y := t.y[column*plane+f.p.place(r)*Block:]
		f.p.do(i, y, plane, t.x, t.w, t.bias, f.ReLU)
		f.m.addNotes(r, column, wide, y, plane, t.notes)
		return
	}
	slot := f.pool.slots.take()
	defer f.pool.slots.give(slot)
	y, plane := f.pool.strip(t.scratch, slot, f.p.k.wide)
	f.p.do(i, y, plane, t.x, t.w, t.bias, false)
	f.m.addNotes(r, column, wide, y, plane, t.notes)
	f.pool.do(i/len(f.p.columns), column, wide, t.y, t.win, y, plane)
}

// fusedPool is a 2x2 max-pool that follows a convolution while its output is
// still in cache: what lies before the pool is never stored as a whole.
type fusedPool struct {
	k       *kernels
	out     Tensor
	relu    bool
	regions []pooledRegion // of the pooled output, one for each of the convolution
	stripe  int            // values of one block of channels of the largest region
	slots   slots
}

// newFusedPool plans the pool over a convolution's output, cut into regions with an even number of rows (but for the last).
func newFusedPool(k *kernels, in Tensor, rs []region, relu bool) *fusedPool {
	window := pooling{Window: Square(2, 2, 0)}
	oh, ow := in.H/2, in.W/2
	p := &fusedPool{k: k, out: Tensor{in.N, in.C, oh, ow}, relu: relu}
	g := grid{forwardAxis(oh, in.H, 2, 2, 1, 0), forwardAxis(ow, in.W, 2, 2, 1, 0)}
	var pooled []region
	for _, r := range rs {
		p.stripe = max(p.stripe, r.pixels(in.W)*Block)
		pooled = append(pooled, region{n: r.n, images: r.images, row: r.row / 2, rows: r.rows / 2})
	}
	// The input is one region, so its images have as many rows as that.
	shared(g, pooled, func(r region) []poolClass { return window.plan(g, r, rs[len(p.regions)].rows, in.W) }, func(r region, classes []poolClass) {
		p.regions = append(p.regions, pooledRegion{r, classes})
	})
	return p
}

func (p *fusedPool) scratch(threads, wide int) int {
	if p == nil {
		return 0
	}
	return threads * wide * p.stripe
}

func (p *fusedPool) reset(threads int) {
	if p != nil {
		p.slots.reset(threads)
	}
}

// strip is the workspace of one slot, and the distance between its blocks.
func (p *fusedPool) strip(scratch []float32, slot, wide int) ([]float32, int) {
	return scratch[slot*wide*p.stripe:][:wide*p.stripe], p.stripe
}

// do pools a region's output x, wide blocks from column on.
func (p *fusedPool) do(i, column, wide int, y []float32, win []uint8, x []float32, plane int) {
	r := &p.regions[i]
	for b := range wide {
		at := (column+b)*p.out.Plane() + (r.n*p.out.H+r.row)*p.out.W*Block
		c := poolCall{y: y[at:], win: win[at:], x: x[b*plane:], floor: float32(math.Inf(-1))}
		if p.relu {
			c.floor, c.none = 0, noTap
		}
		for _, class := range r.classes {
			c.pixels, c.taps = class.pixels, class.taps
			p.k.maxPool(c)
		}
	}
}

// regionsOf lists the regions of a pass.
func (p *pass) regionsOf() []region {
	var rs []region
	for _, r := range p.regions {
		rs = append(rs, r.region)
	}
	return rs
}
