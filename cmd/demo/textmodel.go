package main

import (
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// gpt is a transformer that predicts the next token at each place of a text: ids [n, steps] become logits [n, steps, tokens]. Its first and its last
// layer share their weight, one row for each token.
type gpt struct {
	tokens, window, width int
	blocks, heads         int
	dropout               float64
}

func (m gpt) Forward(c *layers.Context, ids ops.Value) ops.Value {
	rows := c.Param("tokens.weight", tensor.Of(m.tokens, m.width), layers.Normal(0, 0.02))
	x := c.Run("positions", layers.Positions{Max: m.window, Init: layers.Normal(0, 0.02)}, ops.Embedding(rows, ids))
	x = c.Run("dropout", layers.Dropout{P: m.dropout}, x)
	blocks := make(layers.Sequential, m.blocks)
	for i := range blocks {
		blocks[i] = layers.TransformerBlock{Heads: m.heads, Hidden: 4 * m.width, Activation: layers.GELU{Tanh: true}, PreNorm: true, Causal: true}
	}
	x = c.Run("dropout", layers.Dropout{P: m.dropout}, c.Run("norm", layers.LayerNorm{}, c.Run("blocks", blocks, x)))
	return ops.Linear(x, rows, ops.Value{})
}

// recurrent is layers of LSTM or GRU that do the same. What they make of a token is brought to the width of the rows by a linear layer.
type recurrent struct {
	tokens, width int
	layer         layers.Module // between the rows
	dropout       float64
}

func (m recurrent) Forward(c *layers.Context, ids ops.Value) ops.Value {
	rows := c.Param("tokens.weight", tensor.Of(m.tokens, m.width), layers.Normal(0, 0.1))
	x := c.Run("dropout", layers.Dropout{P: m.dropout}, ops.Embedding(rows, ids))
	x = c.Run("dropout", layers.Dropout{P: m.dropout}, c.Run("layers", m.layer, x))
	return ops.Linear(x, rows, c.Param("bias", tensor.Of(m.tokens), layers.Zeros))
}
