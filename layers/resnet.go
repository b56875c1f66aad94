package layers

import (
	"fmt"

	"github.com/cortado-ml/cortado/ops"
)

// BasicBlock is the block of ResNet-18 and ResNet-34 (He et al., 2015): two convolutions of 3x3, each with batch-norm, and an addition of the
// input, by way of a convolution of 1x1 with batch-norm where the block changes the shape. Its modules are called as in torchvision: conv1, bn1, conv2,
// bn2, downsample.0, downsample.1.
type BasicBlock struct {
	Out    int // channels; required
	Stride int // of the first convolution; 0 means 1
}

// Forward runs the block over images [n, channels, height, width].
func (l BasicBlock) Forward(c *Context, x ops.Value) ops.Value {
	if l.Out < 1 || l.Stride < 0 {
		return c.Fail(fmt.Errorf("Out is %d and Stride is %d: at least 1, and not negative", l.Out, l.Stride))
	}
	y := c.Run("conv1", Conv2D{Out: l.Out, Kernel: 3, Stride: l.Stride, Padding: 1, NoBias: true}, x)
	y = c.Run("bn1", BatchNorm2D{}, y).ReLU()
	y = c.Run("conv2", Conv2D{Out: l.Out, Kernel: 3, Padding: 1, NoBias: true}, y)
	y = c.Run("bn2", BatchNorm2D{}, y)
	if l.Stride > 1 || x.Dim(1) != l.Out {
		x = c.Run("downsample", Sequential{Conv2D{Out: l.Out, Kernel: 1, Stride: l.Stride, NoBias: true}, BatchNorm2D{}}, x)
	}
	return c.add(x, y).ReLU()
}
