package layers

import (
	"fmt"
	"math"
	"strconv"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// LSTM runs layers of long short-term memory through sequences: x [n, steps, in] becomes [n, steps, Hidden], with twice as many numbers, first those
// of the way forward, if it is Bidirectional. Sequences end where [Context.Lengths] says: what lies behind gives 0 and is not looked at.
//
// Its parameters are PyTorch's: weight_ih_l0 [4*Hidden, in], weight_hh_l0 [4*Hidden, Hidden], bias_ih_l0 and bias_hh_l0 [4*Hidden], with the
// gates in the order input, forget, cell, output; then l1 and so on; the way back has "_reverse" behind each name.
type LSTM struct {
	Hidden        int     // required
	Layers        int     // one above the other; 0 means 1
	Bidirectional bool    // also from the last step to the first
	Dropout       float64 // between the layers
	NoBias        bool
	Init          Init // of all parameters; nil means uniform within ±1/sqrt(Hidden)
}

// Forward gives the output of the uppermost layer at every step.
func (l LSTM) Forward(c *Context, x ops.Value) ops.Value {
	y, _, _ := recurrent(l).run(c, x, 4)
	return y
}

// Run is Forward for a module that wants the last states too: h and cell, PyTorch's h_n and c_n, both [Layers * directions, n, Hidden].
func (l LSTM) Run(c *Context, x ops.Value) (y, h, cell ops.Value) {
	y, hs, cs := recurrent(l).run(c, x, 4)
	return y, c.stack(hs), c.stack(cs)
}

// GRU runs layers of gated recurrent units through sequences, as LSTM does. Its parameters have PyTorch's names, those of LSTM, with 3 gates
// instead of 4, in the order reset, update, new.
type GRU struct {
	Hidden        int     // required
	Layers        int     // one above the other; 0 means 1
	Bidirectional bool    // also from the last step to the first
	Dropout       float64 // between the layers
	NoBias        bool
	Init          Init // of all parameters; nil means uniform within ±1/sqrt(Hidden)
}

// Forward gives the output of the uppermost layer at every step.
func (l GRU) Forward(c *Context, x ops.Value) ops.Value {
	y, _, _ := recurrent(l).run(c, x, 3)
	return y
}

// Run is Forward for a module that wants the last states too: h, PyTorch's h_n, [Layers * directions, n, Hidden].
func (l GRU) Run(c *Context, x ops.Value) (y, h ops.Value) {
	y, hs, _ := recurrent(l).run(c, x, 3)
	return y, c.stack(hs)
}

// recurrent is what LSTM, of 4 gates, and GRU, of 3, have in common.
type recurrent LSTM

// ways are the directions, by the ends of their parameters' names.
var ways = [...]string{"", "_reverse"}

// maxLayers keeps a mistaken number from making parameters without end.
const maxLayers = 1 << 10

// run gives the output of the uppermost layer and the last states of all.
func (l recurrent) run(c *Context, x ops.Value, gates int) (y ops.Value, hs, cs []ops.Value) {
	if !l.check(c, x) {
		return c.poison(), nil, nil
	}
	directions := 1
	if l.Bidirectional {
		directions = 2
	}
	bound := 1 / math.Sqrt(float64(l.Hidden))
	init := l.Init.or(Uniform(-bound, bound))
	for k := range max(1, l.Layers) {
		if k > 0 && c.Mode == Train && l.Dropout > 0 {
			x = ops.Dropout(x, l.Dropout)
		}
		var out [2]ops.Value
		for d := range directions {
			name := "_l" + strconv.Itoa(k) + ways[d]
			g := l.gates(c, name, gates, x.Dim(2), init)
			s := ops.Sequence{Lengths: c.Lengths, Reverse: d == 1}
			state := tensor.Of(x.Dim(0), l.Hidden)
			past, pastCell := c.Keep("h"+name, state), (*ops.Variable)(nil)
			s.H = c.recall(past)
			if gates == 4 {
				pastCell = c.Keep("c"+name, state)
				s.C = c.recall(pastCell)
				out[d], s.H, s.C = ops.LSTM(x, g, s)
				cs = append(cs, s.C)
			} else {
				out[d], s.H = ops.GRU(x, g, s)
			}
			hs = append(hs, s.H)
			c.remember(past, s.H)
			c.remember(pastCell, s.C)
		}
		x = out[0]
		if l.Bidirectional {
			x = ops.Concat(2, out[0], out[1])
		}
	}
	return x, hs, cs
}

func (l recurrent) check(c *Context, x ops.Value) bool {
	switch {
	case l.Hidden < 1 || l.Layers < 0 || l.Layers > maxLayers:
		c.Fail(fmt.Errorf("Hidden is %d and Layers is %d: at least 1, and 0 to %d", l.Hidden, l.Layers, maxLayers))
		return false
	case l.Bidirectional && c.InSession():
		c.Fail(fmt.Errorf("%w: in a session no layer is Bidirectional: the way back would begin in pieces that come later", ops.ErrMisuse))
		return false
	case !c.probability("Dropout", l.Dropout):
		return false
	}
	return c.sequences(x)
}

// gates are the parameters of one layer in one direction.
func (l recurrent) gates(c *Context, name string, gates, in int, init Init) (g ops.Gates) {
	rows := 0
	if l.Hidden <= math.MaxInt/gates { // a product that does not overflow; Param refuses the other
		rows = gates * l.Hidden
	}
	g.Input = c.Param("weight_ih"+name, tensor.Of(rows, in), init)
	g.Hidden = c.Param("weight_hh"+name, tensor.Of(rows, l.Hidden), init)
	if !l.NoBias {
		g.InputBias = c.Param("bias_ih"+name, tensor.Of(rows), init)
		g.HiddenBias = c.Param("bias_hh"+name, tensor.Of(rows), init)
	}
	return g
}

// sequences fails unless x is [n, steps, size] of the type of the parameters.
func (c *Context) sequences(x ops.Value) bool {
	if c.Tape.Err() != nil || !c.fits(x) {
		return false
	}
	if x.Rank() != 3 {
		c.Fail(&tensor.ShapeError{Msg: "sequences are [n, steps, size]", In: []tensor.Spec{x.Spec()}})
		return false
	}
	return true
}

// recall is what a session keeps; none outside of sessions.
func (c *Context) recall(v *ops.Variable) ops.Value {
	if v == nil {
		return ops.Value{}
	}
	return c.Tape.Var(v)
}

// remember makes x what the session keeps.
func (c *Context) remember(v *ops.Variable, x ops.Value) {
	if v != nil {
		c.Tape.Assign(v, x)
	}
}

// stack puts states one above the other.
func (c *Context) stack(states []ops.Value) ops.Value {
	if len(states) == 0 || c.Tape.Err() != nil {
		return c.poison()
	}
	return ops.Stack(0, states...)
}
