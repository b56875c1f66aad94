package layers

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// BatchNorm2D normalises each channel of x [n, channels, ...]: in training by the mean and variance of the batch, which also move the
// running statistics; in evaluation by these. A training batch needs two values of each channel at least. Its parameters are weight
// and bias, its state running_mean and running_var, all [channels]. In a net of 16-bit floats the running statistics are f32: in bf16 a move by a tenth
// of a small difference would round to none. Net.Load widens those of a 16-bit file.
type BatchNorm2D struct {
	Momentum float64 // how far a batch moves the running statistics; 0 means 0.1
	Eps      float64 // added to the variance; 0 means 1e-5
}

// Forward normalises. The output uses the variance with n in the divisor, the running variance takes that with n-1, as in PyTorch.
func (l BatchNorm2D) Forward(c *Context, x ops.Value) ops.Value {
	momentum, eps := orDefault(l.Momentum, 0.1), orDefault(l.Eps, 1e-5)
	if !(momentum > 0 && momentum <= 1 && eps > 0) {
		return c.Fail(fmt.Errorf("Momentum is %v and Eps is %v: they lie in (0, 1] and above 0", momentum, eps))
	}
	if !c.fits(x) {
		return c.poison()
	}
	channels := tensor.Of(x.Dim(1))
	scale, bias := c.Param("weight", channels, Ones), c.Param("bias", channels, Zeros)
	mean, variance := c.State("running_mean", channels, Zeros), c.State("running_var", channels, Ones)
	if mean == nil || variance == nil {
		return c.poison()
	}
	if c.Mode != Train {
		return ops.BatchNormInfer(x, scale, bias, c.Tape.Var(mean).Cast(c.DType), c.Tape.Var(variance).Cast(c.DType), eps)
	}
	y, m, v := ops.BatchNorm(x, scale, bias, eps)
	n := float64(x.Shape().Size()) / float64(max(1, x.Dim(1)))
	move := func(running *ops.Variable, batch ops.Value) { // no gradient goes into statistics that outlive the step
		c.Tape.Assign(running, c.Tape.Var(running).Scale(1-momentum).Add(batch.StopGradient().Cast(running.Spec().DType).Scale(momentum)))
	}
	move(mean, m)
	move(variance, v.Cast(variance.Spec().DType).Scale(n/(n-1)))
	return y
}

// BatchNorm1D is BatchNorm2D for rows [n, channels] and sequences [n, channels, length].
type BatchNorm1D struct {
	Momentum float64 // how far a batch moves the running statistics; 0 means 0.1
	Eps      float64 // added to the variance; 0 means 1e-5
}

// Forward normalises, as BatchNorm2D does.
func (l BatchNorm1D) Forward(c *Context, x ops.Value) ops.Value { return BatchNorm2D(l).Forward(c, x) }

// LayerNorm brings the last axes of x, taken together, to mean 0 and variance 1, then multiplies by its parameter weight and adds its
// parameter bias, which have the shape of those axes.
type LayerNorm struct {
	Axes     int     // how many; 0 means 1
	Eps      float64 // added to the variance; 0 means 1e-5
	NoAffine bool    // neither weight nor bias
	NoBias   bool
}

// Forward normalises.
func (l LayerNorm) Forward(c *Context, x ops.Value) ops.Value {
	eps := orDefault(l.Eps, 1e-5)
	axes, ok := lastAxes(c, l.Axes, eps, x)
	if !ok {
		return c.poison()
	}
	var scale, bias ops.Value
	if !l.NoAffine {
		scale = c.Param("weight", axes, Ones)
		if !l.NoBias {
			bias = c.Param("bias", axes, Zeros)
		}
	}
	return ops.LayerNorm(x, scale, bias, axes.Rank(), eps)
}

// RMSNorm divides x by the root of the mean of squares over its last axes, taken together, then multiplies by its parameter weight, which
// has the shape of those axes.
type RMSNorm struct {
	Axes     int     // how many; 0 means 1
	Eps      float64 // added to the mean of squares; 0 means the distance from 1 to the next number of x's type, as in PyTorch
	NoAffine bool    // no weight
}

// Forward normalises.
func (l RMSNorm) Forward(c *Context, x ops.Value) ops.Value {
	eps := orDefault(l.Eps, unit(x.DType()))
	axes, ok := lastAxes(c, l.Axes, eps, x)
	if !ok {
		return c.poison()
	}
	var scale ops.Value
	if !l.NoAffine {
		scale = c.Param("weight", axes, Ones)
	}
	return ops.RMSNorm(x, scale, axes.Rank(), eps)
}

// unit is the distance from 1 to the next number of a type.
func unit(d tensor.DType) float64 {
	switch d {
	case tensor.F64:
		return math.Ldexp(1, -52)
	case tensor.F16:
		return math.Ldexp(1, -10)
	case tensor.BF16:
		return math.Ldexp(1, -7)
	}
	return math.Ldexp(1, -23)
}

// lastAxes is the shape of the last n axes of x, one for 0, and whether a norm over them with eps can be.
func lastAxes(c *Context, n int, eps float64, x ops.Value) (s tensor.Shape, ok bool) {
	if n == 0 {
		n = 1
	}
	switch {
	case c.Tape.Err() != nil || !c.fits(x):
		return s, false
	case n < 1 || n > x.Rank():
		c.Fail(fmt.Errorf("Axes is %d: the input %v has %d", n, x.Spec(), x.Rank()))
		return s, false
	}
	return tensor.Of(x.Shape().Dims()[x.Rank()-n:]...), c.above0(eps)
}

// above0 fails unless eps, a field of the module, is a number above 0.
func (c *Context) above0(eps float64) bool {
	if eps > 0 && !math.IsInf(eps, 1) {
		return true
	}
	c.Fail(fmt.Errorf("Eps is %v: it is a number above 0", eps))
	return false
}

// GroupNorm brings each of a number of groups of neighbouring channels of x [n, channels, ...] to mean 0 and variance 1, then multiplies
// by its parameter weight and adds its parameter bias, both [channels]. With as many groups as channels it is instance normalisation.
type GroupNorm struct {
	Groups   int     // required; it divides the channels
	Eps      float64 // added to the variance; 0 means 1e-5
	NoAffine bool    // neither weight nor bias
}

// Forward normalises.
func (l GroupNorm) Forward(c *Context, x ops.Value) ops.Value {
	eps := orDefault(l.Eps, 1e-5)
	switch {
	case l.Groups < 1:
		return c.Fail(fmt.Errorf("Groups is %d: it must be at least 1", l.Groups))
	case !c.above0(eps) || !c.fits(x):
		return c.poison()
	}
	var scale, bias ops.Value
	if !l.NoAffine {
		channels := tensor.Of(x.Dim(1))
		scale, bias = c.Param("weight", channels, Ones), c.Param("bias", channels, Zeros)
	}
	return ops.GroupNorm(x, scale, bias, l.Groups, eps)
}
