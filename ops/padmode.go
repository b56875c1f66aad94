package ops

import (
	"fmt"
	"math"
)

// PadMode says what lies beyond the ends of an axis.
type PadMode uint8

// The modes of PadWith, for the elements 1 2 3 with two more at each end.
const (
	Reflect   PadMode = iota // 3 2 1 2 3 2 1
	Replicate                // 1 1 1 2 3 3 3
	Circular                 // 2 3 1 2 3 1 2
)

// PadWith puts lo elements before and hi elements behind x along an axis, counted from the end if negative. A negative number cuts that
// many elements off: before the other end is padded if the mode is Circular, else after that. Reflect gives at most one element less than there are, Circular at most as many as there are, Replicate wants one.
//
//go:noinline
func (x Value) PadWith(mode PadMode, axis, lo, hi int) Value {
	a := axisOf(axis, x.Rank())
	o := PadOp{Axis: a, Lo: lo, Hi: hi}
	if a < 0 || int(a) >= x.Rank() {
		return x.refuse(o, noAxis(axis, x.Rank()))
	}
	cutLo, cutHi := max(0, -lo), max(0, -hi)
	lo, hi = max(0, lo), max(0, hi)
	if mode == Circular {
		x = x.crop(a, cutLo, cutHi)
		cutLo, cutHi = 0, 0
	}
	n := x.Dim(int(a))
	limit := [...]int{Reflect: n - 1, Replicate: math.MaxInt, Circular: n}
	switch {
	case int(mode) >= len(limit):
		return x.refuse(o, fmt.Sprintf("there is no padding mode %d", mode))
	case lo == 0 && hi == 0:
		return x.crop(a, cutLo, cutHi)
	case max(lo, hi) > limit[mode] || n == 0:
		return x.refuse(o, fmt.Sprintf("padding %d and %d: an axis of %d gives no more than %d", lo, hi, n, min(limit[mode], n*limit[mode])))
	}
	var before, behind Value
	switch mode {
	case Reflect:
		back := func(start, size int) Value { return Apply(SliceOp{Axis: a, Start: start, Size: size, Step: -1}, x) }
		before, behind = back(lo, lo), back(max(0, n-2), hi)
	case Replicate:
		before, behind = x.Narrow(int(a), 0, 1).repeat(int(a), lo, true), x.Narrow(int(a), n-1, 1).repeat(int(a), hi, true)
	case Circular:
		before, behind = x.Narrow(int(a), n-lo, lo), x.Narrow(int(a), 0, hi)
	}
	return Concat(int(a), before, x, behind).crop(a, cutLo, cutHi)
}

// crop cuts elements off both ends.
func (x Value) crop(axis int8, lo, hi int) Value {
	if lo == 0 && hi == 0 {
		return x
	}
	return Apply(SliceOp{Axis: axis, Start: lo, Size: x.Dim(int(axis)) - lo - hi, Step: 1}, x)
}
