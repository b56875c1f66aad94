package ops

import (
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
)

// Builders of convolutions.

// Conv says how a kernel slides. Uneven strides, paddings and dilations are fields of Conv2DOp.
type Conv struct {
	Stride   int  // along each axis; 0 means 1
	Padding  int  // zeros on each side
	Same     bool // instead of Padding: with a stride of 1 the result has the size of x; of an odd number of zeros the last is at the end
	Dilation int  // pixels from one row or column of the kernel to the next; 0 means 1
	Groups   int  // of neighbouring channels, each of which gives its part of the outputs; 0 means 1, as many as channels are depthwise
}

// op is the operation for kernels of kh by kw, or why there is none.
func (c Conv) op(kh, kw int) (o Conv2DOp, refused string) {
	s, p := max(1, c.Stride), c.Padding
	if c.Stride < 0 {
		s = c.Stride
	}
	o = Conv2DOp{Stride: [2]int{s, s}, Pad: [4]int{p, p, p, p}}
	if c.Dilation != 1 { // 0 and 1 are one: a program compiles once
		o.Dilation = [2]int{c.Dilation, c.Dilation}
	}
	if c.Groups != 1 {
		o.Groups = c.Groups
	}
	if c.Same {
		w := o.window(kh, kw)
		if s != 1 || p != 0 || o.check(nil) != nil {
			return o, "the size stays the same with a stride of 1 and no other padding"
		}
		top, left := (w.size[0]-1)/2, (w.size[1]-1)/2
		o.Pad = [4]int{top, w.size[0] - 1 - top, left, w.size[1] - 1 - left}
	}
	return o, ""
}

// Conv2D correlates images x [n, channels, height, width] with kernels w [out, channels/groups, kh, kw]. A bias is an Add of
// b.Reshape(1, out, 1, 1).
//
//go:noinline
func Conv2D(x, w Value, c Conv) Value {
	o, refused := c.op(w.Dim(2), w.Dim(3))
	if refused != "" {
		return x.refuse(o, refused)
	}
	return Apply(o, x, w)
}

// Conv1D correlates sequences x [n, channels, length] with kernels w [out, channels/groups, k]. A bias is an Add of b.Reshape(1, out, 1).
//
//go:noinline
func Conv1D(x, w Value, c Conv) Value {
	o, refused := c.op(1, w.Dim(2))
	if x.Rank() != 3 || w.Rank() != 3 {
		refused = fmt.Sprintf("sequences are [n, channels, length], weights [out, channels, length], not %v and %v", x.Shape(), w.Shape())
	}
	if refused != "" {
		return x.refuse(o, refused)
	}
	o.alongWidth()
	return Apply(o, x.Unsqueeze(2), w.Unsqueeze(2)).Squeeze(2)
}

// alongWidth leaves the height alone.
func (o *Conv2DOp) alongWidth() {
	o.Stride[0], o.Pad[0], o.Pad[1] = 1, 0, 0
	if o.Dilation != [2]int{} {
		o.Dilation[0] = 1
	}
}

// ConvTranspose2D is the adjoint of a convolution: x [n, channels, height, width] and kernels w [channels, out/groups, kh, kw] give
// [n, out, oh, ow], where oh is (height-1) stride - 2 padding + dilation (kh-1) + extra + 1. The extra rows and columns at the end choose among the sizes
// that the convolution takes to that of x.
//
//go:noinline
func ConvTranspose2D(x, w Value, c Conv, extra int) Value {
	return convTranspose(x, w, c, [2]int{extra, extra})
}

// ConvTranspose1D is ConvTranspose2D for sequences x [n, channels, length] and kernels w [channels, out/groups, k].
//
//go:noinline
func ConvTranspose1D(x, w Value, c Conv, extra int) Value {
	if x.Rank() != 3 || w.Rank() != 3 {
		return x.refuse(Conv2DInputGradOp{}, fmt.Sprintf("sequences are [n, channels, length], weights [channels, out, length], not %v and %v", x.Shape(), w.Shape()))
	}
	o, refused := c.op(1, w.Dim(2))
	if refused != "" || c.Same {
		return x.refuse(Conv2DInputGradOp{}, "wants a padding as a number")
	}
	o.alongWidth()
	return transposed(x.Unsqueeze(2), w.Unsqueeze(2), o, [2]int{0, extra}).Squeeze(2)
}

func convTranspose(x, w Value, c Conv, extra [2]int) Value {
	o, refused := c.op(w.Dim(2), w.Dim(3))
	if refused != "" || c.Same {
		return x.refuse(Conv2DInputGradOp{}, "wants a padding as a number")
	}
	return transposed(x, w, o, extra)
}

// TransposeConv is ConvTranspose2D with uneven strides, paddings and dilations.
//
//go:noinline
func TransposeConv(x, w Value, o Conv2DOp, extra [2]int) Value { return transposed(x, w, o, extra) }

func transposed(x, w Value, o Conv2DOp, extra [2]int) Value {
	win := o.window(w.Dim(2), w.Dim(3))
	if o.check(nil) != nil || extra[0] < 0 || extra[1] < 0 || max(extra[0], extra[1]) > maxPad {
		return x.refuse(o.inputGrad(tensor.Of(0, 0, 0, 0)), fmt.Sprintf("%d groups, a dilation of %v, %v more at the end: wants 0 to 2^30", o.Groups, o.Dilation, extra))
	}
	var size, beyond [2]int
	for i := range size {
		cut := max(0, min(extra[i], o.Pad[2*i+1])) // what is more at the end was cut off as padding there, or no pixel reaches it
		o.Pad[2*i+1] -= cut
		beyond[i] = extra[i] - cut
		size[i] = max(0, (x.Dim(2+i)-1)*o.Stride[i]-o.Pad[2*i]-o.Pad[2*i+1]+win.size[i])
	}
	y := Apply(o.inputGrad(tensor.Of(0, 0, size[0], size[1])), x, w)
	for i, n := range beyond {
		if n > 0 {
			y = y.Pad(2+i, 0, n, 0)
		}
	}
	return y
}
