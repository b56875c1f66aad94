package conv

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// Layout converts between the blocked layout and NCHW, which is also the order
// of the rows [N, C*H*W] of a flattened batch. One plan serves one call at a time.
type Layout struct {
	Tensor
	k    *kernels
	task layoutTask
}

// NewLayout plans conversions of a shape.
func NewLayout(level isa.Level, t Tensor) (*Layout, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	return &Layout{Tensor: t, k: kernelsOf(level)}, nil
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
	run(pool, l.Len(), l.N*l.Blocks(), &l.task)
	l.task = layoutTask{}
}

// layoutTask is a prepared task.
type layoutTask struct {
	l              *Layout
	blocked, plain []float32
	back           bool // from blocked to plain
}

// Do converts one block of channels of one image.
func (t *layoutTask) Do(i int) {
	l := t.l
	n, block := i/l.Blocks(), i%l.Blocks()
	size := l.H * l.W
	if size == 0 {
		return
	}
	channels := min(Block, l.C-block*Block)
	b := t.blocked[block*l.Plane()+n*size*Block:][:size*Block]
	p := t.plain[(n*l.C+block*Block)*size:][:channels*size]
	if t.back {
		l.fromBlocked(p, b, channels, size)
	} else {
		l.toBlocked(b, p, channels, size)
	}
}

// toBlocked transposes planes of size values, four channels at a time.
func (l *Layout) toBlocked(dst, src []float32, channels, size int) {
	c := 0
	for ; c+4 <= channels; c += 4 {
		whole := size &^ 3
		if whole > 0 {
			l.k.pack4(dst[c:], Block, src[c*size:], size, whole)
		}
		for p := whole; p < size; p++ {
			for k := c; k < c+4; k++ {
				dst[p*Block+k] = src[k*size+p]
			}
		}
	}
	for ; c < channels; c++ {
		for p, v := range src[c*size:][:size] {
			dst[p*Block+c] = v
		}
	}
	if channels < Block {
		for ; len(dst) > 0; dst = dst[Block:] {
			clear(dst[channels:Block])
		}
	}
}

// fromBlocked transposes pixels of 16 channels, four pixels at a time.
func (l *Layout) fromBlocked(dst, src []float32, channels, size int) {
	p := 0
	if whole := channels &^ 3; whole > 0 {
		for ; p+4 <= size; p += 4 {
			l.k.pack4(dst[p:], size, src[p*Block:], Block, whole)
			for c := whole; c < channels; c++ {
				for k := p; k < p+4; k++ {
					dst[c*size+k] = src[k*Block+c]
				}
			}
		}
	}
	for ; p < size; p++ {
		for c := range channels {
			dst[c*size+p] = src[p*Block+c]
		}
	}
}
