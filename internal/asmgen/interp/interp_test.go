package interp_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/internal/asmgen/gen"
	"github.com/cortado-ml/cortado/internal/asmgen/interp"
)

// TestFMA compares with arbitrary precision where double rounding would show.
func TestFMA(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	double := 0 // cases that FMA in float64 gets wrong
	for range 300_000 {
		a := math.Float32frombits(r.Uint32()>>9<<9&0x807fffff | uint32(100+r.IntN(40))<<23)
		b := math.Float32frombits(r.Uint32()&0x807fffff | uint32(100+r.IntN(40))<<23)
		c := math.Float32frombits(r.Uint32()&0x807fffff | uint32(70+r.IntN(100))<<23)
		if r.IntN(8) == 0 {
			c = -a * b
		}
		x := new(big.Float).SetPrec(400).SetFloat64(float64(a) * float64(b))
		x.Add(x, big.NewFloat(float64(c)))
		want, _ := x.Float32()
		if got := interp.FMA(a, b, c); got != want {
			t.Fatalf("FMA(%b, %b, %b) = %b, want %b", a, b, c, got, want)
		}
		if float32(math.FMA(float64(a), float64(b), float64(c))) != want {
			double++
		}
	}
	t.Logf("float64 FMA rounded to float32 is wrong %d times", double)
}

// TestFaults plants one error at a time and checks that it is named.
func TestFaults(t *testing.T) {
	for _, isa := range []gen.ISA{gen.AVX2, gen.AVX512} {
		for fault, want := range map[gen.Fault]string{
			gen.NoFault:      "",
			gen.PastEnd:      "outside its",
			gen.WrongMask:    "is not for",
			gen.NotZeroed:    "was never written",
			gen.NoVZeroUpper: "VZEROUPPER is missing",
		} {
			f, err := gen.Build(isa, fault)
			if err != nil {
				t.Fatal(err)
			}
			name := "gemmF32" + isa.Name
			p, err := interp.Load(f, name)
			if err != nil {
				t.Fatal(err)
			}
			const k, m, n, ldc = 5, 2, 3, 40
			var mc interp.Machine
			a := mc.Floats("A", make([]float32, k*isa.MR))
			b := mc.Floats("B", make([]float32, k*isa.NR()))
			c := mc.Region("C", 4*m*ldc)
			for i := range m {
				c.Allow(4*i*ldc, 4*n, true, true)
			}
			err = p.Run(&mc, k, interp.Pointer{Region: a}, 1, isa.MR, interp.Pointer{Region: b}, isa.NR(), interp.Pointer{Region: b}, interp.Pointer{Region: c}, ldc, m, n, true)
			t.Log(err)
			var e *interp.Fault
			switch {
			case fault == gen.NoFault:
				if err != nil {
					t.Error(err)
				}
			case !errors.As(err, &e) || e.Kernel != name || !strings.Contains(e.Why, want):
				t.Errorf("%s: fault %d: got %v, want %q", isa.Name, fault, err, want)
			}
		}
	}
}
