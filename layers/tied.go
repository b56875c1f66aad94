package layers

import (
	"fmt"

	"github.com/cortado-ml/cortado/ops"
)

// Tied is Linear with the weight of another module, one that runs earlier: an output head that shares the table of the
// embedding (Press and Wolf, 2017). There is one parameter, with one state of the optimiser and the sum of both gradients, and it is saved once, under its
// first name; [Net.Load] tells what is done with a file that has both.
type Tied struct {
	To   string // the parameter's name: "tok.weight"
	Bias bool   // add a parameter of its own, bias, as Linear does
}

// Forward multiplies and adds.
func (l Tied) Forward(c *Context, x ops.Value) ops.Value {
	w := c.Tie("weight", l.To)
	if c.Tape.Err() != nil {
		return c.poison()
	}
	return ops.Linear(x, w, bias(c, !l.Bias, w.Dim(0), nil, w.Dim(-1)))
}

// Tie is the parameter called path, of any module of the net that has run already, which this module calls name.
func (c *Context) Tie(name, path string) ops.Value {
	if c.Tape.Err() != nil {
		return c.poison()
	}
	v, own := c.net.named[path], join(c.at.path, name)
	switch have := c.net.named[own]; {
	case v == nil:
		hint := ""
		if other := near(path, c.net.names()); other != "" {
			hint = fmt.Sprintf("; there is %s", other)
		}
		return c.Fail(fmt.Errorf("%w: there is no parameter %q, or it comes later%s", ops.ErrMisuse, path, hint))
	case have == nil && c.net.built:
		return c.Fail(fmt.Errorf("%w: %s was not there when the net was built", ops.ErrMisuse, own))
	case have == nil:
		c.net.named[own] = v
	case have != v:
		return c.Fail(fmt.Errorf("%w: %s is a parameter of its own already", ops.ErrMisuse, own))
	}
	return c.Tape.Var(v)
}

// names are those of the parameters and running statistics, in the order of their first use.
func (n *Net) names() []string {
	names := make([]string, len(n.state))
	for i, v := range n.state {
		names[i] = v.Name()
	}
	return names
}
