package layers

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Same as the Padding of a Conv2D keeps height and width: Kernel-1 zeros along each, the odd one at the bottom and on the right. The stride
// must be 1.
const Same = -1

// Conv2D slides kernels over images [n, channels, height, width] and makes [n, Out, ...]. Its parameters are weight
// [Out, channels, Kernel, Kernel] and bias [Out].
type Conv2D struct {
	Out, Kernel int // required
	Stride      int // 0 means 1
	Padding     int // zeros on each side, or Same
	NoBias      bool
	Init        Init // of the weight; nil means KaimingUniform(√5)
	BiasInit    Init // nil means uniform within ±1/sqrt(fan_in)
}

// Forward convolves and adds.
func (l Conv2D) Forward(c *Context, x ops.Value) ops.Value {
	stride := max(1, l.Stride)
	switch {
	case l.Out < 1 || l.Kernel < 1:
		return c.Fail(fmt.Errorf("Out is %d and Kernel is %d: both must be at least 1", l.Out, l.Kernel))
	case l.Stride < 0 || l.Padding < Same:
		return c.Fail(fmt.Errorf("Stride is %d and Padding is %d: neither may be negative", l.Stride, l.Padding))
	case l.Padding == Same && stride != 1:
		return c.Fail(fmt.Errorf("Padding Same wants Stride 1, not %d; write the Padding as a number", stride))
	}
	if !c.fits(x) {
		return c.poison()
	}
	lo, hi := l.Padding, l.Padding
	if l.Padding == Same {
		lo, hi = (l.Kernel-1)/2, l.Kernel/2
	}
	channels := x.Dim(1)
	w := c.Param("weight", tensor.Of(l.Out, channels, l.Kernel, l.Kernel), l.Init.or(KaimingUniform(math.Sqrt(5))))
	y := conv2D(x, w, stride, lo, hi)
	if b := bias(c, l.NoBias, l.Out, l.BiasInit, channels*l.Kernel*l.Kernel); !b.IsNone() {
		y = y.Add(b.Reshape(1, l.Out, 1, 1))
	}
	return y
}

// conv2D is not inlined, so that recording it again allocates nothing.
//
//go:noinline
func conv2D(x, w ops.Value, stride, lo, hi int) ops.Value {
	return ops.Apply(ops.Conv2DOp{Stride: [2]int{stride, stride}, Pad: [4]int{lo, hi, lo, hi}}, x, w)
}

// MaxPool2D is the maximum of each window of images [n, channels, height, width].
type MaxPool2D struct {
	Size    int // required: height and width of the window
	Stride  int // 0 means Size
	Padding int // on each side; no candidate for the maximum
}

// Forward pools.
func (l MaxPool2D) Forward(_ *Context, x ops.Value) ops.Value {
	return ops.MaxPool2D(x, ops.Pool{Size: l.Size, Stride: l.Stride, Padding: l.Padding})
}

// AvgPool2D is the mean of each window of images [n, channels, height, width].
type AvgPool2D struct {
	Size    int // required: height and width of the window
	Stride  int // 0 means Size
	Padding int // zeros on each side, which count
}

// Forward pools.
func (l AvgPool2D) Forward(_ *Context, x ops.Value) ops.Value {
	return ops.AvgPool2D(x, ops.Pool{Size: l.Size, Stride: l.Stride, Padding: l.Padding})
}

// BatchNorm2D normalises each channel of x [n, channels, ...]: in training by the mean and variance of the batch, which also move the
// running statistics; in evaluation by these. A training batch needs two values of each channel at least. Its parameters are weight
// and bias, its state running_mean and running_var, all [channels].
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
	channels := tensor.Of(x.Dim(1))
	scale, bias := c.Param("weight", channels, Ones), c.Param("bias", channels, Zeros)
	mean, variance := c.State("running_mean", channels, Zeros), c.State("running_var", channels, Ones)
	if mean == nil || variance == nil {
		return c.poison()
	}
	if c.Mode != Train {
		return ops.BatchNormInfer(x, scale, bias, c.Tape.Var(mean), c.Tape.Var(variance), eps)
	}
	y, m, v := ops.BatchNorm(x, scale, bias, eps)
	n := float64(x.Shape().Size()) / float64(max(1, x.Dim(1)))
	move := func(running *ops.Variable, batch ops.Value) { // no gradient goes into statistics that outlive the step
		c.Tape.Assign(running, c.Tape.Var(running).Scale(1-momentum).Add(batch.StopGradient().Scale(momentum)))
	}
	move(mean, m)
	move(variance, v.Scale(n/(n-1)))
	return y
}

// orDefault is x, or its default if it is 0.
func orDefault(x, def float64) float64 {
	if x == 0 {
		return def
	}
	return x
}
