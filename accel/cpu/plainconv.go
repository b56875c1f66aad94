package cpu

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Convolution in plain loops over rows: of float64, which checks the float32 kernels and is wanted for training in float64; and of float32
// where the kernels do not go: with groups or dilation.

// plainConv is one of the three directions: for each plane of the result, the sum over the planes of two operands.
type plainConv[T float32 | float64] struct {
	conv.Shape        // of which Out knows no dilation
	dilation   [2]int // from tap to tap
	groups     int
	oh, ow     int // of the output
	planes     int // of the result
	do         func(k *plainConv[T], plane int)
	a, b       []T // operands
	y          []T // the result
}

func (k *plainConv[T]) Run(pool *work.Pool, in, out [][]byte) error {
	k.a, k.b, k.y = bytesOf[T](in[0]), bytesOf[T](in[1]), bytesOf[T](out[0])
	pool.Run(k.planes, k)
	return nil
}

// Do computes one plane.
func (k *plainConv[T]) Do(plane int) { k.do(k, plane) }

// plane is plane p of an array of planes of n values.
func plane[T any](x []T, p, n int) []T { return x[p*n:][:n] }

// eachRow calls f for every tap (p, q) and every row of the output, with the first column of the output for which the tap lies in the image, how
// many such columns there are, and where the tap's pixel for the first of them is.
func (k *plainConv[T]) eachRow(f func(tap, outAt, n, inAt int)) {
	for p := range k.KH {
		for q := range k.KW {
			right := q*k.dilation[1] - k.Left
			first, last := 0, k.ow
			for first < k.ow && first*k.SW+right < 0 {
				first++
			}
			for last > first && (last-1)*k.SW+right >= k.W {
				last--
			}
			for r := range k.oh {
				if in := r*k.SH + p*k.dilation[0] - k.Top; in >= 0 && in < k.H && last > first {
					f(p*k.KW+q, r*k.ow+first, last-first, in*k.W+first*k.SW+right)
				}
			}
		}
	}
}

// forwardPlane adds up output channel plane%Cout of image plane/Cout from x and w.
func forwardPlane[T float32 | float64](k *plainConv[T], i int) {
	n, co, per := i/k.Cout, i%k.Cout, k.Cin/k.groups
	y := plane(k.y, i, k.oh*k.ow)
	clear(y)
	for c := range per {
		ci := co/(k.Cout/k.groups)*per + c
		x, w := plane(k.a, n*k.Cin+ci, k.H*k.W), plane(k.b, co*per+c, k.Taps())
		k.eachRow(func(tap, outAt, n, inAt int) {
			addRow(y[outAt:][:n], 1, x[inAt:], k.SW, w[tap])
		})
	}
}

// inputPlane adds up the gradient of input channel plane%Cin of image plane/Cin from dy and w.
func inputPlane[T float32 | float64](k *plainConv[T], i int) {
	n, ci := i/k.Cin, i%k.Cin
	per, outs := k.Cin/k.groups, k.Cout/k.groups
	dx := plane(k.y, i, k.H*k.W)
	clear(dx)
	for o := range outs {
		co := ci/per*outs + o
		dy, w := plane(k.a, n*k.Cout+co, k.oh*k.ow), plane(k.b, co*per+ci%per, k.Taps())
		k.eachRow(func(tap, outAt, n, inAt int) {
			addRow(dx[inAt:], k.SW, dy[outAt:][:n], 1, w[tap])
		})
	}
}

// weightPlane adds up the gradient of the weights of output channel plane/(Cin/groups), for one channel of its group, from x and dy.
func weightPlane[T float32 | float64](k *plainConv[T], i int) {
	per := k.Cin / k.groups
	co := i / per
	ci := co/(k.Cout/k.groups)*per + i%per
	dw := plane(k.y, i, k.Taps())
	clear(dw)
	for n := range k.N {
		x, dy := plane(k.a, n*k.Cin+ci, k.H*k.W), plane(k.b, n*k.Cout+co, k.oh*k.ow)
		k.eachRow(func(tap, outAt, n, inAt int) {
			dw[tap] += dotRow(dy[outAt:][:n], x[inAt:], k.SW)
		})
	}
}

// addRow adds by times every src to dst, in steps; one of the two has step 1, and its length counts.
func addRow[T float32 | float64](dst []T, dstStep int, src []T, srcStep int, by T) {
	switch {
	case dstStep == 1 && srcStep == 1:
		n := min(len(dst), len(src))
		dst, src = dst[:n], src[:n]
		for j, x := range src {
			dst[j] += by * x
		}
	case dstStep == 1:
		for j := range dst {
			dst[j] += by * src[j*srcStep]
		}
	default:
		for j, x := range src {
			dst[j*dstStep] += by * x
		}
	}
}

// dotRow is the sum of the products of a with every step-th of b.
func dotRow[T float32 | float64](a, b []T, step int) (sum T) {
	if step == 1 {
		b = b[:len(a)]
		for j, x := range a {
			sum += x * b[j]
		}
		return sum
	}
	for j, x := range a {
		sum += x * b[j*step]
	}
	return sum
}

// plainForward and its neighbours emit a convolution in plain loops.
func (c *compiler) plainForward(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.Conv2DOp)
	s := convShape(n.Args[0].Shape, n.Args[1].Shape, o.Stride, o.Pad)
	if n.Out[0].DType == tensor.F64 {
		return emitPlain(c, i, s, o, n.Out[0].Shape, s.N*s.Cout, forwardPlane[float64])
	}
	return emitPlain(c, i, s, o, n.Out[0].Shape, s.N*s.Cout, forwardPlane[float32])
}

func (c *compiler) plainInputGrad(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.Conv2DInputGradOp).Conv()
	s := convShape(n.Out[0].Shape, n.Args[1].Shape, o.Stride, o.Pad)
	if n.Out[0].DType == tensor.F64 {
		return emitPlain(c, i, s, o, n.Args[0].Shape, s.N*s.Cin, inputPlane[float64])
	}
	return emitPlain(c, i, s, o, n.Args[0].Shape, s.N*s.Cin, inputPlane[float32])
}

func (c *compiler) plainWeightGrad(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.Conv2DWeightGradOp).Conv()
	s := convShape(n.Args[0].Shape, n.Out[0].Shape, o.Stride, o.Pad)
	planes := n.Out[0].Shape.Dim(0) * n.Out[0].Shape.Dim(1)
	if n.Out[0].DType == tensor.F64 {
		return emitPlain(c, i, s, o, n.Args[1].Shape, planes, weightPlane[float64])
	}
	return emitPlain(c, i, s, o, n.Args[1].Shape, planes, weightPlane[float32])
}

// emitPlain emits one direction of a convolution whose output has shape y.
func emitPlain[T float32 | float64](c *compiler, i int, s conv.Shape, o ops.Conv2DOp, y tensor.Shape, planes int, do func(k *plainConv[T], plane int)) error {
	k := &plainConv[T]{Shape: s, groups: max(1, o.Groups), oh: y.Dim(2), ow: y.Dim(3), planes: planes, do: do}
	k.dilation = [2]int{max(1, o.Dilation[0]), max(1, o.Dilation[1])}
	return c.simpleFloat(i, "plain "+c.g.Nodes[i].Op.Name(), k)
}

// sparse reports whether a convolution goes where the blocked kernels do not.
func sparse(o ops.Conv2DOp) bool { return o.Groups > 1 || max(o.Dilation[0], o.Dilation[1]) > 1 }
