package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/internal/exact"
)

// guarded returns a copy of x, right before memory that faults where the system can do that.
func guarded[T Float](t *testing.T, x []T) []T {
	if len(x) == 0 {
		return nil
	}
	g := guardedMemory[T](t, len(x))
	copy(g, x)
	return g
}

// TestTiles runs each tile of the processor's levels, in each mode, for each number
// of columns, and compares all bits with package exact.
func TestTiles(t *testing.T) {
	for _, level := range isa.Available()[1:] {
		t.Run(level.String(), func(t *testing.T) {
			tiles[float32](t, level)
			tiles[float64](t, level)
		})
	}
}

func tiles[T Float](t *testing.T, level isa.Level) {
	r := rand.New(rand.NewPCG(1, 2))
	kern := kernelsOf[T](level)
	// Where operands end at memory that faults, a size is made once.
	memory := map[string][]T{}
	place := func(name string, x []T) []T {
		key := fmt.Sprint(name, len(x))
		if memory[key] == nil {
			memory[key] = guarded(t, x)
		}
		copy(memory[key], x)
		return memory[key]
	}
	for hi, rows := range kern.heights {
		for wi, nr := range kern.widths {
			layouts := []struct{ aRow, aStep, bStep int }{{1, rows, nr}, {11, 1, nr + 5}, {1, rows + 3, nr + 1}}
			for n := 1; n <= nr; n++ {
				for mode := range 8 {
					l := layouts[(n+mode)%len(layouts)]
					k := []int{0, 1, 3, 4, 9}[(n+mode)%5]
					ldc := nr + 7
					random := func(n int) []T {
						x := random[T](r, max(n, 1))
						if r.IntN(4) == 0 {
							x[r.IntN(len(x))] = T([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)])
						}
						return x
					}
					a := place("a", random((rows-1)*l.aRow+(k-1)*l.aStep+1))
					b := place("b", random((k-1)*l.bStep+nr))
					bias := place("bias", random(n))
					c := place("c", random((rows-1)*ldc+n))
					want := append([]T(nil), c...)
					exact.Gemm(k, a, l.aRow, l.aStep, b, l.bStep, want, ldc, rows, n, bias, mode)
					kern.tiles[hi][wi](k, &a[0], l.aRow, l.aStep, &b[0], l.bStep, &c[0], ldc, n, &bias[0], mode)
					for i := range c {
						if math.Float64bits(float64(c[i])) != math.Float64bits(float64(want[i])) && (c[i] == c[i] || want[i] == want[i]) {
							t.Fatalf("%T tile %dx%d, n %d, k %d, mode %d: value %d is %g, want %g", c[i], rows, nr, n, k, mode, i, c[i], want[i])
						}
					}
				}
			}
		}
	}
}
