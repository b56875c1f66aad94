package proof

import (
	"testing"

	"github.com/cortado-ml/cortado/internal/asmgen/gen"
	"github.com/cortado-ml/cortado/internal/asmgen/interp"
	"github.com/cortado-ml/cortado/internal/exact"
)

// TestLimitFMA runs the probes that have no result.
func TestLimitFMA(t *testing.T) {
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

func TestLimitMemory(t *testing.T) {
	for name, f := range map[string]func(b, c float32) float32{
		"map": func(b, c float32) float32 { return b * b }, "triad": func(b, c float32) float32 { return exact.FMA(b, b, c) },
	} {
		for _, stream := range []string{"", "Stream"} {
			t.Run(name+stream, func(t *testing.T) {
				atLevels(t, func(t *testing.T, isa gen.ISA) {
					const turns = 3
					n := turns * 2 * isa.Lanes
					b, c, want := make([]float32, n), make([]float32, n), make([]float32, n)
					for i := range want {
						b[i], c[i] = float32(i)+0.1, 1/float32(i+3)
						want[i] = f(b[i], c[i])
					}
					var m interp.Machine
					a := m.Region("a", 4*n)
					a.Allow(0, 4*n, false, true)
					run(t, name, program(t, "limit", isa, name+stream), &m, turns, at(a), at(m.Floats("b", b)), at(m.Floats("c", c)))
					equal(t, name, a.Floats(), want)
				})
			})
		}
	}
}
