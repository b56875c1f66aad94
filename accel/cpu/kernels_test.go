package cpu

import (
	"reflect"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/ops"
)

// without are the operations that have no kernel, kernels and instructions those of no operation. Which types of operands each takes, at every level,
// TestConformance asks.
func without(registry []ops.Sampled) (ops, strangers []string) {
	known := map[reflect.Type]bool{}
	for _, op := range registry {
		t := reflect.TypeOf(op)
		known[t] = true
		_, kernel := kernels[t]
		if _, instruction := instructions[t]; kernel == instruction { // neither, or both
			ops = append(ops, t.Name())
		}
	}
	for t := range kernels {
		if !known[t] {
			strangers = append(strangers, t.Name())
		}
	}
	for t := range instructions {
		if !known[t] {
			strangers = append(strangers, t.Name())
		}
	}
	return ops, strangers
}

// stranger is an operation that nobody has a kernel for.
type stranger struct{ ops.FillOp }

// TestKernels: each operation of the registry has one kernel or instruction, and there are no others.
func TestKernels(t *testing.T) {
	all := ops.Registry()
	if lacking, strangers := without(all); len(lacking) > 0 || len(strangers) > 0 {
		t.Errorf("%v have no kernel, or two; kernels of unknown operations: %v", lacking, strangers)
	}
	lacking, strangers := without(append(slices.Clone(all[1:]), stranger{}))
	if want := reflect.TypeOf(all[0]).Name(); !slices.Equal(lacking, []string{"stranger"}) || !slices.Equal(strangers, []string{want}) {
		t.Errorf("without a kernel: %v, unknown: %v; want stranger and %s", lacking, strangers, want)
	}
}
