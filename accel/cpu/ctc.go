package cpu

import (
	"math"

	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	_ = kernelOf[ops.CTCOp]((*compiler).ctc)
	_ = kernelOf[ops.CTCGradOp]((*compiler).ctcGrad)
)

// ctc emits the losses of sequences.
func (c *compiler) ctc(i int) error {
	return c.emitCTC(i, "ctc", ctc{blank: c.g.Nodes[i].Op.(ops.CTCOp).Blank})
}

// ctcGrad emits their gradient.
func (c *compiler) ctcGrad(i int) error {
	return c.emitCTC(i, "ctc gradient", ctc{blank: c.g.Nodes[i].Op.(ops.CTCGradOp).Of.Blank, grad: true})
}

func (c *compiler) emitCTC(i int, name string, g ctc) error {
	n := &c.g.Nodes[i]
	in, err := views(c.needFloat, n.In...)
	if err != nil {
		return err
	}
	outs, done := c.makeFloats(i, 0)
	x := n.Args[0].Shape
	g.limit, g.n, g.classes = x.Dim(0), x.Dim(1), x.Dim(2)
	g.targets, g.steps, g.labels = n.Args[1], n.Args[2], n.Args[3]
	g.states = 2*g.targets.Shape.Dim(1) + 1
	g.label = make([]int, g.n*g.states)
	for k := range g.label {
		g.label[k] = g.blank
	}
	outs = append(outs, whole(c.scratch(8*g.n*g.size())))
	if computed(n.Args[0].DType) == tensor.F64 {
		c.emit(name, &ctcKernel[float64]{ctc: g}, []int{i}, in, outs)
	} else {
		c.emit(name, &ctcKernel[float32]{ctc: g}, []int{i}, in, outs)
	}
	return done()
}

// ctc is the geometry: n sequences of at most limit steps. The states of a sequence are its labels, with a blank before, between and behind them.
type ctc struct {
	blank                  int
	grad                   bool // or the loss
	limit, n, classes      int
	targets, steps, labels tensor.Spec
	states                 int
	label                  []int // [n, states]; the blank where it is even
}

// size is how many numbers a sequence needs beside its results: a row of its states, for the gradient a row for each step too, and a number for each class.
func (g *ctc) size() int {
	if g.grad {
		return (g.limit+2)*g.states + g.classes
	}
	return g.states
}

// ctcKernel works in logarithms, in float64, on log-probabilities T. Its parts are the sequences.
type ctcKernel[T float32 | float64] struct {
	ctc
	logp, out, dy     []T
	stepsOf, labelsOf tensor.Tensor
	scratch           []float64
}

func (k *ctcKernel[T]) Run(pool *work.Pool, in, out [][]byte) error {
	k.logp, k.out, k.scratch = bytesOf[T](in[0]), bytesOf[T](out[0]), bytesOf[float64](out[1])
	if k.grad {
		k.dy = bytesOf[T](in[4])
		clear(k.out)
	}
	targets := tensorOf(k.targets, in[1])
	k.stepsOf, k.labelsOf = tensorOf(k.steps, in[2]), tensorOf(k.labels, in[3])
	longest := targets.Shape().Dim(1)
	for i := range k.n {
		if err := ops.CheckIndex(k.stepsOf.Int(i), k.limit+1); err != nil {
			return err
		}
		if err := ops.CheckIndex(k.labelsOf.Int(i), longest+1); err != nil {
			return err
		}
		for l := range int(k.labelsOf.Int(i)) {
			label := targets.Int(i*longest + l)
			if err := ops.CheckIndex(label, k.classes); err != nil {
				return err
			}
			k.label[i*k.states+2*l+1] = int(label)
		}
	}
	pool.Run(k.n, k)
	return nil
}

// Do works on sequence i.
func (k *ctcKernel[T]) Do(i int) {
	steps, label := int(k.stepsOf.Int(i)), k.label[i*k.states:][:2*k.labelsOf.Int(i)+1]
	if scratch := k.scratch[i*k.size():][:k.size()]; k.grad {
		k.gradient(i, steps, label, scratch)
	} else {
		k.loss(i, steps, label, scratch[:len(label)])
	}
}

// at is the log-probabilities of sequence i at a step.
func (k *ctcKernel[T]) at(step, i int) []T { return k.logp[(step*k.n+i)*k.classes:][:k.classes] }

// loss adds up what may have been said, for each state in which it may end.
func (k *ctcKernel[T]) loss(i, steps int, label []int, said []float64) {
	begin(said)
	for t := range steps {
		advance(said, said, label, k.at(t, i))
	}
	k.out[i] = T(-ending(said))
}

// gradient keeps those rows, and goes back with what is yet to be said: both together are how likely a state is.
func (k *ctcKernel[T]) gradient(i, steps int, label []int, scratch []float64) {
	row := func(r int) []float64 { return scratch[r*k.states:][:len(label)] }
	begin(row(0))
	for t := range steps {
		advance(row(t+1), row(t), label, k.at(t, i))
	}
	total := ending(row(steps))
	if math.IsInf(total, -1) {
		return
	}
	future, sums, dy := row(k.limit+1), scratch[(k.limit+2)*k.states:], float64(k.dy[i])
	for s := range future {
		future[s] = math.Inf(-1)
		if s >= len(future)-2 {
			future[s] = 0
		}
	}
	for t := steps - 1; t >= 0; t-- {
		clear(sums)
		for s, said := range row(t + 1) {
			sums[label[s]] += math.Exp(said + future[s] - total)
		}
		for c, p := range sums {
			k.out[(t*k.n+i)*k.classes+c] = T(-dy * p)
		}
		retreat(future, label, k.at(t, i))
	}
}

// begin is the row before the first step: nothing is said, which counts as the first blank.
func begin(row []float64) {
	for s := range row {
		row[s] = math.Inf(-1)
	}
	row[0] = 0
}

// advance makes the row behind a step of that before, which may be the same memory: nothing comes to a state from later ones.
func advance[T float32 | float64](to, from []float64, label []int, logp []T) {
	for s := len(label) - 1; s >= 0; s-- {
		a, b, c := from[s], math.Inf(-1), math.Inf(-1)
		if s > 0 {
			b = from[s-1]
		}
		if s > 1 && label[s] != label[s-2] { // no blank need stand between them
			c = from[s-2]
		}
		to[s] = float64(logp[label[s]]) + logSum(a, b, c)
	}
}

// retreat makes what may be said from a step on, for each state before it, of what may be said after it, in the same memory.
func retreat[T float32 | float64](future []float64, label []int, logp []T) {
	for s := range label {
		a, b, c := float64(logp[label[s]])+future[s], math.Inf(-1), math.Inf(-1)
		if s+1 < len(label) {
			b = float64(logp[label[s+1]]) + future[s+1]
		}
		if s+2 < len(label) && label[s+2] != label[s] {
			c = float64(logp[label[s+2]]) + future[s+2]
		}
		future[s] = logSum(a, b, c)
	}
}

// ending is all that ends in the last label or the blank behind it.
func ending(row []float64) float64 {
	if len(row) == 1 {
		return row[0]
	}
	return logSum(row[len(row)-1], row[len(row)-2], math.Inf(-1))
}

// logSum is log(exp(a) + exp(b) + exp(c)).
func logSum(a, b, c float64) float64 {
	top := max(a, b, c)
	if math.IsInf(top, 0) {
		return top
	}
	return top + math.Log(math.Exp(a-top)+math.Exp(b-top)+math.Exp(c-top))
}
