package ops

import (
	"fmt"
	"math"
	"testing"
)

// TestPoolAgainstPyTorch has overlapping, padded windows. The figures are PyTorch's max_pool2d and avg_pool2d with (3, 2, 1).
func TestPoolAgainstPyTorch(t *testing.T) {
	x, p := ramp(1, 1, 1, 5, 6), Pool{Size: 3, Stride: 2, Padding: 1}
	largest := func(in []Value) Value { return MaxPool2D(in[0], p) }
	check(t, "max", values(t, largest, x),
		0.6719865074853004, 0.9637825749859301, 0.9637825749859301, 0.7408702149825679, 0.7408702149825679, 0.8523263949842494,
		0.9212101024815169, 0.7408702149825679, 0.6294140349808828)
	check(t, "max gradient", gradients(t, 3, largest, x)[0],
		0, 0, 0, 0.2583825474460326, 0, 0, 0.2750893074733316, 0, 0, 0, 0, 0.4554291949722806, 0, 0, 0, 0, 0, 0, 0,
		0.13021960741705207, 0, 0, 0, 0, -0.30850282752792957, 0, 0, 0.16363312747164827, 0, 0)
	mean := func(in []Value) Value { return AvgPool2D(in[0], p) }
	check(t, "average", values(t, mean, x),
		0.03636291721592243, 0.06839013110145123, 0.1609252122122823, 0.026507796378178326, -0.10613633918304781, -0.07844482862791304,
		0.1471289594364629, 0.012316972210039504, -0.11737016890135304)
	check(t, "average gradient", gradients(t, 3, mean, x)[0],
		0.030565478608147956, -0.02375037861706078, -0.054315857225208736, 0.02870917193844806, 0.0830250291636568, 0.0830250291636568,
		0.028709171938448068, -0.11234432778981723, -0.1410534997282653, -0.007425226678799551, 0.13362827304946576, 0.13362827304946576,
		-0.001856306669699887, -0.08859394917275645, -0.08673764250305657, -0.03613439861724761, 0.05060324388580896, 0.05060324388580896,
		-0.03613439861724762, -0.019809246678986384, 0.01632515193826123, 0.0851098544320311, 0.06878470249376988, 0.06878470249376988,
		-0.03427809194754773, 0.06878470249377007, 0.1030627944413178, 0.12124425304927872, 0.01818145860796092, 0.01818145860796092)
	inside := func(in []Value) Value {
		w := p.window()
		return Apply(AvgPool2DOp{Size: w.size, Stride: w.stride, Pad: w.pad}, in[0])
	}
	check(t, "average of what is there", values(t, inside, x),
		0.08181656373582546, 0.10258519665217684, 0.2413878183184234, 0.03976169456726749, -0.10613633918304781, -0.07844482862791304,
		0.3310401587320415, 0.018475458315059257, -0.17605525335202957)
}

// TestMaxPoolKeepsNaN wherever it stands in the window, and however long the row is; its gradient goes there.
func TestMaxPoolKeepsNaN(t *testing.T) {
	for _, width := range []int{2, 8, 34} {
		for i := range 2 * width {
			x := ramp(1, 1, 1, 2, width)
			x.Set(i, math.NaN())
			f := func(in []Value) Value { return MaxPool2D(in[0], Pool{Size: 2}) }
			at := i % width / 2
			if y := values(t, f, x); y.At(at) == y.At(at) {
				t.Errorf("width %d: NaN at %d is lost: %v", width, i, y)
			}
			if g := gradients(t, 2, f, x)[0]; g.At(i) != ramp(2, width/2).At(at) {
				t.Errorf("width %d: gradient at the NaN at %d is %v", width, i, g.At(i))
			}
		}
	}
}

// TestMaxPoolWinner: the first of equal maxima wins, also where all are -inf, and never the padding.
func TestMaxPoolWinner(t *testing.T) {
	r := NewRecorder()
	inf := math.Inf(-1)
	y := MaxPool2D(inputs(r, farr(d(1, 2, 2, 2), 1, 1, 1, 1, inf, inf, inf, inf))[0], Pool{Size: 2, Stride: 1, Padding: 1})
	check(t, "index", eval(t, r, y.Output(1))[0], 0, 0, 1, 0, 0, 1, 2, 2, 3, 0, 0, 1, 0, 0, 1, 2, 2, 3)
}

// TestPoolDefaults: the stride is the window.
func TestPoolDefaults(t *testing.T) {
	f := func(in []Value) Value { return MaxPool2D(in[0], Pool{Size: 2}) }
	check(t, "windows side by side", values(t, f, farr(d(1, 1, 2, 4), 1, 2, 3, 4, 5, 6, 7, 8)), 6, 8)
	refused(t, "window [0 0] with stride [0 0]: both are at least 1", func(in []Value) Value { return MaxPool2D(in[0], Pool{}) }, ramp(1, 1, 1, 2, 2))
	for pad := 2; pad < 4; pad++ {
		words := fmt.Sprintf("padding [%d %d %d %d] (top, bottom, left, right) must be less than the window [2 2]", pad, pad, pad, pad)
		refused(t, words, func(in []Value) Value { return AvgPool2D(in[0], Pool{Size: 2, Padding: pad}) }, ramp(1, 1, 1, 2, 2))
	}
}

// TestDilatedMaxPool: a window takes every other pixel; figures by hand.
func TestDilatedMaxPool(t *testing.T) {
	x := farr(d(1, 1, 3, 5), 1, 9, 3, 4, 5, 2, 8, 7, 6, 0, 3, 1, 4, 2, 6)
	o := MaxPool2DOp{Size: [2]int{2, 2}, Stride: [2]int{1, 1}}
	f := func(o MaxPool2DOp, dilation [2]int, ceil bool) func(in []Value) Value {
		return func(in []Value) Value { return DilatedMaxPool(in[0], o, dilation, ceil) }
	}
	check(t, "both axes", values(t, f(o, [2]int{2, 2}, false), x), 4, 9, 6)
	check(t, "columns", values(t, f(o, [2]int{1, 3}, false), x), 6, 9, 6, 8)
	check(t, "dense", values(t, f(o, [2]int{1, 1}, false), x), 9, 9, 7, 6, 8, 8, 7, 6)
	check(t, "gradient", gradients(t, 3, f(o, [2]int{2, 2}, false), x)[0], 0, ramp(3, 3).At(1), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ramp(3, 3).At(0), 0, ramp(3, 3).At(2))
	o.Stride, o.Pad = [2]int{2, 2}, [4]int{1, 1, 1, 1}
	check(t, "padded", values(t, f(o, [2]int{2, 2}, false), x), 8, 8, 6, 8, 8, 6)
	o.Stride = [2]int{3, 3}
	check(t, "floor", values(t, f(o, [2]int{2, 2}, false), x), 8, 7)
	check(t, "ceil", values(t, f(o, [2]int{2, 2}, true), x), 8, 7, 1, 6)
	refused(t, "wants images [n, channels, height, width] and dilations of 1 and more", f(o, [2]int{0, 1}, false), x)
	refused(t, "is larger than the padded plane", f(o, [2]int{9, 1}, false), x)
}
