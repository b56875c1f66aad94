package layers

import (
	"fmt"

	"github.com/cortado-ml/cortado/ops"
)

// The functions of each element, and Softmax. None has parameters; NaN goes through all.

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

// LogSigmoid is the logarithm of Sigmoid, which does not underflow.
type LogSigmoid struct{}

// Forward takes it of each element.
func (LogSigmoid) Forward(_ *Context, x ops.Value) ops.Value { return x.LogSigmoid() }

// GELU is x times the normal distribution function of x; 0 at -inf, where PyTorch says NaN.
type GELU struct {
	Tanh bool // the approximation by a hyperbolic tangent, as in GPT-2
}

// Forward takes it of each element.
func (l GELU) Forward(_ *Context, x ops.Value) ops.Value {
	if l.Tanh {
		return x.GELUTanh()
	}
	return x.GELU()
}

// SiLU is x times Sigmoid, also called swish; 0 at -inf, where PyTorch says NaN.
type SiLU struct{}

// Forward takes it of each element.
func (SiLU) Forward(_ *Context, x ops.Value) ops.Value { return x.SiLU() }

// LeakyReLU is x where it is positive, and x times Slope elsewhere.
type LeakyReLU struct {
	Slope float64 // 0 means 0.01
}

// Forward takes it of each element.
func (l LeakyReLU) Forward(_ *Context, x ops.Value) ops.Value {
	return x.LeakyReLU(orDefault(l.Slope, 0.01))
}

// ELU is x where it is positive, and Alpha (exp(x) - 1) elsewhere.
type ELU struct {
	Alpha float64 // 0 means 1
}

// Forward takes it of each element.
func (l ELU) Forward(_ *Context, x ops.Value) ops.Value { return x.ELU(orDefault(l.Alpha, 1)) }

// Softplus is log(1 + exp(x)).
type Softplus struct{}

// Forward takes it of each element.
func (Softplus) Forward(_ *Context, x ops.Value) ops.Value { return x.Softplus() }

// Hardtanh brings x between Min and Max. Both 0 means -1 and 1; Min 0 and Max 6 are ReLU6.
type Hardtanh struct{ Min, Max float64 }

// Forward clips each element.
func (l Hardtanh) Forward(c *Context, x ops.Value) ops.Value {
	if l == (Hardtanh{}) {
		l = Hardtanh{-1, 1}
	}
	if !(l.Min <= l.Max) {
		return c.Fail(fmt.Errorf("Min is %v and Max is %v: nothing lies between them", l.Min, l.Max))
	}
	return x.Clip(l.Min, l.Max)
}

// Softmax makes probabilities along an axis.
type Softmax struct {
	Axis int // counted from the end if negative; 0, the batch, means the last
}

// Forward takes the softmax of each line.
func (l Softmax) Forward(_ *Context, x ops.Value) ops.Value { return x.Softmax(orLast(l.Axis)) }

// LogSoftmax is the logarithm of Softmax, which does not underflow.
type LogSoftmax struct {
	Axis int // counted from the end if negative; 0, the batch, means the last
}

// Forward takes the log-softmax of each line.
func (l LogSoftmax) Forward(_ *Context, x ops.Value) ops.Value { return x.LogSoftmax(orLast(l.Axis)) }

// orLast is an axis, or the last if it is 0.
func orLast(axis int) int {
	if axis == 0 {
		return -1
	}
	return axis
}

// orDefault is x, or its default if it is 0.
func orDefault(x, def float64) float64 {
	if x == 0 {
		return def
	}
	return x
}
