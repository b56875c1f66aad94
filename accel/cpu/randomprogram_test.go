package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// program records a random program on a tape, as a user would write it: operations one after the other, gradients, assignments.
type program struct {
	*rand.Rand
	tape   *autograd.Tape
	dt     tensor.DType // of the floats
	smooth bool         // functions that round, and no small integers
	plain  bool         // without checkpointed segments
	nan    bool         // some numbers are NaN, and no convolution has padding: what NaN does there is not defined
	pooled bool
	inputs int
	grads  int
	vars   []*ops.Variable
	known  map[string]*ops.Variable // of earlier programs, by name and spec; nil if there are none
	fork   uint64                   // if not 0, the seed of all that comes behind the first operations
	params []ops.Value              // inputs and variables, to differentiate by
	floats []ops.Value              // to go on with
	others []ops.Value              // bools and integers
	outs   []ops.Value
}

// maxElements bounds a value: the reference is slow.
const maxElements = 6000

// newProgram records a program.
func newProgram(seed uint64, dt tensor.DType, smooth bool, tape *autograd.Tape) *program {
	p := &program{Rand: rand.New(rand.NewPCG(seed, uint64(dt))), tape: tape, dt: dt, smooth: smooth}
	p.record()
	return p
}

// record records the program.
func (p *program) record() {
	p.nan = !p.smooth && p.chance(4)
	if p.chance(2) {
		p.operand(1+p.IntN(3), p.choose(1, 3, 4, 5, 16, 17, 19), 3+p.IntN(6), 3+p.IntN(6))
	} else {
		var dims []int
		for n, size := p.IntN(4), 1; n > 0; n-- {
			d := p.size()
			if size *= max(d, 1); size > maxElements {
				break
			}
			dims = append(dims, d)
		}
		p.operand(dims...)
	}
	for i := range 1 + p.IntN(10) {
		if i == 2 && p.fork != 0 {
			p.Rand = rand.New(rand.NewPCG(p.fork, 1))
		}
		switch p.IntN(16) {
		case 0, 1:
			p.segment()
		case 2:
			p.tape.On("second", p.steps)
		default:
			p.step()
		}
	}
	p.finish()
}

// steps are some operations.
func (p *program) steps() {
	for range 1 + p.IntN(4) {
		p.step()
	}
}

// segment is operations in a checkpointed segment, and perhaps another segment within.
func (p *program) segment() {
	f := func() ops.Value {
		p.steps()
		if p.chance(3) {
			p.segment()
		}
		return p.floats[len(p.floats)-1]
	}
	if p.plain {
		p.keep(f())
	} else {
		p.keep(p.tape.Checkpoint(f))
	}
}

// chance is true once in n times.
func (p *program) chance(n int) bool { return p.IntN(n) == 0 }

func (p *program) choose(list ...int) int { return list[p.IntN(len(list))] }

// size is a dimension that fills vectors or does not.
func (p *program) size() int {
	if p.chance(40) {
		return 0
	}
	return p.choose(1, 1, 2, 3, 4, 5, 8, 16, 17, 33)
}

// fill makes an array of small integers, or for functions that round of numbers around zero.
func (p *program) fill(dt tensor.DType, dims []int) tensor.Tensor {
	t := tensor.New(tensor.SpecOf(dt, dims...))
	for i := range t.Len() {
		if p.smooth {
			t.Set(i, p.Float64()*3-1.5)
		} else {
			t.Set(i, float64(p.IntN(7)-3))
		}
	}
	if p.nan && t.Len() > 0 && p.chance(3) {
		t.Set(p.IntN(t.Len()), math.NaN())
	}
	return t
}

// operand is a new input or variable.
func (p *program) operand(dims ...int) ops.Value {
	p.inputs++
	name, t := fmt.Sprint("x", p.inputs), p.fill(p.dt, dims)
	var v ops.Value
	if p.chance(2) {
		key := name + t.Spec().String()
		w := p.known[key]
		if w == nil {
			w = ops.NewVariable(name, t)
		}
		if p.known != nil {
			p.known[key] = w
		}
		p.vars = append(p.vars, w)
		v = p.tape.Var(w)
	} else {
		v = p.tape.Input(name, t)
	}
	p.params = append(p.params, v)
	p.keep(v)
	return v
}

// indices are a new input of numbers below n.
func (p *program) indices(n int, dims ...int) ops.Value {
	p.inputs++
	t := tensor.New(tensor.SpecOf([]tensor.DType{tensor.I64, tensor.I32}[p.IntN(2)], dims...))
	for i := range t.Len() {
		t.SetInt(i, p.Int64N(int64(n)))
	}
	return p.tape.Input(fmt.Sprint("i", p.inputs), t)
}

// keep adds a value to those that the program goes on with.
func (p *program) keep(v ops.Value) {
	switch {
	case p.tape.Err() != nil || v.Shape().Size() > maxElements:
	case v.DType() == p.dt:
		p.floats = append(p.floats, v)
	default:
		p.others = append(p.others, v)
	}
}

// pick is a value, with a liking for the last.
func (p *program) pick() ops.Value {
	if p.chance(2) {
		return p.floats[len(p.floats)-1]
	}
	return p.floats[p.IntN(len(p.floats))]
}

// partner is a value whose shape broadcasts with x's: one that there is already, or a new one.
func (p *program) partner(x ops.Value) ops.Value {
	if p.chance(2) {
		y := p.pick()
		if s, ok := tensor.Broadcast(x.Shape(), y.Shape()); ok && s.Size() <= maxElements {
			return y
		}
	}
	dims := x.Shape().Dims()
	switch p.IntN(5) {
	case 0: // one number
		for i := range dims {
			dims[i] = 1
		}
	case 1: // for each channel, row, column
		if len(dims) > 0 {
			k := p.IntN(len(dims))
			for i := range dims {
				if i != k {
					dims[i] = 1
				}
			}
		}
	case 2:
		for i := range dims {
			if p.chance(2) {
				dims[i] = 1
			}
		}
	case 3: // x is what repeats
		for i, d := range dims {
			if d == 1 {
				dims[i] = p.size()
			}
		}
		if len(dims) < 4 && p.chance(2) {
			dims = append([]int{p.size()}, dims...)
		}
	}
	for len(dims) > 0 && dims[0] == 1 && p.chance(2) {
		dims = dims[1:]
	}
	if s, ok := tensor.Broadcast(x.Shape(), tensor.Of(dims...)); !ok || s.Size() > maxElements {
		dims = nil
	}
	return p.operand(dims...)
}

// step records one operation, or a few that belong together.
func (p *program) step() {
	x := p.pick()
	if p.tape.Err() != nil {
		return
	}
	steps := []func(ops.Value){p.unary, p.unary, p.binary, p.binary, p.binary, p.branch, p.convert, p.shape, p.shape, p.shape, p.reduce, p.index, p.random, p.multiply, p.multiply}
	if x.Rank() == 4 {
		steps = append(steps, p.image, p.image, p.image, p.image, p.image, p.image, p.image)
	}
	if p.smooth {
		steps = append(steps, p.normalise, p.normalise)
	}
	steps[p.IntN(len(steps))](x)
}

// finish records gradients and assignments, and chooses results.
func (p *program) finish() {
	if p.chance(3) {
		p.outs = append(p.outs, p.floats[p.IntN(len(p.floats))])
	}
	for range 1 + p.IntN(2) {
		p.outs = append(p.outs, p.floats[len(p.floats)-1-p.IntN(min(3, len(p.floats)))])
	}
	if p.chance(2) {
		p.outs = append(p.outs, p.operand(p.outs[0].Shape().Dims()...).Mul(p.outs[0]).Identity())
	}
	if len(p.others) > 0 && p.chance(2) {
		p.outs = append(p.outs, p.others[p.IntN(len(p.others))])
	}
	if p.nan && p.pooled { // of several NaN in a window, the gradient of a ReLU before the pool meets the first only
		return
	}
	for p.chance(2) && p.grads < 2 && p.tape.Err() == nil {
		p.grads++
		loss := p.floats[len(p.floats)-1]
		if p.chance(2) {
			loss = loss.Mul(p.partner(loss))
		}
		loss = loss.Sum()
		if p.chance(3) {
			loss = loss.Add(p.pick().Sum())
		}
		wrt := []ops.Value{p.params[p.IntN(len(p.params))]}
		for _, v := range p.params {
			if p.chance(2) {
				wrt = append(wrt, v)
			}
		}
		for p.chance(2) {
			wrt = append(wrt, p.floats[p.IntN(len(p.floats))])
		}
		for _, g := range p.tape.Grad(loss, wrt...) {
			p.outs = append(p.outs, g)
			p.keep(g)
		}
	}
	for _, v := range p.vars {
		for k := len(p.floats) - 1; k >= 0 && p.tape.Err() == nil; k-- {
			x := p.floats[k]
			if x.Spec() != v.Spec() || p.chance(2) {
				continue
			}
			if p.chance(2) {
				x = p.tape.Var(v).Sub(x.Scale(2)) // an update
			}
			if p.chance(4) {
				x = x.ReLU().Add(p.tape.Var(v).Mul(x))
			}
			p.tape.Assign(v, x)
			break
		}
	}
}
