package gen

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/reg"
)

// Package is a Go package whose kernels are generated.
type Package struct {
	Name    string
	Dir     string     // relative to the repository's root
	kernels func(*gen) // describes all kernels of the package for one instruction set

	// NEON prints the assembly and the stubs of those for arm64, if it has any.
	NEON func() (asm, stubs string)
}

// Packages lists every package with generated kernels.
var Packages = []Package{
	{"gemm", "accel/cpu/internal/gemm", (*gen).gemmKernels, gemmNEON},
	{"limit", "accel/cpu/internal/limit", (*gen).limitKernels, limitNEON},
	{"conv", "accel/cpu/internal/conv", (*gen).convKernels, convNEON},
	{"vec", "accel/cpu/internal/vec", (*gen).vecKernels, vecNEON},
}

// Find returns the package of that name.
func Find(name string) (Package, error) {
	for _, p := range Packages {
		if p.Name == name {
			return p, nil
		}
	}
	return Package{}, fmt.Errorf("gen: no package %q", name)
}

// Fault plants one deliberate error, to test what the interpreter catches.
type Fault int

// The faults.
const (
	NoFault      Fault = iota
	PastEnd            // the loop of a matmul tile reads one step too many
	WrongMask          // the mask of a tail has one lane too many
	NotZeroed          // the last accumulator keeps what its register held
	NoVZeroUpper       // the upper halves stay dirty
)

// Build returns the compiled file of the package's kernels for one instruction
// set. Its registers are physical.
func (p Package) Build(a ISA, f Fault) (*ir.File, error) {
	return compile(a, f, p.kernels)
}

func compile(a ISA, f Fault, kernels func(*gen)) (*ir.File, error) {
	g := &gen{Context: build.NewContext(), ISA: a, fault: f}
	kernels(g)
	file, err := g.Result()
	if err != nil {
		return nil, fmt.Errorf("gen: %w", err)
	}
	if err := pass.Compile.Execute(file); err != nil {
		return nil, fmt.Errorf("gen: %w", err)
	}
	return file, a.checkRegisters(file)
}

// checkRegisters rejects what the level does not have. avo does not: under
// pressure its allocator gives a YMM of an AVX2 kernel number 16 or higher,
// which is AVX-512 code, and still prints "Requires: AVX".
func (a ISA) checkRegisters(f *ir.File) error {
	for _, fn := range f.Functions() {
		for _, i := range fn.Instructions() {
			for _, r := range i.Registers() {
				p, ok := r.(reg.Physical)
				if ok && !a.Masks && (p.Kind() == reg.KindOpmask || p.Kind() == reg.KindVector && (p.PhysicalIndex() > 15 || p.Size() > 32)) {
					return fmt.Errorf("gen: %s: %s uses %s, which is not %s", fn.Name, i.Opcode, r.Asm(), a.Name)
				}
			}
		}
	}
	return nil
}

// gen carries the avo context of one package at one instruction set.
type gen struct {
	*build.Context
	ISA
	fault     Fault
	constants map[uint32]Mem // by the bits of the value
	masks     *Mem           // window of AVX2 masks
	vectors   map[string]Mem // by name
}

// function starts a kernel. Every kernel is a leaf without a frame.
func (g *gen) function(name, sig, doc string) {
	g.Function(name + g.Name)
	g.Attributes(attr.NOSPLIT)
	g.SignatureExpr(sig)
	g.Doc(name + g.Name + " " + doc)
	g.Pragma("noescape")
}

// ret ends a kernel: dirty upper halves would slow down every SSE instruction of the Go code that follows.
func (g *gen) ret() {
	if g.fault != NoVZeroUpper {
		g.VZEROUPPER()
	}
	g.RET()
}

// arg loads an integer or pointer argument.
func (g *gen) arg(name string) reg.GPVirtual {
	r := g.GP64()
	g.Load(g.Param(name), r)
	return r
}

// bytes loads an argument that counts float32 values, as bytes.
func (g *gen) bytes(name string) reg.GPVirtual {
	r := g.arg(name)
	g.SHLQ(U8(2), r)
	return r
}

// pcalign starts the next instruction on a multiple of n bytes. avo has no
// PCALIGN, so the instruction is built by hand.
func (g *gen) pcalign(n uint64) {
	g.Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []Op{U8(n)}})
}
