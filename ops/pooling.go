package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// Builders of pools.

// Pool says how a window slides. Uneven windows, strides and paddings are fields of MaxPool2DOp and AvgPool2DOp.
type Pool struct {
	Size    int  // of the window along each axis
	Stride  int  // along each axis; 0 means Size
	Padding int  // on each side; less than Size
	Ceil    bool // a last window that juts out at the end counts too, if it begins in the plane or the padding before it
}

// window is the window of images, wide that of sequences, which have height 1.
func (p Pool) window() window {
	if p.Stride == 0 {
		p.Stride = p.Size
	}
	return window{[2]int{p.Size, p.Size}, [2]int{p.Stride, p.Stride}, [4]int{p.Padding, p.Padding, p.Padding, p.Padding}}
}

func (p Pool) wide() window {
	w := p.window()
	w.size[0], w.stride[0], w.pad[0], w.pad[1] = 1, 1, 0, 0
	return w
}

// overhang is how far the last windows jut out over the padded plane of h by w, along height and width.
func (o window) overhang(h, w int) (n [2]int) {
	for i, size := range [2]int{h, w} {
		lo, hi := o.pad[2*i], o.pad[2*i+1]
		if o.size[i] < 1 || o.stride[i] < 1 || lo < 0 || hi < 0 || max(o.size[i], o.stride[i], lo, hi) > maxPad || lo+size+hi < o.size[i] {
			continue // Infer says why
		}
		rest := (lo + size + hi - o.size[i]) % o.stride[i]
		last := lo + size + hi - o.size[i] - rest + o.stride[i]
		if rest > 0 && last < lo+size {
			n[i] = o.stride[i] - rest
		}
	}
	return n
}

// Ceil is the operation in which last windows that jut out over the end of a plane of h by w count too, if they begin in the plane or the
// padding before it.
func (o MaxPool2DOp) Ceil(h, w int) MaxPool2DOp {
	over := o.window().overhang(h, w)
	o.Pad[1] += over[0]
	o.Pad[3] += over[1]
	return o
}

// MaxPool2D is the maximum of each window of images x [n, channels, height, width]. The padding is no candidate, a NaN wins.
//
//go:noinline
func MaxPool2D(x Value, p Pool) Value { return maxPool(x, p.window(), p.Ceil) }

// MaxPool1D is MaxPool2D for sequences x [n, channels, length].
//
//go:noinline
func MaxPool1D(x Value, p Pool) Value {
	if x.Rank() != 3 {
		return x.refuse(MaxPool2DOp{}, fmt.Sprintf("sequences are [n, channels, length], not %v", x.Shape()))
	}
	return maxPool(x.Unsqueeze(2), p.wide(), p.Ceil).Squeeze(2)
}

func maxPool(x Value, w window, ceil bool) Value {
	o := MaxPool2DOp{Size: w.size, Stride: w.stride, Pad: w.pad}
	if ceil {
		o = o.Ceil(x.Dim(2), x.Dim(3))
	}
	return Apply(o, x)
}

// DilatedMaxPool is the maximum of windows whose rows and columns lie dilation apart, o the pool otherwise, of images x. With ceil, last windows that jut out over
// the end count too. The padding holds -inf.
//
//go:noinline
func DilatedMaxPool(x Value, o MaxPool2DOp, dilation [2]int, ceil bool) Value {
	if x.Rank() != 4 || min(dilation[0], dilation[1]) < 1 || max(dilation[0], dilation[1]) > maxPad || max(o.Size[0], o.Size[1]) > maxPad {
		return x.refuse(o, fmt.Sprintf("wants images [n, channels, height, width] and dilations of 1 and more, not %v and %v", x.Shape(), dilation))
	}
	if dilation != [2]int{1, 1} { // the rows and columns of all windows one behind the other
		wide := MaxPool2DOp{Stride: o.Stride, Pad: o.Pad}
		for i, n := range o.Size {
			wide.Size[i] = (n-1)*dilation[i] + 1
		}
		if ceil {
			wide, ceil = wide.Ceil(x.Dim(2), x.Dim(3)), false
		}
		h, w, err := wide.window().steps(x.Dim(2), x.Dim(3), []tensor.Spec{x.Spec()})
		if err != nil {
			return x.refuse(o, err.(*tensor.ShapeError).Msg)
		}
		for i, n := range [2]int{h, w} {
			start := Iota(x.r, tensor.SpecOf(tensor.I64, n, 1), 0)
			tap := Iota(x.r, tensor.SpecOf(tensor.I64, 1, o.Size[i]), 1)
			at := start.Mul(start.constant(float64(o.Stride[i]))).Add(tap.Mul(tap.constant(float64(dilation[i]))))
			x = x.Pad(2+i, wide.Pad[2*i], wide.Pad[2*i+1], math.Inf(-1)).Gather(2+i, at.Reshape(n*o.Size[i]))
		}
		o.Stride, o.Pad = o.Size, [4]int{}
	}
	return maxPool(x, o.window(), ceil)
}

// AvgPool2D is the mean of each window of images x [n, channels, height, width]. The padding counts, as zeros; what juts out beyond it does not.
//
//go:noinline
func AvgPool2D(x Value, p Pool) Value { return avgPool(x, p.window(), p.Ceil) }

// AvgPool1D is AvgPool2D for sequences x [n, channels, length].
//
//go:noinline
func AvgPool1D(x Value, p Pool) Value {
	if x.Rank() != 3 {
		return x.refuse(AvgPool2DOp{}, fmt.Sprintf("sequences are [n, channels, length], not %v", x.Shape()))
	}
	return avgPool(x.Unsqueeze(2), p.wide(), p.Ceil).Squeeze(2)
}

func avgPool(x Value, w window, ceil bool) Value {
	return AvgPool(x, AvgPool2DOp{Size: w.size, Stride: w.stride, Pad: w.pad, CountPad: true}, ceil)
}

// AvgPool is the pool o of images x. With ceil, last windows that jut out over the end count too, if they begin in the plane or the padding
// before it; what juts out beyond the padding does not count.
//
//go:noinline
func AvgPool(x Value, o AvgPool2DOp, ceil bool) Value {
	over := o.window().overhang(x.Dim(2), x.Dim(3))
	if !ceil || over == [2]int{} {
		return Apply(o, x)
	}
	if o.CountPad { // zeros that count are there, what juts out is not
		x = x.Pad(2, o.Pad[0], o.Pad[1], 0).Pad(3, o.Pad[2], o.Pad[3], 0)
		o.Pad, o.CountPad = [4]int{}, false
	}
	o.Pad[1] += over[0]
	o.Pad[3] += over[1]
	return Apply(o, x)
}

// AdaptiveAvgPool2D is the mean of parts of images x [n, channels, height, width], h by w of them, as equal as can be: neighbours share a row or
// column where the sizes do not divide.
//
//go:noinline
func AdaptiveAvgPool2D(x Value, h, w int) Value {
	return Resize(x, Scaling{Mode: Area, Size: []int{h, w}})
}

// AdaptiveMaxPool2D is the maximum of the parts of AdaptiveAvgPool2D.
//
//go:noinline
func AdaptiveMaxPool2D(x Value, h, w int) Value {
	for i, size := range [2]int{h, w} {
		axis := x.Rank() - 2 + i
		n := x.Dim(axis)
		if x.Rank() < 2 || size < 1 || n < 1 || size > maxPad {
			return x.refuse(ReduceOp{F: MaxOf}, fmt.Sprintf("cannot be cut into %d by %d parts", h, w))
		}
		parts := make([]Value, size)
		for k := range parts {
			first, end := k*n/size, ((k+1)*n+size-1)/size
			parts[k] = x.Narrow(axis, first, end-first).MaxKeep(axis)
		}
		x = Concat(axis, parts...)
	}
	return x
}

// GlobalAvgPool is the mean of each channel of x [n, channels, ...], as [n, channels].
//
//go:noinline
func GlobalAvgPool(x Value) Value { return x.global(MeanOf) }

// GlobalMaxPool is the maximum of each channel of x [n, channels, ...], as [n, channels].
//
//go:noinline
func GlobalMaxPool(x Value) Value { return x.global(MaxOf) }

func (x Value) global(f ReduceFunc) Value {
	o := ReduceOp{F: f, Axes: uint8(1<<x.Rank()-1) &^ 3}
	if x.Rank() < 3 {
		return x.refuse(o, fmt.Sprintf("wants [n, channels, ...], not %v", x.Shape()))
	}
	return Apply(o, x)
}
