// Command gen writes the assembly and the Go stubs of a package's kernels into
// the current directory. Run it with go generate.
package main

import (
	"log"
	"os"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/printer"

	"github.com/cortado-ml/cortado/internal/asmgen/gen"
)

func main() {
	pkg := os.Getenv("GOPACKAGE")
	build := map[string]func(gen.ISA, gen.Fault) (*ir.File, error){"gemm": gen.Build, "conv": gen.BuildConv}[pkg]
	cfg := printer.Config{Name: "cmd/gen", Pkg: pkg}
	for _, isa := range []gen.ISA{gen.AVX2, gen.AVX512} {
		file, err := build(isa, gen.NoFault)
		check(err)
		check(gen.Lower(file))
		base := "kernels_" + strings.ToLower(isa.Name) + "_amd64"
		for ext, p := range map[string]printer.Printer{".s": printer.NewGoAsm(cfg), ".go": printer.NewStubs(cfg)} {
			text, err := p.Print(file)
			check(err)
			check(os.WriteFile(base+ext, text, 0o644))
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
