package proof

import (
	"testing"

	"github.com/cortado-ml/cortado/internal/asmgen/gen"
	"github.com/cortado-ml/cortado/internal/asmgen/interp"
)

// TestLimit runs the probes; they have no result.
func TestLimit(t *testing.T) {
	for _, name := range []string{"fma", "fmaLoad"} {
		t.Run(name, func(t *testing.T) {
			atLevels(t, func(t *testing.T, isa gen.ISA) {
				var m interp.Machine
				x := m.Floats("x", make([]float32, isa.Lanes))
				run(t, name, program(t, "limit", isa, name), &m, 3, at(x))
			})
		})
	}
}
