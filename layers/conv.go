package layers

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Same as the Padding of a convolution keeps the size: of an odd number of zeros the last is at the end, as in PyTorch. The stride must be 1.
const Same = -1

// Conv2D slides kernels over images [n, channels, height, width] and makes [n, Out, ...]. Its parameters are weight
// [Out, channels/Groups, Kernel, Kernel] and bias [Out].
type Conv2D struct {
	Out, Kernel int // required
	Stride      int // 0 means 1
	Padding     int // zeros on each side, or Same
	Dilation    int // from one row or column of the kernel to the next; 0 means 1
	Groups      int // of neighbouring channels, each of which gives its part of the outputs; 0 means 1
	NoBias      bool
	Init        Init // of the weight; nil means KaimingUniform(√5)
	BiasInit    Init // nil means uniform within ±1/sqrt(fan_in)
}

// Forward convolves and adds.
func (l Conv2D) Forward(c *Context, x ops.Value) ops.Value {
	channels, ok := l.check(c, x)
	if !ok {
		return c.poison()
	}
	w := c.Param("weight", tensor.Of(l.Out, channels, l.Kernel, l.Kernel), l.Init.or(KaimingUniform(math.Sqrt(5))))
	y := ops.Conv2D(x, w, l.slide())
	if b := bias(c, l.NoBias, l.Out, l.BiasInit, channels*l.Kernel*l.Kernel); !b.IsNone() {
		y = y.Add(b.Reshape(1, l.Out, 1, 1))
	}
	return y
}

// check gives the channels of a kernel, and whether the options can be.
func (l Conv2D) check(c *Context, x ops.Value) (channels int, ok bool) {
	groups := max(1, l.Groups)
	var err error
	switch {
	case l.Out < 1 || l.Kernel < 1:
		err = fmt.Errorf("Out is %d and Kernel is %d: both must be at least 1", l.Out, l.Kernel)
	case l.Stride < 0 || l.Padding < Same:
		err = fmt.Errorf("Stride is %d and Padding is %d: neither may be negative", l.Stride, l.Padding)
	case l.Dilation < 0 || l.Groups < 0:
		err = fmt.Errorf("Dilation is %d and Groups is %d: neither may be negative", l.Dilation, l.Groups)
	case l.Padding == Same && l.Stride > 1:
		err = fmt.Errorf("Padding Same wants Stride 1, not %d; write the Padding as a number", l.Stride)
	case !c.fits(x):
		return 0, false
	case x.Dim(1)%groups != 0 || l.Out%groups != 0:
		err = fmt.Errorf("Groups is %d: it divides neither evenly the %d channels nor Out, which is %d", groups, x.Dim(1), l.Out)
	}
	if err != nil {
		c.Fail(err)
	}
	return x.Dim(1) / groups, err == nil
}

// slide is how the kernel moves.
func (l Conv2D) slide() ops.Conv {
	o := ops.Conv{Stride: l.Stride, Padding: l.Padding, Dilation: l.Dilation, Groups: l.Groups}
	if l.Padding == Same {
		o.Padding, o.Same = 0, true
	}
	return o
}

// Conv1D slides kernels over sequences [n, channels, length] and makes [n, Out, ...]. Its parameters are weight [Out, channels/Groups, Kernel]
// and bias [Out].
type Conv1D struct {
	Out, Kernel int // required
	Stride      int // 0 means 1
	Padding     int // zeros on each side, or Same
	Dilation    int // from one element of the kernel to the next; 0 means 1
	Groups      int // of neighbouring channels, each of which gives its part of the outputs; 0 means 1
	NoBias      bool
	Init        Init // of the weight; nil means KaimingUniform(√5)
	BiasInit    Init // nil means uniform within ±1/sqrt(fan_in)
}

// Forward convolves and adds.
func (l Conv1D) Forward(c *Context, x ops.Value) ops.Value {
	channels, ok := Conv2D(l).check(c, x)
	if !ok || !c.series(x) {
		return c.poison()
	}
	w := c.Param("weight", tensor.Of(l.Out, channels, l.Kernel), l.Init.or(KaimingUniform(math.Sqrt(5))))
	y := ops.Conv1D(x, w, Conv2D(l).slide())
	if b := bias(c, l.NoBias, l.Out, l.BiasInit, channels*l.Kernel); !b.IsNone() {
		y = y.Add(b.Reshape(1, l.Out, 1))
	}
	return y
}

// ConvTranspose2D is the adjoint of a convolution over images: x [n, channels, height, width] becomes [n, Out, ...] with a height of
// (height-1) Stride - 2 Padding + Dilation (Kernel-1) + Extra + 1. Its parameters are weight [channels, Out/Groups, Kernel, Kernel] and
// bias [Out].
type ConvTranspose2D struct {
	Out, Kernel int // required
	Stride      int // 0 means 1
	Padding     int // rows and columns that are cut off on each side
	Extra       int // rows and columns more at the end, PyTorch's output_padding; less than Stride or Dilation
	Dilation    int // from one row or column of the kernel to the next; 0 means 1
	Groups      int // of neighbouring channels, each of which gives its part of the outputs; 0 means 1
	NoBias      bool
	Init        Init // of the weight; nil means KaimingUniform(√5)
	BiasInit    Init // nil means uniform within ±1/sqrt(fan_in)
}

// Forward spreads the kernels and adds.
func (l ConvTranspose2D) Forward(c *Context, x ops.Value) ops.Value {
	o, ok := l.check(c, x)
	if !ok {
		return c.poison()
	}
	out := l.Out / max(1, l.Groups)
	w := c.Param("weight", tensor.Of(x.Dim(1), out, l.Kernel, l.Kernel), l.Init.or(KaimingUniform(math.Sqrt(5))))
	y := ops.ConvTranspose2D(x, w, o, l.Extra)
	if b := bias(c, l.NoBias, l.Out, l.BiasInit, out*l.Kernel*l.Kernel); !b.IsNone() {
		y = y.Add(b.Reshape(1, l.Out, 1, 1))
	}
	return y
}

// check gives how the kernel moves, and whether the options can be.
func (l ConvTranspose2D) check(c *Context, x ops.Value) (o ops.Conv, ok bool) {
	switch {
	case l.Padding < 0:
		c.Fail(fmt.Errorf("Padding is %d: it may not be negative", l.Padding))
		return o, false
	case l.Extra < 0 || l.Extra >= max(1, l.Stride, l.Dilation):
		c.Fail(fmt.Errorf("Extra is %d: it lies between 0 and less than Stride or Dilation, which are %d and %d", l.Extra, max(1, l.Stride), max(1, l.Dilation)))
		return o, false
	}
	same := Conv2D{Out: l.Out, Kernel: l.Kernel, Stride: l.Stride, Padding: l.Padding, Dilation: l.Dilation, Groups: l.Groups}
	_, ok = same.check(c, x)
	return same.slide(), ok
}

// ConvTranspose1D is ConvTranspose2D for sequences [n, channels, length]; its weight is [channels, Out/Groups, Kernel].
type ConvTranspose1D struct {
	Out, Kernel int // required
	Stride      int // 0 means 1
	Padding     int // elements that are cut off on each side
	Extra       int // elements more at the end, PyTorch's output_padding; less than Stride or Dilation
	Dilation    int // from one element of the kernel to the next; 0 means 1
	Groups      int // of neighbouring channels, each of which gives its part of the outputs; 0 means 1
	NoBias      bool
	Init        Init // of the weight; nil means KaimingUniform(√5)
	BiasInit    Init // nil means uniform within ±1/sqrt(fan_in)
}

// Forward spreads the kernels and adds.
func (l ConvTranspose1D) Forward(c *Context, x ops.Value) ops.Value {
	o, ok := ConvTranspose2D(l).check(c, x)
	if !ok || !c.series(x) {
		return c.poison()
	}
	out := l.Out / max(1, l.Groups)
	w := c.Param("weight", tensor.Of(x.Dim(1), out, l.Kernel), l.Init.or(KaimingUniform(math.Sqrt(5))))
	y := ops.ConvTranspose1D(x, w, o, l.Extra)
	if b := bias(c, l.NoBias, l.Out, l.BiasInit, out*l.Kernel); !b.IsNone() {
		y = y.Add(b.Reshape(1, l.Out, 1))
	}
	return y
}
