package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// The convolution and its two adjoints. Each is linear in both inputs, and the gradients of each are among the three.

var _ = register(Conv2DOp{}, Conv2DInputGradOp{}, Conv2DWeightGradOp{})

// Conv2DOp correlates images with kernels: (x [n, c, h, w], weight [out, c/groups, kh, kw]) gives [n, out, oh, ow]. As everywhere in networks
// the kernel is not flipped. Each group of neighbouring outputs sees its group of channels. The padding is zeros, and 0 times a weight that
// is infinite or NaN is NaN, there as elsewhere.
type Conv2DOp struct {
	total
	strict
	Stride   [2]int // along height and width
	Pad      [4]int // top, bottom, left, right
	Dilation [2]int // pixels from one row or column of the kernel to the next; 0 means 1
	Groups   int    // of channels and of outputs; 0 means 1
}

// Name is "conv2d".
func (Conv2DOp) Name() string { return "conv2d" }

// Infer wants equal channels, and a kernel no larger than the padded image.
func (o Conv2DOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkImages(2, in); err != nil {
		return nil, err
	}
	x, w := in[0].Shape, in[1].Shape
	if err := o.check(in); err != nil {
		return nil, err
	}
	if g := o.groups(); w.Dim(0)%g != 0 || g > 1 && x.Dim(1) != g*w.Dim(1) {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("%d groups: wants %d channels and a multiple of %d outputs, not %d and %d", g, g*w.Dim(1), g, x.Dim(1), w.Dim(0)), In: in}
	}
	if o.groups() == 1 && x.Dim(1) != w.Dim(1) {
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("channels differ: %d (axis 1 of x %v) vs %d (axis 1 of the weight %v)", x.Dim(1), x, w.Dim(1), w), In: in}
	}
	oh, ow, err := o.window(w.Dim(2), w.Dim(3)).steps(x.Dim(2), x.Dim(3), in)
	if err != nil {
		return nil, err
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: image(x.Dim(0), w.Dim(0), oh, ow)}}, nil
}

// check refuses what no convolution has.
func (o Conv2DOp) check(in []tensor.Spec) error {
	if o.Groups < 0 || o.Dilation[0] < 0 || o.Dilation[1] < 0 || max(o.Groups, o.Dilation[0], o.Dilation[1]) > maxPad {
		return &tensor.ShapeError{Msg: fmt.Sprintf("%d groups and a dilation of %v: wants 0 to 2^30", o.Groups, o.Dilation), In: in}
	}
	return nil
}

func (o Conv2DOp) groups() int { return max(1, o.Groups) }

// dilation is the step from tap to tap.
func (o Conv2DOp) dilation() [2]int { return [2]int{max(1, o.Dilation[0]), max(1, o.Dilation[1])} }

// window is what a kernel covers.
func (o Conv2DOp) window(kh, kw int) window {
	d := o.dilation()
	return window{[2]int{(kh-1)*d[0] + 1, (kw-1)*d[1] + 1}, o.Stride, o.Pad}
}

// each calls f for every product of a convolution: element i of x times element k of the weight goes to element j of the
// result; in the padding, which is zeros, i is -1.
func (o Conv2DOp) each(x, w, y tensor.Shape, f func(i, k, j int)) {
	for n := range y.Dim(0) {
		for out := range y.Dim(1) {
			first := out / (y.Dim(1) / o.groups()) * w.Dim(1) // channel of the group
			for c := range w.Dim(1) {
				o.eachTap(x, w, y, (n*x.Dim(1)+first+c)*x.Dim(2), (out*w.Dim(1)+c)*w.Dim(2), (n*y.Dim(1)+out)*y.Dim(2), f)
			}
		}
	}
}

// eachTap is each for one plane of each operand; the planes begin at the given rows.
func (o Conv2DOp) eachTap(x, w, y tensor.Shape, xRow, wRow, yRow int, f func(i, k, j int)) {
	d := o.dilation()
	for a := range y.Dim(2) {
		for b := range y.Dim(3) {
			for p := range w.Dim(2) {
				for q := range w.Dim(3) {
					r, s := a*o.Stride[0]-o.Pad[0]+p*d[0], b*o.Stride[1]-o.Pad[2]+q*d[1]
					i := -1
					if r >= 0 && r < x.Dim(2) && s >= 0 && s < x.Dim(3) {
						i = (xRow+r)*x.Dim(3) + s
					}
					f(i, (wRow+p)*w.Dim(3)+q, (yRow+a)*y.Dim(3)+b)
				}
			}
		}
	}
}

// padded is element i of x, or the padding.
func padded(x tensor.Tensor, i int) float64 {
	if i < 0 {
		return 0
	}
	return x.At(i)
}

// Ref is y[n,o,a,b] = sum of x[n,c,a*stride+p*dilation-pad,b*stride+q*dilation-pad] * w[o,c,p,q] over c, p and q.
func (o Conv2DOp) Ref(out, in []tensor.Tensor) error {
	sum := newAdder(out[0])
	o.each(in[0].Shape(), in[1].Shape(), out[0].Shape(), func(i, k, j int) {
		sum.f[j] += padded(in[0], i) * in[1].At(k)
	})
	sum.store()
	return nil
}

// Grad is linear in both.
func (o Conv2DOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	x, w := b.InSpec(0).Shape, b.InSpec(1).Shape
	if b.Needs(0) {
		b.Set(0, Apply(o.inputGrad(x), dy, b.In(1)))
	}
	if b.Needs(1) {
		b.Set(1, Apply(o.weightGrad(w), b.In(0), dy))
	}
}

// inputGrad is the gradient for images of shape x, weightGrad that for kernels of shape w.
func (o Conv2DOp) inputGrad(x tensor.Shape) Conv2DInputGradOp {
	return Conv2DInputGradOp{Stride: o.Stride, Pad: o.Pad, Dilation: o.Dilation, Groups: o.Groups, H: x.Dim(2), W: x.Dim(3)}
}

func (o Conv2DOp) weightGrad(w tensor.Shape) Conv2DWeightGradOp {
	return Conv2DWeightGradOp{Stride: o.Stride, Pad: o.Pad, Dilation: o.Dilation, Groups: o.Groups, KH: w.Dim(2), KW: w.Dim(3)}
}

// Cost is a multiplication and an addition for each element of the result and of its kernel.
func (Conv2DOp) Cost(in, out []tensor.Spec) Cost { return convCost(in, out, out, in[1:]) }

// convCost is the cost of a convolution whose result has the spec y and whose weight has the spec w.
func convCost(in, out, y, w []tensor.Spec) Cost {
	c := Traffic(in, out)
	s := w[0].Shape
	c.FLOPs = 2 * float64(y[0].Shape.Size()) * float64(s.Dim(1)*s.Dim(2)*s.Dim(3))
	return c
}

// Batch cuts the images.
func (Conv2DOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) { return batchImages(axis) }

// Samples slide every kind of kernel.
func (Conv2DOp) Samples() []Sample {
	nan, inf := math.NaN(), math.Inf(1)
	rows := []Sample{
		{Name: "zero and one times special", Op: Conv2DOp{Stride: [2]int{1, 1}}, In: []tensor.Tensor{farr(d(1, 1, 2, 4), 0, nan, inf, 1, 1, 0, 2, -inf), farr(d(2, 1, 1, 2), 1, 0, nan, 1)}, ValueOnly: true},
		{Name: "integers", Op: Conv2DOp{Stride: [2]int{1, 1}}, In: []tensor.Tensor{iarr(d(1, 1, 1, 1), 1), iarr(d(1, 1, 1, 1), 1)}, Refused: "wants floats of one type with four axes"},
		{Name: "rank 3", Op: Conv2DOp{Stride: [2]int{1, 1}}, In: []tensor.Tensor{ramp(1, 3, 5, 5), ramp(2, 4, 3, 3, 3)}, Refused: "images are [n, channels, height, width]"},
		{Name: "channels", Op: Conv2DOp{Stride: [2]int{1, 1}}, In: []tensor.Tensor{ramp(1, 1, 3, 5, 5), ramp(2, 4, 2, 3, 3)}, Refused: "channels differ: 3 (axis 1 of x [1 3 5 5]) vs 2 (axis 1 of the weight [4 2 3 3])"},
		{Name: "kernel too large", Op: Conv2DOp{Stride: [2]int{1, 1}, Pad: [4]int{1, 0, 0, 0}}, In: []tensor.Tensor{ramp(1, 1, 1, 2, 5), ramp(2, 1, 1, 4, 4)}, Refused: "window [4 4] is larger than the padded plane [3 5]"},
		{Name: "stride 0", Op: Conv2DOp{}, In: []tensor.Tensor{ramp(1, 1, 1, 2, 2), ramp(2, 1, 1, 1, 1)}, Refused: "window [1 1] with stride [0 0]: both are at least 1"},
		{Name: "empty kernel", Op: Conv2DOp{Stride: [2]int{1, 1}}, In: []tensor.Tensor{ramp(1, 1, 1, 2, 2), ramp(2, 1, 1, 0, 1)}, Refused: "window [0 1] with stride [1 1]: both are at least 1"},
		{Name: "padding times special", Op: Conv2DOp{Stride: [2]int{1, 1}, Pad: [4]int{1, 1, 1, 1}}, ValueOnly: true,
			In: []tensor.Tensor{ramp(1, 1, 1, 3, 4), farr(d(2, 1, 1, 3), math.NaN(), 1, 1, 1, 1, math.Inf(1))}},
		{Name: "negative padding", Op: Conv2DOp{Stride: [2]int{1, 1}, Pad: [4]int{0, 0, -1, 0}}, In: []tensor.Tensor{ramp(1, 1, 1, 2, 2), ramp(2, 1, 1, 1, 1)}, Refused: "padding [0 0 -1 0] (top, bottom, left, right): wants 0 to 2^30"},
		{Name: "padding overflows", Op: Conv2DOp{Stride: [2]int{1, 1}, Pad: [4]int{math.MaxInt, math.MaxInt, 0, 0}}, In: []tensor.Tensor{ramp(1, 1, 1, 2, 2), ramp(2, 1, 1, 1, 1)}, Refused: "wants 0 to 2^30"},
		{Name: "dilated too far", Op: Conv2DOp{Stride: [2]int{1, 1}, Dilation: [2]int{2, 2}}, In: []tensor.Tensor{ramp(1, 1, 1, 2, 2), ramp(2, 1, 1, 2, 2)}, Refused: "window [3 3] is larger than the padded plane [2 2]"},
		{Name: "negative dilation", Op: Conv2DOp{Stride: [2]int{1, 1}, Dilation: [2]int{1, -1}}, In: []tensor.Tensor{ramp(1, 1, 1, 2, 2), ramp(2, 1, 1, 2, 2)}, Refused: "wants 0 to 2^30"},
		{Name: "groups and channels", Op: Conv2DOp{Stride: [2]int{1, 1}, Groups: 2}, In: []tensor.Tensor{ramp(1, 1, 3, 2, 2), ramp(2, 2, 1, 2, 2)}, Refused: "2 groups: wants 2 channels and a multiple of 2 outputs, not 3 and 2"},
		{Name: "groups and outputs", Op: Conv2DOp{Stride: [2]int{1, 1}, Groups: 2}, In: []tensor.Tensor{ramp(1, 1, 2, 2, 2), ramp(2, 3, 1, 2, 2)}, Refused: "not 2 and 3"},
		{Name: "one value", Op: Conv2DOp{Stride: [2]int{1, 1}}, In: []tensor.Tensor{ramp(1, 1, 1, 1, 1)}, Refused: "wants 2 values, not 1"},
	}
	for _, c := range convCases() {
		rows = append(rows, Sample{Name: c.name, Op: c.op(), In: []tensor.Tensor{c.ramp(1, c.x), c.ramp(2, c.w)}, ValueOnly: c.large, ULP: 32})
	}
	return rows
}

// convCase is a geometry that all three operations are run on.
type convCase struct {
	name   string
	x, w   tensor.Shape
	stride [2]int
	pad    [4]int
	dilate [2]int
	groups int
	large  bool // too many elements for finite differences
}

func (c convCase) op() Conv2DOp {
	return Conv2DOp{Stride: c.stride, Pad: c.pad, Dilation: c.dilate, Groups: c.groups}
}

func convCases() []convCase {
	one, two := [2]int{1, 1}, [2]int{2, 2}
	return []convCase{
		{name: "3x3", x: image(2, 2, 4, 5), w: image(3, 2, 3, 3), stride: one},
		{name: "3x3 same", x: image(1, 2, 4, 3), w: image(2, 2, 3, 3), stride: one, pad: [4]int{1, 1, 1, 1}},
		{name: "1x1", x: image(2, 3, 2, 2), w: image(2, 3, 1, 1), stride: one},
		{name: "1x1 strided", x: image(1, 2, 4, 5), w: image(2, 2, 1, 1), stride: two},
		{name: "2x2 strided", x: image(1, 1, 5, 4), w: image(2, 1, 2, 2), stride: two},
		{name: "3x3 strided same", x: image(1, 2, 5, 6), w: image(1, 2, 3, 3), stride: two, pad: [4]int{1, 1, 1, 1}},
		{name: "5x5 in less", x: image(1, 1, 3, 2), w: image(1, 1, 5, 5), stride: one, pad: [4]int{2, 2, 2, 2}},
		{name: "uneven kernel, stride and padding", x: image(1, 2, 5, 4), w: image(2, 2, 2, 3), stride: [2]int{2, 1}, pad: [4]int{0, 1, 2, 0}},
		{name: "stride beyond the kernel", x: image(1, 1, 7, 7), w: image(2, 1, 2, 2), stride: [2]int{3, 4}},
		{name: "windows of padding alone", x: image(1, 1, 2, 2), w: image(1, 1, 2, 2), stride: one, pad: [4]int{3, 2, 2, 3}},
		{name: "the whole image", x: image(2, 2, 3, 3), w: image(4, 2, 3, 3), stride: one},
		{name: "no image", x: image(0, 2, 4, 4), w: image(2, 2, 3, 3), stride: one},
		{name: "no channel", x: image(1, 0, 3, 3), w: image(2, 0, 2, 2), stride: one},
		{name: "no result", x: image(1, 2, 3, 3), w: image(0, 2, 2, 2), stride: one},
		{name: "padding around nothing", x: image(1, 1, 0, 2), w: image(1, 1, 2, 2), stride: one, pad: [4]int{1, 1, 0, 0}},
		{name: "dilated", x: image(1, 2, 6, 7), w: image(2, 2, 3, 2), stride: one, dilate: two},
		{name: "dilated unevenly, strided", x: image(2, 1, 7, 8), w: image(2, 1, 2, 3), stride: two, pad: [4]int{1, 2, 0, 3}, dilate: [2]int{3, 2}},
		{name: "dilated by 1", x: image(1, 1, 3, 3), w: image(1, 1, 2, 2), stride: one, dilate: one, groups: 1},
		{name: "groups", x: image(2, 4, 4, 3), w: image(6, 2, 2, 2), stride: one, pad: [4]int{1, 0, 0, 1}, groups: 2},
		{name: "depthwise", x: image(1, 3, 5, 5), w: image(3, 1, 3, 3), stride: two, pad: [4]int{1, 1, 1, 1}, groups: 3},
		{name: "depthwise, two outputs of each", x: image(1, 2, 3, 3), w: image(4, 1, 2, 2), stride: one, groups: 2, dilate: two},
		{name: "groups of nothing", x: image(1, 0, 3, 3), w: image(2, 0, 2, 2), stride: one, groups: 2},
		{name: "depthwise, many", x: image(2, 33, 7, 9), w: image(33, 1, 3, 3), stride: one, pad: [4]int{1, 1, 1, 1}, groups: 33, large: true},
		{name: "first layer", x: image(2, 1, 12, 12), w: image(32, 1, 3, 3), stride: one, pad: [4]int{1, 1, 1, 1}, large: true},
		{name: "colours", x: image(1, 3, 9, 11), w: image(16, 3, 5, 5), stride: two, pad: [4]int{2, 2, 2, 2}, large: true},
		{name: "channels beside a block", x: image(2, 17, 5, 6), w: image(19, 17, 3, 3), stride: one, pad: [4]int{1, 1, 1, 1}, large: true},
		{name: "whole blocks", x: image(1, 32, 7, 7), w: image(16, 32, 3, 3), stride: one, pad: [4]int{1, 1, 1, 1}, large: true},
	}
}

func (c convCase) ramp(seed int, s tensor.Shape) tensor.Tensor { return ramp(seed, s.Dims()...) }

// y is the shape of the result.
func (c convCase) y() tensor.Shape {
	oh, ow, _ := c.op().window(c.w.Dim(2), c.w.Dim(3)).steps(c.x.Dim(2), c.x.Dim(3), nil)
	return image(c.x.Dim(0), c.w.Dim(0), oh, ow)
}

// batchImages cuts the images in the first operand and keeps the weight.
func batchImages(axis []int) ([]int, BatchKind) {
	if axis[0] != 0 || axis[1] >= 0 {
		return nil, Mixes
	}
	return []int{0}, Rowwise
}

// Conv2DInputGradOp is the gradient of Conv2DOp with respect to images [n, in, H, W]: (dy [n, out, oh, ow], weight). Alone it is what others
// call a transposed convolution.
type Conv2DInputGradOp struct {
	total
	strict
	Stride   [2]int
	Pad      [4]int
	Dilation [2]int
	Groups   int
	H, W     int
}

// Conv is the convolution.
func (o Conv2DInputGradOp) Conv() Conv2DOp {
	return Conv2DOp{Stride: o.Stride, Pad: o.Pad, Dilation: o.Dilation, Groups: o.Groups}
}

// Name is "conv2d input gradient".
func (Conv2DInputGradOp) Name() string { return "conv2d input gradient" }

// Infer wants the dy that a convolution of such images has.
func (o Conv2DInputGradOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkImages(2, in); err != nil {
		return nil, err
	}
	dy, w := in[0].Shape, in[1].Shape
	x := tensor.Spec{DType: in[0].DType, Shape: image(dy.Dim(0), o.Conv().groups()*w.Dim(1), o.H, o.W)}
	if err := o.Conv().checkGrad(x.Shape, w, dy, in); err != nil {
		return nil, err
	}
	return []tensor.Spec{x}, nil
}

// checkGrad wants the dy that the convolution of x and w has.
func (o Conv2DOp) checkGrad(x, w, dy tensor.Shape, in []tensor.Spec) error {
	if err := o.check(in); err != nil {
		return err
	}
	oh, ow, err := o.window(w.Dim(2), w.Dim(3)).steps(x.Dim(2), x.Dim(3), in)
	if err != nil {
		return err
	}
	if g := o.groups(); w.Dim(0)%g != 0 || x.Dim(1) != g*w.Dim(1) {
		return &tensor.ShapeError{Msg: fmt.Sprintf("%d groups do not divide %d channels and %d outputs", g, x.Dim(1), w.Dim(0)), In: in}
	}
	if want := image(x.Dim(0), w.Dim(0), oh, ow); dy != want {
		return &tensor.ShapeError{Msg: fmt.Sprintf("the convolution of %v with %v gives %v, not %v", x, w, want, dy), In: in}
	}
	return nil
}

// Ref gives each product to the element of x that it came from.
func (o Conv2DInputGradOp) Ref(out, in []tensor.Tensor) error {
	sum := newAdder(out[0])
	o.Conv().each(out[0].Shape(), in[1].Shape(), in[0].Shape(), func(i, k, j int) {
		if i >= 0 {
			sum.f[i] += in[0].At(j) * in[1].At(k)
		}
	})
	sum.store()
	return nil
}

// Grad is linear in both.
func (o Conv2DInputGradOp) Grad(b *Backward) {
	g, _ := b.Dy(0)
	w := b.InSpec(1).Shape
	if b.Needs(0) {
		b.Set(0, Apply(o.Conv(), g, b.In(1)))
	}
	if b.Needs(1) {
		b.Set(1, Apply(o.Conv().weightGrad(w), g, b.In(0)))
	}
}

// Cost is that of the convolution.
func (Conv2DInputGradOp) Cost(in, out []tensor.Spec) Cost { return convCost(in, out, in, in[1:]) }

// Batch cuts the images.
func (Conv2DInputGradOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	return batchImages(axis)
}

// Samples have the geometries of Conv2DOp.
func (Conv2DInputGradOp) Samples() []Sample {
	rows := []Sample{
		{Name: "zero times special", Op: Conv2DInputGradOp{Stride: [2]int{1, 1}, H: 1, W: 3}, In: []tensor.Tensor{farr(d(1, 1, 1, 2), 0, 1), farr(d(1, 1, 1, 2), math.NaN(), math.Inf(1))}, ValueOnly: true},
		{Name: "another size", Op: Conv2DInputGradOp{Stride: [2]int{1, 1}, H: 5, W: 4}, In: []tensor.Tensor{ramp(1, 1, 2, 3, 3), ramp(2, 2, 1, 3, 3)}, Refused: "the convolution of [1 1 5 4] with [2 1 3 3] gives [1 2 3 2], not [1 2 3 3]"},
		{Name: "channels", Op: Conv2DInputGradOp{Stride: [2]int{1, 1}, H: 5, W: 5}, In: []tensor.Tensor{ramp(1, 1, 3, 3, 3), ramp(2, 2, 1, 3, 3)}, Refused: "gives [1 2 3 3], not [1 3 3 3]"},
		{Name: "negative size", Op: Conv2DInputGradOp{Stride: [2]int{1, 1}, H: -1, W: 5}, In: []tensor.Tensor{ramp(1, 1, 3, 3, 3), ramp(2, 2, 1, 3, 3)}, Refused: "is larger than the padded plane"},
	}
	for _, c := range convCases() {
		o := c.op().inputGrad(c.x)
		rows = append(rows, Sample{Name: c.name, Op: o, In: []tensor.Tensor{c.ramp(1, c.y()), c.ramp(2, c.w)}, ValueOnly: c.large, ULP: 32})
	}
	return rows
}

// Conv2DWeightGradOp is the gradient of Conv2DOp with respect to kernels [out, in/Groups, KH, KW]: (x, dy [n, out, oh, ow]).
type Conv2DWeightGradOp struct {
	total
	strict
	Stride   [2]int
	Pad      [4]int
	Dilation [2]int
	Groups   int
	KH, KW   int
}

// Conv is the convolution.
func (o Conv2DWeightGradOp) Conv() Conv2DOp {
	return Conv2DOp{Stride: o.Stride, Pad: o.Pad, Dilation: o.Dilation, Groups: o.Groups}
}

// Name is "conv2d weight gradient".
func (Conv2DWeightGradOp) Name() string { return "conv2d weight gradient" }

// Infer wants the dy that a convolution with such kernels has.
func (o Conv2DWeightGradOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkImages(2, in); err != nil {
		return nil, err
	}
	x, dy := in[0].Shape, in[1].Shape
	w := tensor.Spec{DType: in[0].DType, Shape: image(dy.Dim(1), x.Dim(1)/o.Conv().groups(), o.KH, o.KW)}
	if err := o.Conv().checkGrad(x, w.Shape, dy, in); err != nil {
		return nil, err
	}
	return []tensor.Spec{w}, nil
}

// Ref gives each product to the element of the weight that it came from.
func (o Conv2DWeightGradOp) Ref(out, in []tensor.Tensor) error {
	sum := newAdder(out[0])
	o.Conv().each(in[0].Shape(), out[0].Shape(), in[1].Shape(), func(i, k, j int) {
		sum.f[k] += padded(in[0], i) * in[1].At(j)
	})
	sum.store()
	return nil
}

// Grad is linear in both.
func (o Conv2DWeightGradOp) Grad(b *Backward) {
	g, _ := b.Dy(0)
	x := b.InSpec(0).Shape
	if b.Needs(0) {
		b.Set(0, Apply(o.Conv().inputGrad(x), b.In(1), g))
	}
	if b.Needs(1) {
		b.Set(1, Apply(o.Conv(), b.In(0), g))
	}
}

// Cost is that of the convolution.
func (Conv2DWeightGradOp) Cost(in, out []tensor.Spec) Cost { return convCost(in, out, in[1:], out) }

// Batch adds the gradients of the shards.
func (Conv2DWeightGradOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	if axis[0] != 0 || axis[1] != 0 {
		return nil, Mixes
	}
	return []int{-1}, Sum
}

// Samples have the geometries of Conv2DOp.
func (Conv2DWeightGradOp) Samples() []Sample {
	rows := []Sample{
		{Name: "padding times special", Op: Conv2DWeightGradOp{Stride: [2]int{1, 1}, Pad: [4]int{0, 0, 1, 1}, KH: 1, KW: 2}, ValueOnly: true,
			In: []tensor.Tensor{ramp(1, 1, 1, 1, 3), farr(d(1, 2, 1, 4), math.NaN(), 1, 1, 1, 1, 1, 1, math.Inf(1))}},
		{Name: "zero times special", Op: Conv2DWeightGradOp{Stride: [2]int{1, 1}, KH: 1, KW: 2}, In: []tensor.Tensor{farr(d(1, 1, 1, 3), math.NaN(), math.Inf(1), 1), farr(d(1, 1, 1, 2), 0, 1)}, ValueOnly: true},
		{Name: "another kernel", Op: Conv2DWeightGradOp{Stride: [2]int{1, 1}, KH: 2, KW: 3}, In: []tensor.Tensor{ramp(1, 1, 1, 5, 5), ramp(2, 1, 2, 3, 3)}, Refused: "the convolution of [1 1 5 5] with [2 1 2 3] gives [1 2 4 3], not [1 2 3 3]"},
		{Name: "batches", Op: Conv2DWeightGradOp{Stride: [2]int{1, 1}, KH: 3, KW: 3}, In: []tensor.Tensor{ramp(1, 2, 1, 5, 5), ramp(2, 1, 2, 3, 3)}, Refused: "gives [2 2 3 3], not [1 2 3 3]"},
		{Name: "no kernel", Op: Conv2DWeightGradOp{Stride: [2]int{1, 1}}, In: []tensor.Tensor{ramp(1, 1, 1, 5, 5), ramp(2, 1, 2, 3, 3)}, Refused: "both are at least 1"},
	}
	for _, c := range convCases() {
		o := c.op().weightGrad(c.w)
		rows = append(rows, Sample{Name: c.name, Op: o, In: []tensor.Tensor{c.ramp(1, c.x), c.ramp(2, c.y())}, ValueOnly: c.large, ULP: 64})
	}
	return rows
}
