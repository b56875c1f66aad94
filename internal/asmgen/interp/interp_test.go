package interp_test

import (
	"errors"
	"fmt"
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
			rows, nr := isa.GemmRows()[0], 2*isa.Lanes
			name := fmt.Sprintf("gemm%dx2F32%s", rows, isa.Name)
			p, err := interp.Load(f, name)
			if err != nil {
				t.Fatal(err)
			}
			const k, n, ldc = 5, 3, 40
			var mc interp.Machine
			a := mc.Floats("A", make([]float32, k*rows))
			b := mc.Floats("B", make([]float32, k*nr))
			c := mc.Region("C", 4*rows*ldc)
			for i := range rows {
				c.Allow(4*i*ldc, 4*n, true, true)
			}
			at := func(r *interp.Region) interp.Pointer { return interp.Pointer{Region: r} }
			err = p.Run(&mc, k, at(a), 1, rows, at(b), nr, at(c), ldc, n, at(c), gen.GemmAdd)
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
