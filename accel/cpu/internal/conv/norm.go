package conv

import (
	"math"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// segment is how many pixels one part of a sum over pixels has. Parts are summed in order.
const segment = 2048

// planes cuts a blocked tensor into parts for sums over pixels and passes over all values.
type planes struct {
	Tensor
	k        *kernels
	segments int
}

func newPlanes(level isa.Level, t Tensor) (planes, error) {
	return planes{t, kernelsOf(level), ceil(t.Pixels(), segment)}, t.check()
}

// parts is the number of parts of all blocks.
func (p *planes) parts() int { return p.Blocks() * p.segments }

// part returns the block of part i, where it starts, and how many pixels it has.
func (p *planes) part(i int) (block, at, n int) {
	block = i / p.segments
	from := i % p.segments * segment
	return block, block*p.Plane() + from*Block, min(segment, p.Pixels()-from)
}

// total adds up the sums of one channel over a block's parts; each part has stride values.
func (p *planes) total(sums []float64, stride, channel int) float64 {
	t := 0.0
	for s := range p.segments {
		t += sums[(channel/Block*p.segments+s)*stride+channel%Block]
	}
	return t
}

// Norm is planned batch-norm over a blocked tensor, with or without a ReLU
// behind it, and its gradient. Statistics are sums in float64: the mean first, then the
// squares of the distances from it. All passes over some blocks of channels
// come before the next blocks, so that the later ones find them in cache. One
// plan serves one call at a time.
type Norm struct {
	planes
	eps  float64
	relu bool
	sums []float64 // of each part: 16 channels, or twice 16

	mean, p, q, r []float32 // of each channel, padded: mean and the factors of the pass under way
	task          normTask
}

// NewNorm plans batch-norm; eps is added to the variance.
func NewNorm(level isa.Level, t Tensor, eps float64, relu bool) (*Norm, error) {
	p, err := newPlanes(level, t)
	if err != nil {
		return nil, err
	}
	n := &Norm{planes: p, eps: eps, relu: relu, sums: make([]float64, 2*Block*p.parts())}
	for _, v := range []*[]float32{&n.mean, &n.p, &n.q, &n.r} {
		*v = make([]float32, t.Blocks()*Block)
	}
	return n, nil
}

// Forward stores in y the normalized x times scale plus bias, and in mean and
// variance (the biased one, which it normalizes by) the statistics of each channel.
// scale and bias are 1 and 0 if nil.
func (n *Norm) Forward(pool *work.Pool, y, mean, variance, x, scale, bias []float32) {
	for from := 0; from < n.Blocks(); from += n.group() {
		n.forward(pool, from, y, mean, variance, x, scale, bias)
	}
}

// forward does the blocks of a group.
func (n *Norm) forward(pool *work.Pool, from int, y, mean, variance, x, scale, bias []float32) {
	pixels := float64(max(1, n.Pixels()))
	first, end := n.channels(from)
	n.run(pool, normTask{n: n, do: (*normTask).sum, from: from, x: x})
	for c := first; c < end; c++ {
		mean[c] = float32(n.total(n.sums, Block, c) / pixels)
		// What rounding the mean has cut off comes back with the bias, below.
		n.r[c] = float32(n.total(n.sums, Block, c)/pixels - float64(mean[c]))
	}
	copy(n.mean[first:], mean[first:end])
	n.run(pool, normTask{n: n, do: (*normTask).square, from: from, x: x})
	for c := first; c < end; c++ {
		rest := float64(n.r[c])
		v := n.total(n.sums, Block, c)/pixels - rest*rest
		if v < 0 {
			v = 0
		}
		variance[c] = float32(v)
		n.affine(c, rest, v, scale, bias)
	}
	n.run(pool, normTask{n: n, do: (*normTask).normalize, from: from, x: x, y: y})
}

// group is the number of blocks whose passes follow each other: so many that there are parts to share.
func (n *Norm) group() int { return ceil(16, max(1, n.segments)) }

// channels are those of the group that begins at a block.
func (n *Norm) channels(from int) (first, end int) {
	return from * Block, min((from+n.group())*Block, n.C)
}

// Infer stores in y what Forward does, with given statistics.
func (n *Norm) Infer(pool *work.Pool, y, x, scale, bias, mean, variance []float32) {
	copy(n.mean, mean[:n.C])
	for c := range n.C {
		n.affine(c, 0, float64(variance[c]), scale, bias)
	}
	n.run(pool, normTask{n: n, do: (*normTask).normalize, all: true, x: x, y: y})
}

// affine sets p and q so that the result is (x-mean)*p + q. rest is what the rounded mean lacks.
func (n *Norm) affine(c int, rest, variance float64, scale, bias []float32) {
	s := n.scale(scale, c) / math.Sqrt(variance+n.eps)
	b := -rest * s
	if bias != nil {
		b += float64(bias[c])
	}
	n.p[c], n.q[c] = float32(s), float32(b)
}

func (n *Norm) scale(scale []float32, c int) float64 {
	if scale == nil {
		return 1
	}
	return float64(scale[c])
}

// Backward stores the gradients of x, scale and bias, given that of y and what
// Forward was given and stored. y itself is read for a ReLU only. dscale and dbias may be nil.
func (n *Norm) Backward(pool *work.Pool, dx, dscale, dbias, dy, y, x, scale, mean, variance []float32) {
	if !n.relu {
		y = nil
	}
	copy(n.mean, mean[:n.C])
	for from := 0; from < n.Blocks(); from += n.group() {
		n.backward(pool, from, dx, dscale, dbias, dy, y, x, scale, variance)
	}
}

// backward does the blocks of a group.
func (n *Norm) backward(pool *work.Pool, from int, dx, dscale, dbias, dy, y, x, scale, variance []float32) {
	n.run(pool, normTask{n: n, do: (*normTask).gradientSums, from: from, x: x, y: y, dy: dy})
	pixels := float64(max(1, n.Pixels()))
	first, end := n.channels(from)
	for c := first; c < end; c++ {
		// With d for dy, g is the mean of d, and h that of d*(x-mean).
		g, h := n.total(n.sums, 2*Block, c)/pixels, n.total(n.sums[Block:], 2*Block, c)/pixels
		inv := 1 / math.Sqrt(float64(variance[c])+n.eps)
		if dscale != nil {
			dscale[c] = float32(pixels * h * inv)
		}
		if dbias != nil {
			dbias[c] = float32(pixels * g)
		}
		// dx = scale*inv * (d - g - (x-mean)*inv^2*h) = p*d + q*(x-mean) + r
		p := n.scale(scale, c) * inv
		n.p[c], n.q[c], n.r[c] = float32(p), float32(-p*inv*inv*h), float32(-p*g)
	}
	n.run(pool, normTask{n: n, do: (*normTask).gradient, from: from, x: x, y: y, dy: dy, dx: dx})
}

// run does the parts of a group, or all.
func (n *Norm) run(pool *work.Pool, t normTask) {
	blocks := n.Blocks()
	if !t.all {
		blocks = min(n.group(), blocks-t.from)
	}
	n.task = t
	run(pool, blocks*n.Plane()/4, blocks*n.segments, &n.task)
	n.task = normTask{}
}

// normTask is a prepared task: one of the passes below over one part.
type normTask struct {
	n            *Norm
	do           func(t *normTask, part, block, at, n int)
	from         int  // the first block
	all          bool // blocks, rather than those of a group
	x, y, dy, dx []float32
}

// Do does part i.
func (t *normTask) Do(i int) {
	i += t.from * t.n.segments
	block, at, n := t.n.part(i)
	t.do(t, i, block*Block, at, n)
}

func (t *normTask) sum(part, _, at, n int) {
	t.n.k.sums(n, t.x[at:], t.n.sums[part*Block:])
}

func (t *normTask) square(part, c, at, n int) {
	t.n.k.squares(n, t.x[at:], t.n.mean[c:], t.n.sums[part*Block:])
}

func (t *normTask) normalize(_, c, at, n int) {
	floor := float32(math.Inf(-1))
	if t.n.relu {
		floor = 0
	}
	t.n.k.normalize(n, t.x[at:], t.y[at:], t.n.mean[c:], t.n.p[c:], t.n.q[c:], floor)
}

func (t *normTask) gradientSums(part, c, at, n int) {
	t.n.k.normSums(n, t.dy[at:], from(t.y, at), t.x[at:], t.n.mean[c:], t.n.sums[2*Block*part:])
}

func (t *normTask) gradient(_, c, at, n int) {
	t.n.k.normGrad(n, t.dy[at:], from(t.y, at), t.x[at:], t.dx[at:], t.n.mean[c:], t.n.p[c:], t.n.q[c:], t.n.r[c:])
}

// from is x[at:], or nil.
func from(x []float32, at int) []float32 {
	if x == nil {
		return nil
	}
	return x[at:]
}
