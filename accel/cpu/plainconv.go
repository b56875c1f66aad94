package cpu

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
)

// Convolution of float64, in plain loops over rows: it checks the float32 kernels, and training in float64 wants it.

// plainConv is one of the three directions: for each plane of the result, the sum over the planes of two operands.
type plainConv struct {
	conv.Shape
	oh, ow int // of the output
	planes int // of the result
	do     func(k *plainConv, plane int)
	a, b   []float64 // operands
	y      []float64 // the result
}

func (k *plainConv) Run(pool *work.Pool, in, out [][]byte) error {
	k.a, k.b, k.y = doubles(in[0]), doubles(in[1]), doubles(out[0])
	pool.Run(k.planes, k)
	return nil
}

// Do computes one plane.
func (k *plainConv) Do(plane int) { k.do(k, plane) }

// plane is plane p of an array of planes of n values.
func plane(x []float64, p, n int) []float64 { return x[p*n:][:n] }

// eachRow calls f for every tap (p, q) and every row of the output, with the first column of the output for which the tap lies in the image, how
// many such columns there are, and where the tap's pixel for the first of them is.
func (k *plainConv) eachRow(f func(tap, outAt, n, inAt int)) {
	for p := range k.KH {
		for q := range k.KW {
			right := q*k.DW - k.Left
			first, last := 0, k.ow
			for first < k.ow && first*k.SW+right < 0 {
				first++
			}
			for last > first && (last-1)*k.SW+right >= k.W {
				last--
			}
			for r := range k.oh {
				if in := r*k.SH + p*k.DH - k.Top; in >= 0 && in < k.H && last > first {
					f(p*k.KW+q, r*k.ow+first, last-first, in*k.W+first*k.SW+right)
				}
			}
		}
	}
}

// inPadding calls f for every pixel of the output for which a tap lies in the padding.
func (k *plainConv) inPadding(tap int, f func(outAt int)) {
	for at := range k.oh * k.ow {
		r, c := at/k.ow*k.SH+tap/k.KW*k.DH-k.Top, at%k.ow*k.SW+tap%k.KW*k.DW-k.Left
		if r < 0 || r >= k.H || c < 0 || c >= k.W {
			f(at)
		}
	}
}

// finite64 tells whether no value is infinite or NaN, which alone makes anything of the zeros in the padding.
func finite64(x []float64) bool {
	sum := 0.0
	for _, v := range x {
		sum += 0 * v
	}
	return sum == 0
}

// forwardPlane adds up output channel plane%Cout of image plane/Cout from x and w.
func forwardPlane(k *plainConv, i int) {
	n, co := i/k.Cout, i%k.Cout
	per, outs := k.PerGroup()
	y := plane(k.y, i, k.oh*k.ow)
	clear(y)
	for c := range per {
		ci := co/outs*per + c
		x, w := plane(k.a, n*k.Cin+ci, k.H*k.W), plane(k.b, co*per+c, k.Taps())
		k.eachRow(func(tap, outAt, n, inAt int) {
			addRow(y[outAt:][:n], 1, x[inAt:], k.SW, w[tap])
		})
		for tap, v := range w {
			if !finite64(w[tap : tap+1]) {
				k.inPadding(tap, func(outAt int) { y[outAt] += 0 * v })
			}
		}
	}
}

// inputPlane adds up the gradient of input channel plane%Cin of image plane/Cin from dy and w.
func inputPlane(k *plainConv, i int) {
	n, ci := i/k.Cin, i%k.Cin
	per, outs := k.PerGroup()
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
func weightPlane(k *plainConv, i int) {
	per, outs := k.PerGroup()
	co := i / per
	ci := co/outs*per + i%per
	dw := plane(k.y, i, k.Taps())
	clear(dw)
	for n := range k.N {
		x, dy := plane(k.a, n*k.Cin+ci, k.H*k.W), plane(k.b, n*k.Cout+co, k.oh*k.ow)
		k.eachRow(func(tap, outAt, n, inAt int) {
			dw[tap] += dotRow(dy[outAt:][:n], x[inAt:], k.SW)
		})
		if finite64(dy) {
			continue
		}
		for tap := range dw {
			k.inPadding(tap, func(outAt int) { dw[tap] += 0 * dy[outAt] })
		}
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

// conv64 and its neighbours emit a convolution of float64.
func (c *compiler) conv64(i int) error {
	n := &c.g.Nodes[i]
	s := convShape(n.Args[0].Shape, n.Args[1].Shape, n.Op.(ops.Conv2DOp))
	return c.emitPlain(i, s, s.N*s.Cout, forwardPlane)
}

func (c *compiler) convInputGrad64(i int) error {
	n := &c.g.Nodes[i]
	s := convShape(n.Out[0].Shape, n.Args[1].Shape, n.Op.(ops.Conv2DInputGradOp).Conv())
	return c.emitPlain(i, s, s.N*s.Cin, inputPlane)
}

func (c *compiler) convWeightGrad64(i int) error {
	n := &c.g.Nodes[i]
	s := convShape(n.Args[0].Shape, n.Out[0].Shape, n.Op.(ops.Conv2DWeightGradOp).Conv())
	return c.emitPlain(i, s, s.WeightLen()/s.Taps(), weightPlane)
}

// emitPlain emits one direction of a convolution, whose result has that many planes.
func (c *compiler) emitPlain(i int, s conv.Shape, planes int, do func(k *plainConv, plane int)) error {
	k := &plainConv{Shape: s, planes: planes, do: do}
	k.oh, k.ow = s.Window.Out(s.H, s.W)
	return c.simple(i, c.g.Nodes[i].Op.Name()+" f64", k)
}
