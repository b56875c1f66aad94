package layers

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Linear is x wᵀ + b over the last axis: [n, in] becomes [n, Out]. Its parameters are weight [Out, in] and bias [Out].
type Linear struct {
	Out      int // required
	NoBias   bool
	Init     Init // of the weight; nil means KaimingUniform(√5)
	BiasInit Init // nil means uniform within ±1/sqrt(in)
}

// Forward multiplies and adds.
func (l Linear) Forward(c *Context, x ops.Value) ops.Value {
	if l.Out < 1 {
		return c.Fail(fmt.Errorf("Out is %d: it must be at least 1", l.Out))
	}
	if !c.fits(x) {
		return c.poison()
	}
	in := x.Dim(-1)
	w := c.Param("weight", tensor.Of(l.Out, in), l.Init.or(KaimingUniform(math.Sqrt(5))))
	return ops.Linear(x, w, bias(c, l.NoBias, l.Out, l.BiasInit, in))
}

// or is the default of an Init.
func (i Init) or(other Init) Init {
	if i == nil {
		return other
	}
	return i
}

// bias is the parameter [n] of a layer whose outputs each see fanIn inputs, or none.
func bias(c *Context, none bool, n int, init Init, fanIn int) ops.Value {
	if none {
		return ops.Value{}
	}
	bound := 1 / math.Sqrt(float64(max(1, fanIn)))
	return c.Param("bias", tensor.Of(n), init.or(Uniform(-bound, bound)))
}

// Embedding is a table of Rows vectors of Size numbers: indices of any shape, i64 or i32, become [..., Size]. Its parameter is weight
// [Rows, Size].
type Embedding struct {
	Rows, Size int  // required
	Init       Init // nil means Normal(0, 1)
}

// Forward looks the indices up. One out of range fails the step with an *ops.IndexError.
func (l Embedding) Forward(c *Context, x ops.Value) ops.Value {
	if l.Rows < 1 || l.Size < 1 {
		return c.Fail(fmt.Errorf("%d rows of %d: both must be at least 1", l.Rows, l.Size))
	}
	return ops.Embedding(c.Param("weight", tensor.Of(l.Rows, l.Size), l.Init.or(Normal(0, 1))), x)
}
