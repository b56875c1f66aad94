package ops

import (
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
)

// Backward is what a gradient rule sees of its node.
type Backward struct {
	d  *differ
	n  *Node
	id uint32
	dy []Value
	dx []Value
}

// In is input i, recomputed if the node lies in a checkpointed segment.
func (b *Backward) In(i int) Value { return b.d.value(b.n.Env.seg, b.n.In[i]) }

// Out is output i, recomputed likewise.
func (b *Backward) Out(i int) Value { return b.d.value(b.n.Env.seg, Edge{b.id, uint16(i)}) }

// Ins is the number of inputs.
func (b *Backward) Ins() int { return len(b.n.In) }

// InSpec is the spec of input i.
func (b *Backward) InSpec(i int) tensor.Spec { return b.d.r.path[b.n.In[i].Node].Out[b.n.In[i].Out] }

// OutSpec is the spec of output i.
func (b *Backward) OutSpec(i int) tensor.Spec { return b.n.Out[i] }

// Dy is the gradient of output i, or false if none arrives. A rule runs only if one arrives at some output.
func (b *Backward) Dy(i int) (Value, bool) { return b.dy[i], !b.dy[i].IsNone() }

// DyOrZero fills in zeros, for rules that gain nothing by the distinction.
func (b *Backward) DyOrZero(i int) Value {
	if v, ok := b.Dy(i); ok {
		return v
	}
	return b.d.zeros(b.n.Out[i])
}

// Needs reports whether input i's gradient is wanted.
func (b *Backward) Needs(i int) bool { return b.d.needs(b.n.In[i]) }

// Set gives input i's gradient, which has the spec of the input. An input that is not set has none: the output does not depend on it.
func (b *Backward) Set(i int, dx Value) {
	if b.Needs(i) {
		b.dx[i] = dx
	}
}

// Fail ends the differentiation; the node is named.
func (b *Backward) Fail(err error) { b.d.r.Fail(b.n.Place(fmt.Errorf("gradient: %w", err))) }
