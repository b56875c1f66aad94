package cpu_test

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// TestSumsOfSlices: gradients of slices are added where the other summand lies, unless somebody else wants that or the sum is an output.
func TestSumsOfSlices(t *testing.T) {
	nan := float32(math.NaN())
	neg := ops.UnaryOp{F: ops.Neg}
	add := ops.BinaryOp{F: ops.Add}
	begin := func() (l *lowered, x, a, b ops.Edge) {
		l = &lowered{}
		x = l.param(array(t, []float32{1, 2, 3, 4, nan, 6, 7, 8, 9, 10, 11, 12}, 3, 4))
		return l, x, l.param(array(t, []float32{100, 200, 300, 400, 500, 600}, 3, 2)), l.param(array(t, []float32{1000, nan, 3000, 4000}, 1, 4))
	}
	columns := ops.SliceGradOp{Axis: 1, Start: 3, Step: -2, Dim: 4}
	row := ops.SliceGradOp{Axis: 0, Start: 1, Step: 1, Dim: 3}
	t.Run("in place", func(t *testing.T) {
		l, x, a, b := begin()
		y := l.node(t, add, l.node(t, neg, x), l.node(t, columns, a))
		y = l.node(t, add, l.node(t, row, b), y)
		l.out(l.node(t, neg, y), -1)
		l.check(t, 0)
	})
	t.Run("to a parameter and an output", func(t *testing.T) {
		l, x, a, b := begin()
		l.out(l.node(t, add, x, l.node(t, columns, a)), -1)
		l.out(l.node(t, add, l.node(t, row, b), l.node(t, row, b)), -1)
		l.check(t, 0)
	})
	t.Run("two slices", func(t *testing.T) {
		l, _, a, b := begin()
		l.out(l.node(t, neg, l.node(t, add, l.node(t, columns, a), l.node(t, row, b))), -1)
		l.check(t, 0)
	})
	t.Run("others read the summand", func(t *testing.T) {
		l, x, a, _ := begin()
		y := l.node(t, ops.ReshapeOp{To: tensor.Of(12)}, l.node(t, neg, x))
		z := l.node(t, ops.ReshapeOp{To: tensor.Of(3, 4)}, y)
		l.out(l.node(t, neg, l.node(t, add, z, l.node(t, columns, a))), -1)
		l.out(l.node(t, neg, y), -1)
		l.check(t, 0)
	})
}

// TestPads: runs that begin and end within the parts of the work, on both sides and neither, of every size.
func TestPads(t *testing.T) {
	var l lowered
	x, small := l.param(noise(1, 7, 41, 90)), l.param(array(t, []uint8{1, 2, 3}, 3))
	for _, o := range []ops.PadOp{{Axis: 0, Lo: 2, Hi: 1, X: ops.F(3)}, {Axis: 1, Lo: 5}, {Axis: 2, Hi: 3, X: ops.F(math.Inf(-1))}, {Axis: 2}} {
		l.out(l.node(t, o, x), -1)
	}
	l.out(l.node(t, ops.PadOp{Lo: 4, Hi: 5, X: ops.F(7)}, small), -1)
	l.check(t, 0)
}
