package layers

import "github.com/cortado-ml/cortado/ops"

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
func (l Hardtanh) Forward(_ *Context, x ops.Value) ops.Value {
	if l == (Hardtanh{}) {
		l = Hardtanh{-1, 1}
	}
	return x.Clip(l.Min, l.Max)
}

// Softmax makes probabilities along the last axis.
type Softmax struct{}

// Forward takes the softmax of each line.
func (Softmax) Forward(_ *Context, x ops.Value) ops.Value { return x.Softmax(-1) }

// LogSoftmax is the logarithm of Softmax, which does not underflow.
type LogSoftmax struct{}

// Forward takes the log-softmax of each line.
func (LogSoftmax) Forward(_ *Context, x ops.Value) ops.Value { return x.LogSoftmax(-1) }

// orDefault is x, or its default if it is 0.
func orDefault(x, def float64) float64 {
	if x == 0 {
		return def
	}
	return x
}
