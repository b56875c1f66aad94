package layers

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Module is a layer or a model of several: a description, which keeps no state. Parameters live in the Net.
type Module interface {
	// Forward records what the module computes of x.
	Forward(c *Context, x ops.Value) ops.Value
}

// Mode says what a pass is for.
type Mode uint8

// The modes. They differ in Dropout and batch-norm.
const (
	Eval  Mode = iota // the result counts
	Train             // gradients are taken, statistics move
)

// Context is what a module sees of the pass that it is part of.
type Context struct {
	Tape  *autograd.Tape // the recording
	Mode  Mode           // what the pass is for
	DType tensor.DType   // of parameters

	// Lengths is the length of each sequence of the batch, i64 or i32 [n]; what lies behind is padding. None means that there is no padding. A
	// module that knows the lengths sets it for those that it runs: recurrent layers and attention heed it, and a length that is negative or
	// more than there are steps fails the step there, with an *ops.IndexError. Recurrent layers never look at padding; for attention it holds finite
	// numbers, since it weighs padding by 0, and 0 times NaN is NaN.
	Lengths ops.Value

	net    *Net
	at     *scope
	module Module // whose Forward runs
	piece  piece  // of a session, if any
}

// scope is the part of a Net that belongs to one name path.
type scope struct {
	name, path string
	vars       []entry
	kids       []*scope
}

type entry struct {
	name  string
	v     *ops.Variable
	train bool
}

// join puts a name behind a path, as a state dict does.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Param is the value of a parameter of this module. When the net is built it is made, with a first value by init; later passes find it. A
// module that asks twice for one name gets one parameter.
func (c *Context) Param(name string, shape tensor.Shape, init Init) ops.Value {
	v := c.variable(name, shape, init, true)
	if v == nil {
		return c.poison()
	}
	return c.Tape.Var(v)
}

// State is a variable of this module that is not trained, such as a running mean. It is made as Param makes a parameter, and is nil after an
// error. In a net of 16-bit floats it is f32: small moves of a running number would be lost there. So what is read of it is Cast.
func (c *Context) State(name string, shape tensor.Shape, init Init) *ops.Variable {
	return c.variable(name, shape, init, false)
}

func (c *Context) variable(name string, shape tensor.Shape, init Init, train bool) *ops.Variable {
	if c.Tape.Err() != nil { // the shape may be that of a poisoned value
		return nil
	}
	for _, e := range c.at.vars {
		if e.name != name {
			continue
		}
		if have := e.v.Spec().Shape; have != shape {
			c.Fail(&tensor.ShapeError{Msg: fmt.Sprintf("%s is %v, and this input wants %v: the net was built for inputs of another size", e.v.Name(), have, shape), In: []tensor.Spec{e.v.Spec()}})
			return nil
		}
		return e.v
	}
	s := tensor.Spec{DType: c.DType, Shape: shape}
	if !train && c.DType != tensor.F64 {
		s.DType = tensor.F32
	}
	switch {
	case c.net.built:
		c.Fail(fmt.Errorf("%w: %s was not there when the net was built", ops.ErrMisuse, join(c.at.path, name)))
		return nil
	case s.Check() != nil || init == nil:
		c.Fail(fmt.Errorf("%w: %s is %v: it needs a shape that can be, and an Init", ops.ErrMisuse, join(c.at.path, name), shape))
		return nil
	}
	v, err := c.net.make(join(c.at.path, name), s, init, train)
	if err != nil {
		c.Fail(err)
		return nil
	}
	c.at.vars = append(c.at.vars, entry{name, v, train})
	return v
}

// Run records a module within this one, under a name: its parameters are called "name.weight" and so on, behind this module's own path.
// One name used twice is one module used twice: it shares its parameters.
func (c *Context) Run(name string, m Module, x ops.Value) ops.Value {
	outer := c.at
	inner := outer.kid(name)
	if inner == nil {
		switch {
		case c.net.built:
			return c.Fail(fmt.Errorf("%w: %s was not there when the net was built", ops.ErrMisuse, join(outer.path, name)))
		case name == "" || strings.Contains(name, "."):
			return c.Fail(fmt.Errorf("%w: a module cannot be called %q: names are not empty and have no dot, which stands between them", ops.ErrMisuse, name))
		}
		inner = &scope{name: name, path: join(outer.path, name)}
		outer.kids = append(outer.kids, inner)
	}
	lengths := c.Lengths
	c.at = inner
	c.Tape.Scope(name, func() { x = c.forward(m, x) })
	c.at, c.Lengths = outer, lengths
	return x
}

func (s *scope) kid(name string) *scope {
	for _, k := range s.kids {
		if k.name == name {
			return k
		}
	}
	return nil
}

// forward runs m in the present scope.
func (c *Context) forward(m Module, x ops.Value) ops.Value {
	outer := c.module
	c.module = m
	switch {
	case m == nil:
		x = c.Fail(fmt.Errorf("%w: the module is nil", ops.ErrMisuse))
	case c.net.built:
		x = m.Forward(c, x)
	default:
		x = c.describe(m, x)
	}
	if x.IsNone() && c.Tape.Err() == nil {
		x = c.Fail(fmt.Errorf("%w: the module returns no value", ops.ErrMisuse))
	}
	c.module = outer
	return x
}

// kind is the name of a module's type.
func kind(m Module) string {
	s := fmt.Sprintf("%T", m)
	return s[strings.LastIndexByte(s, '.')+1:]
}

// Path is the module's name path: "3" or "encoder.2".
func (c *Context) Path() string { return c.at.path }

// Fail ends the recording with an error that names the module, which Step will return, and returns a value to go on with.
func (c *Context) Fail(err error) ops.Value {
	path := strings.ReplaceAll(c.at.path, ".", "/") // as in the errors of operations
	return c.Tape.Recorder().Fail(&ops.OpError{Op: kind(c.module), Path: path, Err: err})
}

// fits fails unless x has the type of the parameters. The operation would refuse it too, but not say what of a net may be changed.
func (c *Context) fits(x ops.Value) bool {
	if x.DType() == c.DType {
		return true
	}
	c.Fail(&tensor.ShapeError{Msg: fmt.Sprintf("the input is %v and the parameters are %v: Cast the input, or make the net of its type (Build, train.Config.DType)", x.DType(), c.DType), In: []tensor.Spec{x.Spec()}})
	return false
}

// poison is a value to go on with after an error.
func (c *Context) poison() ops.Value { return c.Tape.Recorder().Fail(c.Tape.Err()) }

// Func is a module made of a function. As the model itself, the one that Build is given, its parameters have bare names, such as "cls_token", and its modules
// those that it runs them by: so a whole model of PyTorch is one Func, whose Param is nn.Parameter and whose Run calls a submodule.
type Func func(c *Context, x ops.Value) ops.Value

// Forward calls the function.
func (f Func) Forward(c *Context, x ops.Value) ops.Value {
	if f == nil {
		return c.Fail(fmt.Errorf("%w: the function is nil", ops.ErrMisuse))
	}
	return f(c, x)
}

// Sequential is modules one behind the other. Their names are "0", "1" and so on, but for those that Name names.
type Sequential []Module

// Forward runs them in order.
func (s Sequential) Forward(c *Context, x ops.Value) ops.Value {
	for i, m := range s {
		n, ok := m.(named)
		if !ok {
			n = named{strconv.Itoa(i), m}
		} else if !c.net.built && s[:i].has(n.name) {
			return c.Fail(fmt.Errorf("two modules are called %q: a module that is to share its parameters is used twice by Context.Run", n.name))
		}
		x = n.Forward(c, x)
	}
	return x
}

// has reports whether one of the modules is called name.
func (s Sequential) has(name string) bool {
	for i, m := range s {
		if n, ok := m.(named); ok && n.name == name || !ok && strconv.Itoa(i) == name {
			return true
		}
	}
	return false
}

// Name is m under a name, as an element of a Sequential instead of its number there: its parameters are called "tok.weight" and so on. A parameter without
// a module before its name is one of a [Func].
//
//	layers.Sequential{layers.Name("tok", layers.Embedding{Rows: 256, Size: 64}), layers.Name("head", layers.Linear{Out: 256})}
func Name(name string, m Module) Module { return named{name, m} }

type named struct {
	name string
	m    Module
}

// Forward runs the module under its name.
func (n named) Forward(c *Context, x ops.Value) ops.Value { return c.Run(n.name, n.m, x) }
