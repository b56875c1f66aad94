package layers

import (
	"fmt"

	"github.com/cortado-ml/cortado/ops"
)

// Other layers without parameters.

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
	if !c.probability("P", l.P) {
		return c.poison()
	}
	if c.Mode != Train || l.P == 0 {
		return x
	}
	return ops.Dropout(x, l.P)
}

// probability fails unless p, a field of the module, is one.
func (c *Context) probability(field string, p float64) bool {
	if p >= 0 && p <= 1 {
		return true
	}
	c.Fail(fmt.Errorf("%s is %v: a probability lies between 0 and 1", field, p))
	return false
}

// Residual adds to x what Body makes of it (He et al., 2015). The names of the modules are "body" and "shortcut".
type Residual struct {
	Body     Module // required
	Shortcut Module // what is done to x before the addition, where Body changes its shape; nil for nothing
}

// Forward runs both and adds.
func (l Residual) Forward(c *Context, x ops.Value) ops.Value {
	y := c.Run("body", l.Body, x)
	if l.Shortcut != nil {
		x = c.Run("shortcut", l.Shortcut, x)
	}
	return c.add(x, y)
}

// add is x + y, which must have one shape: broadcast, a mistake would go unseen.
func (c *Context) add(x, y ops.Value) ops.Value {
	if c.Tape.Err() == nil && x.Spec() != y.Spec() {
		return c.Fail(fmt.Errorf("the body makes %v, and it is to be added to %v: a shortcut has to make it of that shape and type", y.Spec(), x.Spec()))
	}
	return x.Add(y)
}
