package cpu_test

import "github.com/cortado-ml/cortado/ops"

// imageBuilders are convolutions and pools. PyTorch leaves out the batch where it has one image.
var imageBuilders = map[string]build{
	"nn.functional.conv1d":           one(func(c *opCall) ops.Value { return batched(c, 2, convolve) }),
	"nn.functional.conv2d":           one(func(c *opCall) ops.Value { return batched(c, 3, convolve) }),
	"nn.functional.conv_transpose1d": one(func(c *opCall) ops.Value { return batched(c, 2, transpose) }),
	"nn.functional.conv_transpose2d": one(func(c *opCall) ops.Value { return batched(c, 3, transpose) }),
	"nn.functional.max_pool1d":       one(func(c *opCall) ops.Value { return batched(c, 2, maxPool) }),
	"nn.functional.max_pool2d":       one(func(c *opCall) ops.Value { return batched(c, 3, maxPool) }),
	"nn.functional.avg_pool1d":       one(func(c *opCall) ops.Value { return batched(c, 2, avgPool) }),
	"nn.functional.avg_pool2d":       one(func(c *opCall) ops.Value { return batched(c, 3, avgPool) }),
	"nn.functional.adaptive_avg_pool2d": one(func(c *opCall) ops.Value {
		return batched(c, 3, func(c *opCall, x, _ ops.Value, _ int) ops.Value {
			size := [2]int{}
			for i, a := range sizes(c.arg(1, "output_size")) {
				if size[i] = x.Dim(2 + i); a >= 0 {
					size[i] = a
				}
			}
			return ops.AdaptiveAvgPool2D(x, size[0], size[1])
		})
	}),
}

// sizes are two numbers, or one for both; none is -1.
func sizes(a any) []int {
	number := func(a any) int {
		if f, ok := a.(float64); ok {
			return int(f)
		}
		return -1
	}
	if list, ok := a.([]any); ok {
		if len(list) == 1 {
			list = append(list, list[0])
		}
		return []int{number(list[0]), number(list[1])}
	}
	return []int{number(a), number(a)}
}

// batched calls f on images [n, c, h, w], and weights if there are any, of an image or a sequence of rank axes, with or without a batch. first is the
// first axis that counts: 1 for sequences.
func batched(c *opCall, rank int, f func(c *opCall, x, w ops.Value, first int) ops.Value) ops.Value {
	x, w := c.value(0, ""), c.value(1, "weight")
	one, line := x.Rank() == rank, rank == 2
	if one {
		x = x.Unsqueeze(0)
	}
	first := 0
	if line {
		x, first = x.Unsqueeze(2), 1
		if w.Rank() == 3 {
			w = w.Unsqueeze(2)
		}
	}
	y := f(c, x, w, first)
	if line {
		y = y.Squeeze(2)
	}
	if one {
		y = y.Squeeze(0)
	}
	return y
}

// axes is an argument for height and width; a sequence has neutral for its height.
func axes(c *opCall, first, i int, name string, otherwise, neutral int) [2]int {
	list := c.each(2, i, name, otherwise)
	if first == 1 {
		return [2]int{neutral, list[0]}
	}
	return [2]int{list[0], list[1]}
}

// geometry is what convolutions have in common.
func geometry(c *opCall, first, groups, dilation int) ops.Conv2DOp {
	p := [2]int{}
	if c.string(4, "padding") == "" {
		p = axes(c, first, 4, "padding", 0, 0)
	}
	return ops.Conv2DOp{
		Stride: axes(c, first, 3, "stride", 1, 1), Pad: [4]int{p[0], p[0], p[1], p[1]},
		Dilation: axes(c, first, dilation, "dilation", 1, 1), Groups: c.int(groups, "groups", 1),
	}
}

func convolve(c *opCall, x, w ops.Value, first int) ops.Value {
	o := geometry(c, first, 6, 5)
	if c.string(4, "padding") == "same" {
		for i := range 2 {
			total := (w.Dim(2+i) - 1) * o.Dilation[i]
			o.Pad[2*i], o.Pad[2*i+1] = total/2, total-total/2
		}
	}
	return biased(c, ops.Apply(o, x, w))
}

func transpose(c *opCall, x, w ops.Value, first int) ops.Value {
	return biased(c, ops.TransposeConv(x, w, geometry(c, first, 6, 7), axes(c, first, 5, "output_padding", 0, 0)))
}

func biased(c *opCall, y ops.Value) ops.Value {
	if b := c.value(2, "bias"); !b.IsNone() {
		y = y.Add(b.Reshape(1, b.Dim(0), 1, 1))
	}
	return y
}

// slide is the window of a pool.
func slide(c *opCall, first int) (size, stride [2]int, pad [4]int) {
	size = axes(c, first, 1, "kernel_size", 1, 1)
	stride = size
	if len(c.ints(2, "stride")) > 0 {
		stride = axes(c, first, 2, "stride", 1, 1)
	}
	p := axes(c, first, 3, "padding", 0, 0)
	return size, stride, [4]int{p[0], p[0], p[1], p[1]}
}

func maxPool(c *opCall, x, _ ops.Value, first int) ops.Value {
	var o ops.MaxPool2DOp
	o.Size, o.Stride, o.Pad = slide(c, first)
	return ops.DilatedMaxPool(x, o, axes(c, first, 4, "dilation", 1, 1), c.bool(5, "ceil_mode"))
}

func avgPool(c *opCall, x, _ ops.Value, first int) ops.Value {
	o := ops.AvgPool2DOp{CountPad: true}
	o.Size, o.Stride, o.Pad = slide(c, first)
	if b, ok := c.arg(5, "count_include_pad").(bool); ok {
		o.CountPad = b
	}
	if divisor := c.int(6, "divisor_override", 0); divisor != 0 {
		pad := o.Pad
		if c.bool(4, "ceil_mode") {
			pad = ops.MaxPool2DOp{Size: o.Size, Stride: o.Stride, Pad: o.Pad}.Ceil(x.Dim(2), x.Dim(3)).Pad
		}
		x, o.Pad = x.Pad(2, pad[0], pad[1], 0).Pad(3, pad[2], pad[3], 0), [4]int{}
		return ops.Apply(o, x).Scale(float64(o.Size[0]*o.Size[1]) / float64(divisor))
	}
	return ops.AvgPool(x, o, c.bool(4, "ceil_mode"))
}
