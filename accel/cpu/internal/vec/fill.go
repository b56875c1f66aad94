package vec

import (
	"unsafe"

	"github.com/cortado-ml/cortado/tensor"
)

// axis is one axis of a chain's shape, outermost first.
type axis struct {
	n      int
	stride []int // of each input
}

// coalesce drops axes of one element, and joins neighbours that all inputs walk through as if they were one.
func coalesce(shape tensor.Shape, inputs []Input) []axis {
	var axes []axis
	for i := range shape.Rank() {
		if shape.Dim(i) == 1 {
			continue
		}
		a := axis{n: shape.Dim(i)}
		for _, in := range inputs {
			a.stride = append(a.stride, in.Strides[i])
		}
		if len(axes) > 0 {
			last, joins := &axes[len(axes)-1], true
			for j := range inputs {
				joins = joins && last.stride[j] == a.n*a.stride[j]
			}
			if joins {
				last.n *= a.n
				last.stride = a.stride
				continue
			}
		}
		axes = append(axes, a)
	}
	return axes
}

// walk is how a broadcast operand lies in memory, in elements.
type walk struct {
	n, stride []int // of each axis, outermost first
	size      int   // of an element
}

// walkOf is input j's walk.
func walkOf(axes []axis, j, size int) walk {
	w := walk{size: size}
	for _, a := range axes {
		w.n, w.stride = append(w.n, a.n), append(w.stride, a.stride[j])
	}
	return w
}

// dense reports whether element i of the chain is element i of the operand.
func (w walk) dense() bool {
	return len(w.n) == 0 || len(w.n) == 1 && w.stride[0] == 1
}

// uniform reports whether all elements of the chain meet the same one.
func (w walk) uniform() bool {
	for _, s := range w.stride {
		if s != 0 {
			return false
		}
	}
	return true
}

// period returns after how many elements the operand repeats, if within a period it is dense; else 0.
func (w walk) period() int {
	if len(w.n) == 2 && w.stride[0] == 0 && w.stride[1] == 1 {
		return w.n[1]
	}
	return 0
}

// fill stores elements start to start+n-1 of the chain, densely. Elements are moved as unsigned integers of their size.
func (w walk) fill(dst, src unsafe.Pointer, start, n int) {
	switch w.size {
	case 1:
		fill(w, (*uint8)(dst), (*uint8)(src), start, n)
	case 2:
		fill(w, (*uint16)(dst), (*uint16)(src), start, n)
	case 4:
		fill(w, (*uint32)(dst), (*uint32)(src), start, n)
	default:
		fill(w, (*uint64)(dst), (*uint64)(src), start, n)
	}
}

func fill[T any](w walk, dst, src *T, start, n int) {
	inner := len(w.n) - 1
	var index [tensor.MaxRank]int
	from := 0
	for i, rest := inner, start; i >= 0; i-- {
		index[i] = rest % w.n[i]
		rest /= w.n[i]
		from += index[i] * w.stride[i]
	}
	d := unsafe.Slice(dst, n)
	for {
		run := min(len(d), w.n[inner]-index[inner])
		copyRun(d[:run], at(src, from), w.stride[inner])
		if d = d[run:]; len(d) == 0 {
			return
		}
		// On to the start of the next run.
		from -= index[inner] * w.stride[inner]
		index[inner] = 0
		i := inner - 1
		for ; index[i] == w.n[i]-1; i-- {
			from -= index[i] * w.stride[i]
			index[i] = 0
		}
		index[i]++
		from += w.stride[i]
	}
}

// copyRun fills d with values that are stride apart.
func copyRun[T any](d []T, src *T, stride int) {
	switch stride {
	case 0:
		x := *src
		for i := range d {
			d[i] = x
		}
	case 1:
		copy(d, unsafe.Slice(src, len(d)))
	default:
		for i := range d {
			d[i] = *at(src, i*stride)
		}
	}
}
