package cpu

import (
	"slices"

	"github.com/cortado-ml/cortado/accel/cpu/internal/vec"
	"github.com/cortado-ml/cortado/ops"
)

// donate decides which donated outputs are made in the memory of their parameter. That saves a quarter of the traffic of an optimiser's
// update, and is right where the step that writes is an elementwise chain, every other step that reads the parameter comes before it, and so
// does every step that can fail. The others are made in a spare block, which the buffer exchanges for its own when all has gone well.
func (c *compiler) donate() {
	p := c.p
	fallible := -1
	for i := range p.steps {
		for _, n := range p.steps[i].nodes {
			if ops.Fallible(c.g.Nodes[n].Op) {
				fallible = i
			}
		}
	}
	p.noReturn = len(p.steps)
	for j, param := range c.g.Donate {
		if param < 0 {
			continue
		}
		at, ok := c.writer(p.outputs[j])
		if !ok || at <= fallible || !c.mayWrite(at, p.params[param]) {
			continue
		}
		p.inPlace[j] = true
		p.noReturn = min(p.noReturn, at)
	}
}

// writer is the step that makes a value, if it is a chain.
func (c *compiler) writer(v *value) (int, bool) {
	for i := range c.p.steps {
		s := &c.p.steps[i]
		if slices.ContainsFunc(s.out, func(o view) bool { return o.value == v }) {
			_, chain := s.kernel.(*vec.Chain)
			return i, chain
		}
	}
	return 0, false
}

// mayWrite reports whether step at may write the memory of param: nobody reads it later, and the step itself only element by element.
func (c *compiler) mayWrite(at int, param *value) bool {
	for i := at; i < len(c.p.steps); i++ {
		s := &c.p.steps[i]
		for k, v := range s.in {
			if v.value == param && (i > at || s.dense == nil || !s.dense[k]) {
				return false
			}
		}
	}
	return true
}
