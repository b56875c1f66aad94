package layers

import (
	"fmt"

	"github.com/cortado-ml/cortado/ops"
)

// TransformerBlock is attention and two linear layers, each with a residual connection and a layer-norm: x [n, steps, size] keeps its
// shape. The norm comes behind each addition (Vaswani et al., 2017), or with PreNorm before each of the two, so that the residual path is bare.
//
// Its modules are called as in PyTorch's nn.TransformerEncoderLayer: self_attn, linear1, linear2, norm1, norm2. Unlike there, Dropout is 0
// unless it is given.
type TransformerBlock struct {
	Heads      int     // required; it divides size
	KVHeads    int     // as in MultiHeadAttention
	Hidden     int     // outputs of linear1; 0 means 2048
	Activation Module  // behind linear1; nil means ReLU
	Dropout    float64 // of the weights of attention, behind it, behind the activation and behind linear2, in training
	PreNorm    bool    // PyTorch's norm_first
	Causal     bool    // a step sees none that comes later
	Eps        float64 // of the layer-norms; 0 means 1e-5
	NoBias     bool    // in none of the modules
}

// Forward runs the block.
func (l TransformerBlock) Forward(c *Context, x ops.Value) ops.Value {
	if l.Hidden < 0 {
		return c.Fail(fmt.Errorf("Hidden is %d: it may not be negative", l.Hidden))
	}
	if !c.probability("Dropout", l.Dropout) || !c.sequences(x) {
		return c.poison()
	}
	norm := LayerNorm{Eps: l.Eps, NoBias: l.NoBias}
	if l.PreNorm {
		x = c.add(x, l.attend(c, c.Run("norm1", norm, x)))
		return c.add(x, l.feed(c, c.Run("norm2", norm, x)))
	}
	x = c.Run("norm1", norm, c.add(x, l.attend(c, x)))
	return c.Run("norm2", norm, c.add(x, l.feed(c, x)))
}

func (l TransformerBlock) attend(c *Context, x ops.Value) ops.Value {
	y := c.Run("self_attn", MultiHeadAttention{Heads: l.Heads, KVHeads: l.KVHeads, Causal: l.Causal, Dropout: l.Dropout, NoBias: l.NoBias}, x)
	return l.drop(c, "dropout1", y)
}

func (l TransformerBlock) feed(c *Context, x ops.Value) ops.Value {
	size, hidden := x.Dim(-1), l.Hidden
	if hidden == 0 {
		hidden = 2048
	}
	activation := l.Activation
	if activation == nil {
		activation = ReLU{}
	}
	y := c.Run("activation", activation, c.Run("linear1", Linear{Out: hidden, NoBias: l.NoBias}, x))
	y = c.Run("linear2", Linear{Out: size, NoBias: l.NoBias}, l.drop(c, "dropout", y))
	return l.drop(c, "dropout2", y)
}

func (l TransformerBlock) drop(c *Context, name string, x ops.Value) ops.Value {
	if l.Dropout == 0 {
		return x
	}
	return c.Run(name, Dropout{P: l.Dropout}, x)
}
