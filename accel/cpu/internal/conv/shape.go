package conv

import (
	"fmt"
	"math/bits"
)

// Window slides over an image: its size, how far it moves, how many pixels of
// padding surround the image on each side, and how far its taps lie apart (1
// unless it is dilated).
type Window struct {
	KH, KW                   int
	SH, SW                   int
	Top, Bottom, Left, Right int
	DH, DW                   int
}

// Square is a window of k x k pixels with the same stride and padding everywhere.
func Square(k, stride, pad int) Window {
	return Window{k, k, stride, stride, pad, pad, pad, pad, 1, 1}
}

// Taps is the number of pixels of the window.
func (w Window) Taps() int { return w.KH * w.KW }

// Out is the number of positions of the window over an image of that size.
func (w Window) Out(height, width int) (oh, ow int) {
	kh, kw := w.extent()
	return (height+w.Top+w.Bottom-kh)/w.SH + 1, (width+w.Left+w.Right-kw)/w.SW + 1
}

// extent is the number of rows and columns from the first tap to the last.
func (w Window) extent() (height, width int) { return (w.KH-1)*w.DH + 1, (w.KW-1)*w.DW + 1 }

func (w Window) check(height, width int) error {
	kh, kw := w.extent()
	switch {
	case w.KH < 1 || w.KW < 1 || w.SH < 1 || w.SW < 1:
		return fmt.Errorf("conv: window %dx%d with stride %dx%d: all must be positive", w.KH, w.KW, w.SH, w.SW)
	case w.DH < 1 || w.DW < 1:
		return fmt.Errorf("conv: dilation %dx%d: both must be positive", w.DH, w.DW)
	case w.Top < 0 || w.Bottom < 0 || w.Left < 0 || w.Right < 0:
		return fmt.Errorf("conv: padding %d, %d, %d, %d is negative", w.Top, w.Bottom, w.Left, w.Right)
	case height+w.Top+w.Bottom < kh || width+w.Left+w.Right < kw:
		return fmt.Errorf("conv: window %dx%d does not fit into %dx%d pixels and padding", kh, kw, height, width)
	}
	return nil
}

// Shape is a convolution of images [N, Cin, H, W] with weights
// [Cout, Cin/Groups, KH, KW]: each group of output channels sees its group of
// input channels.
type Shape struct {
	N, Cin, H, W, Cout int
	Groups             int
	Window
}

// PerGroup is the number of input and of output channels of a group.
func (s Shape) PerGroup() (in, out int) { return s.Cin / s.Groups, s.Cout / s.Groups }

// WeightLen is the number of weights [Cout, Cin/Groups, KH, KW].
func (s Shape) WeightLen() int { return s.Cout * s.Cin / s.Groups * s.Taps() }

// In is the shape of the input.
func (s Shape) In() Tensor { return Tensor{s.N, s.Cin, s.H, s.W} }

// Out is the shape of the output.
func (s Shape) Out() Tensor {
	oh, ow := s.Window.Out(s.H, s.W)
	return Tensor{s.N, s.Cout, oh, ow}
}

// Flops is the cost of one direction: two for each tap, also of taps in the padding.
func (s Shape) Flops() float64 {
	out := s.Out()
	return 2 * float64(out.Pixels()) * float64(s.Cout) * float64(s.Cin/s.Groups*s.Taps())
}

// String names the shape.
func (s Shape) String() string {
	return fmt.Sprintf("%v->%d g%d k%dx%d s%dx%d p%d,%d,%d,%d d%dx%d", s.In(), s.Cout, s.Groups, s.KH, s.KW, s.SH, s.SW, s.Top, s.Bottom, s.Left, s.Right, s.DH, s.DW)
}

func (s Shape) check() error {
	if err := s.In().check(); err != nil {
		return err
	}
	if err := s.Window.check(s.H, s.W); err != nil {
		return err
	}
	if err := s.Out().check(); err != nil {
		return err
	}
	if s.Cin < 1 || s.Cout < 1 {
		return fmt.Errorf("conv: %v has no channels", s.In())
	}
	if s.Groups < 1 || s.Cin%s.Groups != 0 || s.Cout%s.Groups != 0 {
		return fmt.Errorf("conv: %d and %d channels do not make %d groups", s.Cin, s.Cout, s.Groups)
	}
	hi, lo := bits.Mul64(uint64(s.Cout+Block), uint64(s.Cin+Block))
	if hi > 0 || lo > 1<<31 || uint64(s.Taps()) > 1<<31/max(lo, 1) {
		return fmt.Errorf("conv: %v has too many weights", s)
	}
	return nil
}

// link says that a pixel needs pixel src of the other tensor at tap k. One axis is meant.
type link struct{ k, src int }

// axis lists the links of each of n positions along one axis.
type axis [][]link

// forwardAxis links each of n outputs to the inputs in its window; those in the padding are left out.
func forwardAxis(n, size, kernel, stride, dilation, pad int) axis {
	a := make(axis, n)
	for o := range a {
		for k := range kernel {
			if i := o*stride + k*dilation - pad; i >= 0 && i < size {
				a[o] = append(a[o], link{k, i})
			}
		}
	}
	return a
}

// transpose links each of n inputs to the outputs whose windows it is in.
func (a axis) transpose(n int) axis {
	b := make(axis, n)
	for o, links := range a {
		for _, l := range links {
			b[l.src] = append(b[l.src], link{l.k, o})
		}
	}
	for _, links := range b { // as o grows, the tap shrinks: put the taps in order
		for i, j := 0, len(links)-1; i < j; i, j = i+1, j-1 {
			links[i], links[j] = links[j], links[i]
		}
	}
	return b
}

// classes numbers the sets of taps that occur, and says which one each position has.
func (a axis) classes() (class []int, sets [][]int) {
	class = make([]int, len(a))
	seen := map[string]int{}
	for i, links := range a {
		var taps []int
		for _, l := range links {
			taps = append(taps, l.k)
		}
		key := fmt.Sprint(taps)
		c, ok := seen[key]
		if !ok {
			c = len(sets)
			seen[key] = c
			sets = append(sets, taps)
		}
		class[i] = c
	}
	return class, sets
}

// grid is the product of two axes: what each pixel of one image needs.
type grid struct {
	rows, cols axis
}

// forwardGrid links the outputs of a window to the inputs.
func (w Window) forwardGrid(height, width int) grid {
	oh, ow := w.Out(height, width)
	return grid{forwardAxis(oh, height, w.KH, w.SH, w.DH, w.Top), forwardAxis(ow, width, w.KW, w.SW, w.DW, w.Left)}
}

// transpose links the inputs, height x width, to the outputs.
func (g grid) transpose(height, width int) grid {
	return grid{g.rows.transpose(height), g.cols.transpose(width)}
}
