package layers

import (
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/ops"
)

// Upsample makes images [n, channels, height, width], or sequences [n, channels, length], Factor times as large along every axis behind the channels.
type Upsample struct {
	Factor int            // required
	Mode   ops.ResizeMode // the zero value is ops.Nearest
	Align  bool           // the first and last elements keep their places; for ops.Bilinear and ops.Bicubic
}

// Forward resizes.
func (l Upsample) Forward(c *Context, x ops.Value) ops.Value {
	if l.Factor < 1 || l.Factor > maxFactor {
		return c.Fail(fmt.Errorf("Factor is %d: it lies between 1 and %d", l.Factor, maxFactor))
	}
	if l.Align && l.Mode != ops.Bilinear && l.Mode != ops.Bicubic {
		return c.Fail(errors.New("Align is for the modes ops.Bilinear and ops.Bicubic alone"))
	}
	if x.Rank() < 3 {
		return c.Fail(fmt.Errorf("the input is %v: it is [n, channels, ...]", x.Spec()))
	}
	s := ops.Scaling{Mode: l.Mode, Align: l.Align}
	for _, d := range x.Shape().Dims()[2:] {
		s.Size = append(s.Size, d*l.Factor)
		s.Factor = append(s.Factor, float64(l.Factor))
	}
	return ops.Resize(x, s)
}

// maxFactor keeps sizes from overflowing.
const maxFactor = 1 << 15

// PixelShuffle makes images [n, channels, height*Factor, width*Factor] of [n, channels*Factor*Factor, height, width].
type PixelShuffle struct{ Factor int } // required

// Forward rearranges.
func (l PixelShuffle) Forward(c *Context, x ops.Value) ops.Value {
	if l.Factor < 1 || l.Factor > maxFactor {
		return c.Fail(fmt.Errorf("Factor is %d: it lies between 1 and %d", l.Factor, maxFactor))
	}
	return ops.PixelShuffle(x, l.Factor)
}

// PixelUnshuffle is the inverse of PixelShuffle.
type PixelUnshuffle struct{ Factor int } // required

// Forward rearranges.
func (l PixelUnshuffle) Forward(c *Context, x ops.Value) ops.Value {
	if l.Factor < 1 || l.Factor > maxFactor {
		return c.Fail(fmt.Errorf("Factor is %d: it lies between 1 and %d", l.Factor, maxFactor))
	}
	return ops.PixelUnshuffle(x, l.Factor)
}

// ConstantPad2D puts rows and columns of X around images [..., height, width].
type ConstantPad2D struct {
	Top, Bottom, Left, Right int
	X                        float64
}

// Forward pads.
func (l ConstantPad2D) Forward(_ *Context, x ops.Value) ops.Value {
	return x.Pad(-2, l.Top, l.Bottom, l.X).Pad(-1, l.Left, l.Right, l.X)
}

// Pad2D puts rows and columns around images [..., height, width] that are made of the images' own.
type Pad2D struct {
	Mode                     ops.PadMode // the zero value is ops.Reflect
	Top, Bottom, Left, Right int
}

// Forward pads.
func (l Pad2D) Forward(_ *Context, x ops.Value) ops.Value {
	return x.PadWith(l.Mode, -2, l.Top, l.Bottom).PadWith(l.Mode, -1, l.Left, l.Right)
}
