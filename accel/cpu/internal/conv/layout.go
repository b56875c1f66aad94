package conv

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// Layout converts between the blocked layout and NCHW, which is also the order
// of the rows [N, C*H*W] of a flattened batch. One plan serves one call at a time.
type Layout struct {
	Tensor
	k       *kernels
	regions []region
	task    layoutTask
}

// NewLayout plans conversions of a shape.
func NewLayout(level isa.Level, t Tensor) (*Layout, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	return &Layout{Tensor: t, k: kernelsOf(level), regions: wholeImages(t, t, poolPixels)}, nil
}

// ToBlocked stores in dst what src holds as NCHW, and zeros in the padding.
func (l *Layout) ToBlocked(pool *work.Pool, dst, src []float32) {
	l.run(pool, layoutTask{l: l, blocked: dst, plain: src})
}

// FromBlocked stores in dst, as NCHW, what src holds blocked.
func (l *Layout) FromBlocked(pool *work.Pool, dst, src []float32) {
	l.run(pool, layoutTask{l: l, blocked: src, plain: dst, back: true})
}

func (l *Layout) run(pool *work.Pool, t layoutTask) {
	l.task = t
	run(pool, l.Len()/4, len(l.regions)*l.Blocks(), &l.task)
	l.task = layoutTask{}
}

// layoutTask is a prepared task.
type layoutTask struct {
	l              *Layout
	blocked, plain []float32
	back           bool // from blocked to plain
}

// Do converts one block of channels of a region.
func (t *layoutTask) Do(i int) {
	l := t.l
	r, block := l.regions[i/l.Blocks()], i%l.Blocks()
	size := l.H * l.W
	channels := min(Block, l.C-block*Block)
	for n := r.n; n < r.n+r.images; n++ {
		b := t.blocked[block*l.Plane()+n*size*Block:][:size*Block]
		p := t.plain[(n*l.C+block*Block)*size:][:channels*size]
		if t.back {
			transpose(l.k, p, size, b, Block, size, channels)
		} else {
			l.toBlocked(b, p, channels, size)
		}
	}
}

// toBlocked transposes planes of size values.
func (l *Layout) toBlocked(dst, src []float32, channels, size int) {
	transpose(l.k, dst, Block, src, size, channels, size)
	if channels < Block {
		for ; len(dst) > 0; dst = dst[Block:] {
			clear(dst[channels:Block])
		}
	}
}
