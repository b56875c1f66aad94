package exact_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/cortado-ml/cortado/internal/exact"
)

// TestFMA compares with arbitrary precision where double rounding would show.
func TestFMA(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	double := 0 // cases that FMA in float64 gets wrong
	for range 200_000 {
		a := math.Float32frombits(r.Uint32()>>9<<9&0x807fffff | uint32(100+r.IntN(40))<<23)
		b := math.Float32frombits(r.Uint32()&0x807fffff | uint32(100+r.IntN(40))<<23)
		c := math.Float32frombits(r.Uint32()&0x807fffff | uint32(70+r.IntN(100))<<23)
		if r.IntN(8) == 0 {
			c = -a * b
		}
		x := new(big.Float).SetPrec(400).SetFloat64(float64(a) * float64(b))
		x.Add(x, big.NewFloat(float64(c)))
		want, _ := x.Float32()
		if got := exact.FMA(a, b, c); got != want {
			t.Fatalf("FMA(%b, %b, %b) = %b, want %b", a, b, c, got, want)
		}
		if float32(math.FMA(float64(a), float64(b), float64(c))) != want {
			double++
		}
	}
	if double == 0 {
		t.Error("no case needed rounding to odd: the test tests nothing")
	}
}

// TestFMASpecial checks what is not a number, and what is not finite.
func TestFMASpecial(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ a, b, c, want float32 }{
		{0, inf, 1, nan}, {0, nan, 1, nan}, {1, 1, nan, nan}, {inf, 1, -inf, nan},
		{inf, 2, 3, inf}, {2, 3, -inf, -inf}, {math.MaxFloat32, 2, 0, inf}, {math.MaxFloat32, 2, -math.MaxFloat32, math.MaxFloat32},
	} {
		got := exact.FMA(c.a, c.b, c.c)
		if got != c.want && (got == got || c.want == c.want) {
			t.Errorf("FMA(%g, %g, %g) = %g, want %g", c.a, c.b, c.c, got, c.want)
		}
	}
}
