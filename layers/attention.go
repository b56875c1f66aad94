package layers

import (
	"fmt"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// MultiHeadAttention lets the steps of a sequence look at each other (Vaswani et al., 2017): x [n, steps, size] keeps its shape. Steps behind
// the end of a sequence, which [Context.Lengths] says, are not seen; what is made of them is of no use.
//
// Its parameters are those of PyTorch's nn.MultiheadAttention: in_proj_weight [3*size, size] and in_proj_bias [3*size], of the queries, the
// keys and the values in this order, then out_proj.weight [size, size] and out_proj.bias [size]. With grouped heads, which PyTorch's module does not
// have, the keys and the values have KVHeads/Heads as many rows.
type MultiHeadAttention struct {
	Heads   int     // required; it divides size
	KVHeads int     // heads of keys and values, each of which serves Heads/KVHeads neighbouring ones; 0 means Heads
	Causal  bool    // a step sees none that comes later
	Dropout float64 // share of the weights that are dropped in training
	NoBias  bool
	Init    Init // of in_proj_weight; nil means XavierUniform(1)
}

// Forward attends.
func (l MultiHeadAttention) Forward(c *Context, x ops.Value) ops.Value {
	if !l.check(c, x) {
		return c.poison()
	}
	size, groups := x.Dim(2), l.groups()
	width := size / l.Heads
	rows := (l.Heads + 2*groups) * width
	w := c.Param("in_proj_weight", tensor.Of(rows, size), l.Init.or(XavierUniform(1)))
	var b ops.Value
	if !l.NoBias {
		b = c.Param("in_proj_bias", tensor.Of(rows), Zeros)
	}
	z := ops.Linear(x, w, b)
	heads := func(first, n int) ops.Value { // [n, heads, steps, width]
		return z.Narrow(2, first*width, n*width).Reshape(x.Dim(0), x.Dim(1), n, width).Transpose(0, 2, 1, 3)
	}
	q, k, v := heads(0, l.Heads), heads(l.Heads, groups), heads(l.Heads+groups, groups)
	a := ops.Attend{Causal: l.Causal}
	if c.InSession() {
		k, v, a = l.continued(c, k, v)
	} else {
		a.Mask = c.inside(x)
	}
	if c.Mode == Train {
		a.Dropout = l.Dropout
	}
	y := ops.Attention(q, k, v, a).Transpose(0, 2, 1, 3).Reshape(x.Dim(0), x.Dim(1), size)
	return c.Run("out_proj", Linear{Out: size, NoBias: l.NoBias, BiasInit: Zeros}, y)
}

func (l MultiHeadAttention) groups() int {
	if l.KVHeads == 0 {
		return l.Heads
	}
	return l.KVHeads
}

func (l MultiHeadAttention) check(c *Context, x ops.Value) bool {
	switch groups := l.groups(); {
	case l.Heads < 1 || groups < 1 || l.Heads%groups != 0:
		c.Fail(fmt.Errorf("Heads is %d and KVHeads is %d: at least 1, and a number that divides Heads", l.Heads, l.KVHeads))
		return false
	case !c.probability("Dropout", l.Dropout) || !c.sequences(x):
		return false
	}
	if x.Dim(2)%l.Heads != 0 {
		c.Fail(fmt.Errorf("Heads is %d, which does not divide the size of the input %v", l.Heads, x.Spec()))
		return false
	}
	return true
}

// continued puts the keys and values of a piece behind those that the session keeps, and gives all that there is room for, with who sees
// whom: what is not written yet, or was padding, lies behind every step that looks.
func (l MultiHeadAttention) continued(c *Context, k, v ops.Value) (keys, values ops.Value, a ops.Attend) {
	p := c.piece
	switch {
	case !l.Causal:
		c.Fail(fmt.Errorf("%w: in a session attention is Causal: an earlier step cannot see a piece that comes later", ops.ErrMisuse))
	case c.Lengths != p.lengths:
		c.Fail(fmt.Errorf("%w: in a session all sequences have one length", ops.ErrMisuse))
	}
	s := k.Shape().With(2, p.max)
	oldKeys, oldValues := c.Keep("key", s), c.Keep("value", s)
	if oldKeys == nil || oldValues == nil {
		return c.poison(), c.poison(), a
	}
	r := c.Tape.Recorder()
	none := ops.Zeros(r, tensor.SpecOf(tensor.I64, 1))
	starts := ops.Concat(0, none, none, p.at.Unsqueeze(0), none)
	put := func(old *ops.Variable, x ops.Value) ops.Value {
		x = ops.DynamicUpdate(c.Tape.Var(old), starts, x)
		c.Tape.Assign(old, x)
		return x
	}
	key := ops.Iota(r, tensor.SpecOf(tensor.I64, p.max), 0)
	query := ops.Iota(r, tensor.SpecOf(tensor.I64, k.Dim(2), 1), 0).Add(p.at)
	return put(oldKeys, k), put(oldValues, v), ops.Attend{Mask: key.LessEqual(query)}
}

// inside is where the steps of x lie within their sequences, bool [n, 1, 1, steps]; none if there is no padding.
func (c *Context) inside(x ops.Value) ops.Value {
	if c.Lengths.IsNone() {
		return ops.Value{}
	}
	step := ops.Iota(c.Tape.Recorder(), tensor.SpecOf(c.Lengths.DType(), x.Dim(1)), 0)
	return step.Less(ops.Lengths(c.Lengths, x.Dim(1)).Reshape(x.Dim(0), 1, 1, 1))
}

// Positions adds what it has learned of each place in a sequence: x [n, steps, size] plus the first rows of its parameter weight [Max, size].
type Positions struct {
	Max  int  // required: steps of the longest sequence
	Init Init // nil means Normal(0, 1), as for Embedding
}

// Forward adds.
func (l Positions) Forward(c *Context, x ops.Value) ops.Value {
	if l.Max < 1 {
		return c.Fail(fmt.Errorf("Max is %d: it must be at least 1", l.Max))
	}
	if !c.sequences(x) {
		return c.poison()
	}
	w := c.Param("weight", tensor.Of(l.Max, x.Dim(2)), l.Init.or(Normal(0, 1)))
	if c.InSession() {
		if c.piece.max > l.Max {
			return c.Fail(fmt.Errorf("the session is to hold %d steps, and Max is %d", c.piece.max, l.Max))
		}
		steps := ops.Iota(c.Tape.Recorder(), tensor.SpecOf(tensor.I64, x.Dim(1)), 0)
		return x.Add(ops.Embedding(w, steps.Add(c.piece.at)))
	}
	if x.Dim(1) > l.Max {
		return c.Fail(fmt.Errorf("the input has %d steps, and Max is %d", x.Dim(1), l.Max))
	}
	return x.Add(w.Narrow(0, 0, x.Dim(1)))
}
