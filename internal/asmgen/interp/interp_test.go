package interp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/internal/asmgen/gen"
	"github.com/cortado-ml/cortado/internal/asmgen/interp"
)

// TestFaults plants one error at a time and checks that it is named.
func TestFaults(t *testing.T) {
	gemm, err := gen.Find("gemm")
	if err != nil {
		t.Fatal(err)
	}
	for _, isa := range gen.ISAs {
		for fault, want := range map[gen.Fault]string{
			gen.NoFault:      "",
			gen.PastEnd:      "outside its",
			gen.WrongMask:    "is not for",
			gen.NotZeroed:    "was never written",
			gen.NoVZeroUpper: "VZEROUPPER is missing",
		} {
			f, err := gemm.Build(isa, fault)
			if err != nil {
				t.Fatal(err)
			}
			name := "gemmF32" + isa.Name
			p, err := interp.Load(f, name)
			if err != nil {
				t.Fatal(err)
			}
			mr, nv := isa.GemmTile()
			nr := nv * isa.Lanes
			const k, m, n, ldc = 5, 2, 3, 40
			var mc interp.Machine
			a := mc.Floats("A", make([]float32, k*mr))
			b := mc.Floats("B", make([]float32, k*nr))
			c := mc.Region("C", 4*m*ldc)
			for i := range m {
				c.Allow(4*i*ldc, 4*n, true, true)
			}
			err = p.Run(&mc, k, interp.Pointer{Region: a}, 1, mr, interp.Pointer{Region: b}, nr, interp.Pointer{Region: b}, interp.Pointer{Region: c}, ldc, m, n, true)
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
