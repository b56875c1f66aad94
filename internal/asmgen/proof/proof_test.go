package proof

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/mmcloughlin/avo/ir"

	"github.com/cortado-ml/cortado/internal/asmgen/gen"
	"github.com/cortado-ml/cortado/internal/asmgen/interp"
)

// files holds what has been built, by package and level.
var files sync.Map

func build(t *testing.T, pkg string, isa gen.ISA) *ir.File {
	t.Helper()
	key := pkg + "/" + isa.Name
	if f, ok := files.Load(key); ok {
		return f.(*ir.File)
	}
	p, err := gen.Find(pkg)
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.Build(isa, gen.NoFault)
	if err != nil {
		t.Fatal(err)
	}
	files.Store(key, f)
	return f
}

// program loads the kernel whose name is name and the level's suffix. When the
// test has passed, every instruction must have been executed.
func program(t *testing.T, pkg string, isa gen.ISA, name string) *interp.Program {
	t.Helper()
	p, err := interp.Load(build(t, pkg, isa), name+isa.Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for i, c := range p.Covered {
			if !c && !t.Failed() {
				t.Errorf("%s: instruction %d (%s) was never executed", p.Name, i, p.Text(i))
			}
		}
	})
	return p
}

// run executes the program and checks that it wrote all that it may write.
func run(t *testing.T, what string, p *interp.Program, m *interp.Machine, args ...any) {
	t.Helper()
	if err := p.Run(m, args...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for _, r := range m.Regions() {
		if i := r.Missed(); i >= 0 {
			t.Fatalf("%s: %s: byte %d of %s was not written", what, p.Name, i, r.Name)
		}
	}
}

// at is a pointer to the start of a region.
func at(r *interp.Region) interp.Pointer { return interp.Pointer{Region: r} }

// output adds a region of values that hold x; nothing is allowed yet.
func output(m *interp.Machine, name string, x []float32) *interp.Region {
	r := m.Region(name, 4*len(x))
	for i, v := range x {
		binary.LittleEndian.PutUint32(r.Data[4*i:], math.Float32bits(v))
	}
	return r
}

// equal compares all bits, but those of a NaN.
func equal(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		g, w := math.Float32bits(got[i]), math.Float32bits(want[i])
		if g != w && !(got[i] != got[i] && want[i] != want[i]) {
			t.Fatalf("%s: value %d is %g (%08x), want %g (%08x)", what, i, got[i], g, want[i], w)
		}
	}
}

// random returns n values between -0.5 and 0.5.
func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = r.Float32() - 0.5
	}
	return x
}

// atLevels runs the test for every instruction set.
func atLevels(t *testing.T, f func(t *testing.T, isa gen.ISA)) {
	for _, isa := range gen.ISAs {
		t.Run(isa.Name, func(t *testing.T) { f(t, isa) })
	}
}
