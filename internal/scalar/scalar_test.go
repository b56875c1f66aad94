package scalar

import (
	"math"
	"testing"
)

var nan, inf = math.NaN(), math.Inf(1)

// TestFunctions compares with values computed in higher precision, and with limits.
func TestFunctions(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(float64) float64
		x, y float64
	}{
		{"sigmoid", Sigmoid, -40, 4.248354255291589e-18},
		{"sigmoid", Sigmoid, -800, 0},
		{"sigmoid", Sigmoid, 800, 1},
		{"log", Log, 5e-324, -744.4400719213812},
		{"rsqrt", Rsqrt, 4, 0.5},
		{"sign", Sign, -3, -1},
		{"sign", Sign, 1e-320, 1},
		{"sign", Sign, 0, 0},
		{"softplus", Softplus, -40, 4.248354255291589e-18},
		{"softplus", Softplus, 800, 800},
		{"softplus", Softplus, -inf, 0},
		{"silu", SiLU, 1, 0.7310585786300049},
		{"silu", SiLU, -inf, 0},
		{"silu", SiLU, inf, inf},
		{"silu gradient", SiLUGrad, -inf, 0},
		{"silu gradient", SiLUGrad, inf, 1},
		{"silu gradient", SiLUGrad, 0, 0.5},
		{"gelu", GELU, -4, -1.2668496733247586e-4},
		{"gelu", GELU, -5, -1.433257859e-6},
		{"gelu", GELU, -6, -5.9195258628e-9},
		{"gelu", GELU, -8, -4.976768e-15},
		{"gelu", GELU, -10, -7.619853e-23},
		{"gelu", GELU, -inf, 0},
		{"gelu", GELU, inf, inf},
		{"gelu gradient", GELUGrad, -inf, 0},
		{"gelu gradient", GELUGrad, inf, 1},
		{"gelu gradient", GELUGrad, 0, 0.5},
		{"gelu tanh", GELUTanh, -6, -8.439647e-11},
		{"gelu tanh", GELUTanh, -inf, 0},
		{"gelu tanh", GELUTanh, inf, inf},
		{"gelu tanh", GELUTanh, -1e300, 0},
		{"gelu tanh gradient", GELUTanhGrad, -inf, 0},
		{"gelu tanh gradient", GELUTanhGrad, inf, 1},
		{"gelu tanh gradient", GELUTanhGrad, 1e200, 1},
		{"gelu tanh gradient", GELUTanhGrad, 0, 0.5},
	} {
		if y := c.f(c.x); !(y == c.y || math.Abs(y-c.y) <= 1e-6*math.Abs(c.y)) {
			t.Errorf("%s(%v) = %v, want %v", c.name, c.x, y, c.y)
		}
		if y := c.f(nan); !math.IsNaN(y) {
			t.Errorf("%s(NaN) = %v", c.name, y)
		}
	}
}

// TestDivision has every pair of signs, and quotients that rounding would lift over the next whole number.
func TestDivision(t *testing.T) {
	for _, c := range []struct{ x, y, q, r float64 }{
		{7, 2, 3, 1}, {-7, 2, -4, 1}, {7, -2, -4, -1}, {-7, -2, 3, -1}, {6, 3, 2, 0}, {-6, 3, -2, 0},
		{1, 0.1, 9, 1 - 9*0.1}, {0, 3, 0, 0}, {-1e-320, 1e10, -1, 1e10}, {-1, inf, -1, inf}, {1, inf, 0, 1},
		{1, 0, inf, nan}, {0, 0, nan, nan}, {nan, 1, nan, nan}, {1, nan, nan, nan}, {inf, 2, inf, nan},
	} {
		if q := FloorDiv(c.x, c.y); q != c.q && !(q != q && c.q != c.q) {
			t.Errorf("floor(%v / %v) = %v, want %v", c.x, c.y, q, c.q)
		}
		if r := Rem(c.x, c.y); !(math.Abs(r-c.r) < 1e-15 || r == c.r || r != r && c.r != c.r) {
			t.Errorf("%v mod %v = %v, want %v", c.x, c.y, r, c.r)
		}
	}
	for _, c := range [][4]int64{
		{7, 2, 3, 1}, {-7, 2, -4, 1}, {7, -2, -4, -1}, {-7, -2, 3, -1}, {5, 0, 0, 0}, {math.MinInt64, -1, math.MinInt64, 0}, {-6, 3, -2, 0},
	} {
		if q, r := IntFloorDiv(c[0], c[1]), IntRem(c[0], c[1]); q != c[2] || r != c[3] {
			t.Errorf("%d by %d is %d and %d, want %d and %d", c[0], c[1], q, r, c[2], c[3])
		}
	}
}
