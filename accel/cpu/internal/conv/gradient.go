package conv

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// Gradient is planned work on the gradient of a blocked tensor: its sum over
// pixels, which is the gradient of a bias, and its way through a ReLU. One plan
// serves one call at a time.
type Gradient struct {
	planes
	sums []float64
	task gradientTask
}

// NewGradient plans the work.
func NewGradient(level isa.Level, t Tensor) (*Gradient, error) {
	p, err := newPlanes(level, t)
	if err != nil {
		return nil, err
	}
	return &Gradient{planes: p, sums: make([]float64, 2*Block*p.parts())}, nil
}

// Bias stores in db the sum of dy over all pixels for each channel. If y is not
// nil, dy goes through the ReLU whose output y is. With a pool behind the ReLU,
// the pooled dy and y have the same sum, up to rounding, and are smaller.
func (g *Gradient) Bias(pool *work.Pool, db, dy, y []float32) {
	g.run(pool, gradientTask{g: g, dy: dy, y: y})
	for c := range g.C {
		db[c] = float32(g.total(g.sums, 2*Block, c))
	}
}

// ReLU stores in dx dy where y is positive, NaN where y is NaN, else 0. y is the
// output of the ReLU, or its input.
func (g *Gradient) ReLU(pool *work.Pool, dx, dy, y []float32) {
	g.run(pool, gradientTask{g: g, dy: dy, y: y, dx: dx})
}

func (g *Gradient) run(pool *work.Pool, t gradientTask) {
	g.task = t
	run(pool, g.Len()/4, g.parts(), &g.task)
	g.task = gradientTask{}
}

// gradientTask is a prepared task: with dx the way through a ReLU, else the sums.
type gradientTask struct {
	g         *Gradient
	dx, dy, y []float32
}

// Do does part i.
func (t *gradientTask) Do(i int) {
	_, at, n := t.g.part(i)
	sums := t.g.sums[2*Block*i:]
	switch {
	case t.dx != nil:
		t.g.k.reluGrad(n, t.dy[at:], t.y[at:], t.dx[at:])
	case t.y != nil:
		t.g.k.normSums(n, t.dy[at:], t.y[at:], t.dy[at:], t.dy[at:], sums) // only the first of the two sums is wanted
	default:
		t.g.k.sums(n, t.dy[at:], sums)
	}
}
