package conv

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// MaxTaps is the size of the largest window of a max-pool: winners are bytes.
const MaxTaps = noTap

// A winner is the number of a tap, row by row, or noTap where relu cut the
// result off. nanWon is set where the result is NaN.
const (
	noTap  = 0x7f
	nanWon = 0x80
)

// Winner returns which tap of the window a winner of Pool.Max names, row by row, or -1 if relu cut the result off.
func Winner(win uint8) int {
	if tap := win &^ nanWon; tap != noTap {
		return int(tap)
	}
	return -1
}

// Pool is a planned max-pool or average-pool over blocked tensors, and its
// gradient. One plan serves one call at a time.
type Pool struct {
	In, Out Tensor
	k       *kernels
	pooling
	regions []pooledRegion
	tiled   bool // every pixel of the input is in exactly one window

	task poolTask
}

// poolPixels is about how many pixels one part of a pool has.
const poolPixels = 1024

// pooledRegion is a region with the classes of its kind.
type pooledRegion struct {
	region
	classes []poolClass
}

// poolClass is the pixels of the output whose windows have the same taps inside the image.
type poolClass struct {
	pixels, taps []int32
}

// NewMaxPool plans a maximum over windows of at most MaxTaps pixels. The padding
// never wins. It must be smaller than the window.
func NewMaxPool(level isa.Level, in Tensor, w Window) (*Pool, error) {
	if w.Taps() > MaxTaps {
		return nil, fmt.Errorf("conv: a max-pool window of %dx%d has more than %d pixels", w.KH, w.KW, MaxTaps)
	}
	return newPool(level, in, w, false)
}

// NewAveragePool plans a mean over windows. countPad says that it divides by the
// window's size even where part of it is padding, as PyTorch does by default.
// The padding must be smaller than the window.
func NewAveragePool(level isa.Level, in Tensor, w Window, countPad bool) (*Pool, error) {
	return newPool(level, in, w, countPad)
}

func newPool(level isa.Level, in Tensor, w Window, countPad bool) (*Pool, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if err := w.check(in.H, in.W); err != nil {
		return nil, err
	}
	if w.DH != 1 || w.DW != 1 {
		return nil, fmt.Errorf("conv: a pooling window with dilation %dx%d", w.DH, w.DW)
	}
	if max(w.Top, w.Bottom) >= w.KH || max(w.Left, w.Right) >= w.KW {
		return nil, fmt.Errorf("conv: padding %d, %d, %d, %d of a pooling window %dx%d is not smaller than the window", w.Top, w.Bottom, w.Left, w.Right, w.KH, w.KW)
	}
	p := &Pool{In: in, k: kernelsOf(level)}
	oh, ow := w.Out(in.H, in.W)
	p.Out = Tensor{in.N, in.C, oh, ow}
	p.pooling = pooling{w, countPad}
	p.tiled = w == Window{KH: w.KH, KW: w.KW, SH: w.KH, SW: w.KW, DH: 1, DW: 1} && in.H%w.KH == 0 && in.W%w.KW == 0
	g := w.forwardGrid(in.H, in.W)
	shared(g, wholeImages(in, p.Out, poolPixels), func(r region) []poolClass { return p.plan(g, r, in.H, in.W) }, func(r region, classes []poolClass) {
		p.regions = append(p.regions, pooledRegion{r, classes})
	})
	return p, nil
}

// pooling makes the tables of a pooling window.
type pooling struct {
	Window
	countPad bool
}

// plan makes the tables of a region of the output. The input's images have h rows of w pixels.
func (p pooling) plan(g grid, r region, h, w int) []poolClass {
	var classes []poolClass
	g.eachClass(r, func(rowTaps, colTaps []int, px []point) {
		var c poolClass
		for _, kh := range rowTaps {
			for _, kw := range colTaps {
				c.taps = append(c.taps, bytes((kh-rowTaps[0])*w+kw-colTaps[0]), int32(kh*p.KW+kw))
			}
		}
		for _, q := range px {
			y, x := g.rows[q.y][0].src-r.base, g.cols[q.x][0].src
			c.pixels = append(c.pixels, bytes((q.n*h+y)*w+x), bytes((q.n*r.rows+q.y-r.row)*len(g.cols)+q.x))
		}
		classes = append(classes, c)
	})
	return classes
}

// count is what an average divides by.
func (p pooling) count(c *poolClass) float32 {
	if p.countPad {
		return float32(p.Taps())
	}
	return float32(len(c.taps) / 2)
}

// Max stores in y the largest value of each window, and in win, which has the
// length of y, which one it was: the first of equals, the first NaN if there is
// any. With relu, it is the maximum of that and 0.
func (p *Pool) Max(pool *work.Pool, y []float32, win []uint8, x []float32, relu bool) {
	c := poolCall{floor: float32(math.Inf(-1))}
	if relu {
		c.floor, c.none = 0, noTap
	}
	p.run(pool, poolTask{kernel: p.k.maxPool, poolCall: c, first: !relu}, y, win, x)
}

// MaxGradient stores in dx the gradient of Max: dy where a pixel won, else 0.
// With relu, a NaN that won has the gradient NaN, as that of relu is.
func (p *Pool) MaxGradient(pool *work.Pool, dx, dy []float32, win []uint8, relu bool) {
	c := poolCall{}
	if relu {
		c.nan = math.Float32bits(float32(math.NaN()))
	}
	p.run(pool, poolTask{kernel: p.k.maxPoolGrad, poolCall: c, gradient: true}, dy, win, dx)
}

// Average stores in y the mean of each window.
func (p *Pool) Average(pool *work.Pool, y, x []float32) {
	p.run(pool, poolTask{kernel: p.k.avgPool}, y, nil, x)
}

// AverageGradient stores in dx the gradient of Average.
func (p *Pool) AverageGradient(pool *work.Pool, dx, dy []float32) {
	p.run(pool, poolTask{kernel: p.k.avgPoolGrad, gradient: true}, dy, nil, dx)
}

func (p *Pool) run(pool *work.Pool, t poolTask, y []float32, win []uint8, x []float32) {
	t.p, t.y, t.win, t.x = p, y, win, x
	p.task = t
	run(pool, p.In.Len()/4, len(p.regions)*p.In.Blocks(), &p.task)
	p.task = poolTask{}
}

// poolTask is a prepared task: one block of channels of one region.
type poolTask struct {
	p      *Pool
	kernel func(poolCall)
	poolCall
	first    bool // the winner is the first tap if no value is above the floor
	gradient bool
}

// Do computes one part.
func (t *poolTask) Do(i int) {
	p := t.p
	r := &p.regions[i%len(p.regions)]
	block := i / len(p.regions)
	c := t.poolCall
	images := t.x[block*p.In.Plane()+r.n*p.In.H*p.In.W*Block:]
	yAt := block*p.Out.Plane() + r.n*p.Out.H*p.Out.W*Block
	c.x, c.y = images[r.base*p.In.W*Block:], t.y[yAt:]
	if t.win != nil {
		c.win = t.win[yAt:]
	}
	if t.gradient && !p.tiled {
		clear(images[:r.images*p.In.H*p.In.W*Block])
		c.add = true
	}
	for k := range r.classes {
		class := &r.classes[k]
		c.pixels, c.taps, c.count = class.pixels, class.taps, p.count(class)
		if t.first {
			c.none = class.taps[1]
		}
		t.kernel(c)
	}
}
