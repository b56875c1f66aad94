package layers

import (
	"fmt"

	"github.com/cortado-ml/cortado/ops"
)

// The layers without parameters.

// ReLU is max(x, 0).
type ReLU struct{}

// Forward rectifies.
func (ReLU) Forward(_ *Context, x ops.Value) ops.Value { return x.ReLU() }

// Tanh is the hyperbolic tangent.
type Tanh struct{}

// Forward takes it of each element.
func (Tanh) Forward(_ *Context, x ops.Value) ops.Value { return x.Tanh() }

// Sigmoid is 1 / (1 + exp(-x)).
type Sigmoid struct{}

// Forward takes it of each element.
func (Sigmoid) Forward(_ *Context, x ops.Value) ops.Value { return x.Sigmoid() }

// Flatten makes rows [n, the rest].
type Flatten struct{}

// Forward reshapes.
func (Flatten) Forward(_ *Context, x ops.Value) ops.Value { return x.Flatten() }

// Dropout zeroes each element with probability P in training, and divides the others by 1-P. In evaluation it does nothing.
type Dropout struct {
	P float64 // from 0 to 1; 0 drops nothing
}

// Forward draws from the next random stream of the layer's scope.
func (l Dropout) Forward(c *Context, x ops.Value) ops.Value {
	if !(l.P >= 0 && l.P <= 1) {
		return c.Fail(fmt.Errorf("P is %v: a probability lies between 0 and 1", l.P))
	}
	if c.Mode != Train || l.P == 0 {
		return x
	}
	return ops.Dropout(x, l.P)
}
