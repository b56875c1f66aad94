package layers

import (
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// MaxPool2D is the maximum of each window of images [n, channels, height, width].
type MaxPool2D struct {
	Size    int  // required: height and width of the window
	Stride  int  // 0 means Size
	Padding int  // on each side; no candidate for the maximum
	Ceil    bool // a last window that juts out at the end counts too
}

// Forward pools.
func (l MaxPool2D) Forward(_ *Context, x ops.Value) ops.Value { return ops.MaxPool2D(x, ops.Pool(l)) }

// AvgPool2D is the mean of each window of images [n, channels, height, width].
type AvgPool2D struct {
	Size    int  // required: height and width of the window
	Stride  int  // 0 means Size
	Padding int  // zeros on each side, which count
	Ceil    bool // a last window that juts out at the end counts too
}

// Forward pools.
func (l AvgPool2D) Forward(_ *Context, x ops.Value) ops.Value { return ops.AvgPool2D(x, ops.Pool(l)) }

// MaxPool1D is MaxPool2D for sequences [n, channels, length].
type MaxPool1D struct {
	Size    int  // required: length of the window
	Stride  int  // 0 means Size
	Padding int  // on each side; no candidate for the maximum
	Ceil    bool // a last window that juts out at the end counts too
}

// Forward pools.
func (l MaxPool1D) Forward(_ *Context, x ops.Value) ops.Value { return ops.MaxPool1D(x, ops.Pool(l)) }

// AvgPool1D is AvgPool2D for sequences [n, channels, length].
type AvgPool1D struct {
	Size    int  // required: length of the window
	Stride  int  // 0 means Size
	Padding int  // zeros on each side, which count
	Ceil    bool // a last window that juts out at the end counts too
}

// Forward pools.
func (l AvgPool1D) Forward(_ *Context, x ops.Value) ops.Value { return ops.AvgPool1D(x, ops.Pool(l)) }

// AdaptiveAvgPool2D is the mean of each of Height times Width parts of images [n, channels, height, width], as equal as can be.
type AdaptiveAvgPool2D struct{ Height, Width int } // required

// Forward pools.
func (l AdaptiveAvgPool2D) Forward(_ *Context, x ops.Value) ops.Value {
	return ops.AdaptiveAvgPool2D(x, l.Height, l.Width)
}

// AdaptiveMaxPool2D is the maximum of the parts of AdaptiveAvgPool2D.
type AdaptiveMaxPool2D struct{ Height, Width int } // required

// Forward pools.
func (l AdaptiveMaxPool2D) Forward(_ *Context, x ops.Value) ops.Value {
	return ops.AdaptiveMaxPool2D(x, l.Height, l.Width)
}

// AdaptiveAvgPool1D is the mean of each of Size parts of sequences [n, channels, length], as equal as can be.
type AdaptiveAvgPool1D struct{ Size int } // required

// Forward pools.
func (l AdaptiveAvgPool1D) Forward(c *Context, x ops.Value) ops.Value {
	if !c.series(x) {
		return c.poison()
	}
	return ops.AdaptiveAvgPool2D(x.Unsqueeze(2), 1, l.Size).Squeeze(2)
}

// AdaptiveMaxPool1D is the maximum of the parts of AdaptiveAvgPool1D.
type AdaptiveMaxPool1D struct{ Size int } // required

// Forward pools.
func (l AdaptiveMaxPool1D) Forward(c *Context, x ops.Value) ops.Value {
	if !c.series(x) {
		return c.poison()
	}
	return ops.AdaptiveMaxPool2D(x.Unsqueeze(2), 1, l.Size).Squeeze(2)
}

// series fails unless x has a channel axis and one behind it.
func (c *Context) series(x ops.Value) bool {
	if x.Rank() != 3 {
		c.Fail(&tensor.ShapeError{Msg: "sequences are [n, channels, length]", In: []tensor.Spec{x.Spec()}})
	}
	return c.Tape.Err() == nil
}

// GlobalAvgPool is the mean of each channel of x [n, channels, ...], as [n, channels].
type GlobalAvgPool struct{}

// Forward pools.
func (GlobalAvgPool) Forward(_ *Context, x ops.Value) ops.Value { return ops.GlobalAvgPool(x) }

// GlobalMaxPool is the maximum of each channel of x [n, channels, ...], as [n, channels].
type GlobalMaxPool struct{}

// Forward pools.
func (GlobalMaxPool) Forward(_ *Context, x ops.Value) ops.Value { return ops.GlobalMaxPool(x) }
