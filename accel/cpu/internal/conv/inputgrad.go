package conv

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// InputGradient is the planned gradient of a convolution's input: the forward
// pass with its links reversed. With stride 2 the four parities of pixels need
// different taps. One plan serves one call at a time.
type InputGradient struct {
	Shape
	p *pass

	packing pack
	task    inputGradientTask
}

// NewInputGradient plans the gradient.
func NewInputGradient(level isa.Level, s Shape) (*InputGradient, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	g := s.forwardGrid(s.H, s.W).transpose(s.H, s.W)
	return &InputGradient{Shape: s, p: newPass(kernelsOf(level), g, s.Out(), s.In(), s.Groups, s.KW, s.Taps())}, nil
}

// WeightLen is the length of the packed weights.
func (g *InputGradient) WeightLen() int { return g.p.weightLen() }

// PackWeights converts weights [cout][cin][kh][kw] to the order in which Run
// reads them, which is not that of Forward.
func (g *InputGradient) PackWeights(pool *work.Pool, dst, w []float32) {
	g.packing = pack{p: g.p, dst: dst, w: w}
	run(pool, len(dst), g.p.out.Blocks(), &g.packing)
	g.packing = pack{}
}

// Run stores in dx the gradient of the input, given that of the output and packed weights.
func (g *InputGradient) Run(pool *work.Pool, dx, dy, weights []float32) {
	g.task = inputGradientTask{g, dx, dy, weights}
	run(pool, int(g.Flops()/100), g.p.tasks(), &g.task)
	g.task = inputGradientTask{}
}

// inputGradientTask is a prepared task: some blocks of input channels of one region.
type inputGradientTask struct {
	g         *InputGradient
	dx, dy, w []float32
}

// Do computes part i.
func (t *inputGradientTask) Do(i int) {
	p := t.g.p
	plane := p.out.Plane()
	n := len(p.columns)
	at := p.columns[i%n].block*plane + p.place(p.regions[i/n].region)*Block
	p.do(i, t.dx[at:], plane, t.dy, t.w, nil, false)
}
