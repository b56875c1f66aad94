package cpu

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
)

// Convolution of float64, in plain loops over rows: it checks the float32 kernels, and training in float64 wants it.

// conv64 is one of the three directions: for each plane of the result, the sum over the planes of two operands.
type conv64 struct {
	conv.Shape
	planes int // of the result
	do     func(k *conv64, plane int)
	a, b   []float64 // operands
	y      []float64 // the result
}

func (k *conv64) Run(pool *work.Pool, in, out [][]byte) error {
	k.a, k.b, k.y = doubles(in[0]), doubles(in[1]), doubles(out[0])
	pool.Run(k.planes, k)
	return nil
}

// Do computes one plane.
func (k *conv64) Do(plane int) { k.do(k, plane) }

// plane is plane p of an array of planes of n values.
func plane(x []float64, p, n int) []float64 { return x[p*n:][:n] }

// eachRow calls f for every tap (p, q) and every row of the output, with the first column of the output for which the tap lies in the image, how
// many such columns there are, and where the tap's pixel for the first of them is.
func (k *conv64) eachRow(f func(tap, outAt, n, inAt int)) {
	o := k.Out()
	for p := range k.KH {
		for q := range k.KW {
			first, last := 0, o.W
			for first < o.W && first*k.SW+q < k.Left {
				first++
			}
			for last > first && (last-1)*k.SW+q-k.Left >= k.W {
				last--
			}
			for r := range o.H {
				if in := r*k.SH + p - k.Top; in >= 0 && in < k.H && last > first {
					f(p*k.KW+q, r*o.W+first, last-first, in*k.W+first*k.SW+q-k.Left)
				}
			}
		}
	}
}

// forwardPlane64 adds up output channel plane%Cout of image plane/Cout from x and w.
func forwardPlane64(k *conv64, i int) {
	o := k.Out()
	n, co := i/k.Cout, i%k.Cout
	y := plane(k.y, i, o.H*o.W)
	clear(y)
	for ci := range k.Cin {
		x, w := plane(k.a, n*k.Cin+ci, k.H*k.W), plane(k.b, co*k.Cin+ci, k.Taps())
		k.eachRow(func(tap, outAt, n, inAt int) {
			addRow(y[outAt:][:n], 1, x[inAt:], k.SW, w[tap])
		})
	}
}

// inputPlane64 adds up the gradient of input channel plane%Cin of image plane/Cin from dy and w.
func inputPlane64(k *conv64, i int) {
	o := k.Out()
	n, ci := i/k.Cin, i%k.Cin
	dx := plane(k.y, i, k.H*k.W)
	clear(dx)
	for co := range k.Cout {
		dy, w := plane(k.a, n*k.Cout+co, o.H*o.W), plane(k.b, co*k.Cin+ci, k.Taps())
		k.eachRow(func(tap, outAt, n, inAt int) {
			addRow(dx[inAt:], k.SW, dy[outAt:][:n], 1, w[tap])
		})
	}
}

// weightPlane64 adds up the gradient of the weights from input channel plane%Cin to output channel plane/Cin, from x and dy.
func weightPlane64(k *conv64, i int) {
	o := k.Out()
	co, ci := i/k.Cin, i%k.Cin
	dw := plane(k.y, i, k.Taps())
	clear(dw)
	for n := range k.N {
		x, dy := plane(k.a, n*k.Cin+ci, k.H*k.W), plane(k.b, n*k.Cout+co, o.H*o.W)
		k.eachRow(func(tap, outAt, n, inAt int) {
			dw[tap] += dotRow(dy[outAt:][:n], x[inAt:], k.SW)
		})
	}
}

// addRow adds by times every src to dst, in steps; one of the two has step 1, and its length counts.
func addRow(dst []float64, dstStep int, src []float64, srcStep int, by float64) {
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
func dotRow(a, b []float64, step int) (sum float64) {
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

func (c *compiler) forward64(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.Conv2DOp)
	s := convShape(n.Args[0].Shape, n.Args[1].Shape, o.Stride, o.Pad)
	return c.simple(i, "conv f64", &conv64{Shape: s, planes: s.N * s.Cout, do: forwardPlane64})
}

func (c *compiler) inputGrad64(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.Conv2DInputGradOp)
	s := convShape(n.Out[0].Shape, n.Args[1].Shape, o.Stride, o.Pad)
	return c.simple(i, "conv input gradient f64", &conv64{Shape: s, planes: s.N * s.Cin, do: inputPlane64})
}

func (c *compiler) weightGrad64(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.Conv2DWeightGradOp)
	s := convShape(n.Args[0].Shape, n.Out[0].Shape, o.Stride, o.Pad)
	return c.simple(i, "conv weight gradient f64", &conv64{Shape: s, planes: s.Cin * s.Cout, do: weightPlane64})
}
