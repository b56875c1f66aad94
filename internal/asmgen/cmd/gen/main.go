// Command gen writes the assembly and the Go stubs of generated kernels into
// the packages that use them.
//
//	go run ./cmd/gen             # in internal/asmgen: every package
//	go run ./cmd/gen gemm conv   # only these
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/mmcloughlin/avo/printer"

	"github.com/cortado-ml/cortado/internal/asmgen/gen"
)

// root is the repository, from the module's folder, in which the command runs.
const root = "../.."

func main() {
	log.SetFlags(0)
	packages := gen.Packages
	if names := os.Args[1:]; len(names) > 0 {
		packages = nil
		for _, name := range names {
			p, err := gen.Find(name)
			if err != nil {
				log.Fatal(err)
			}
			packages = append(packages, p)
		}
	}
	for _, p := range packages {
		for _, isa := range gen.ISAs {
			if err := write(p, isa); err != nil {
				log.Fatalf("gen: package %s at %s: %v", p.Name, isa.Name, err)
			}
		}
	}
}

// write prints one package's kernels for one instruction set.
func write(p gen.Package, isa gen.ISA) error {
	file, err := p.Build(isa, gen.NoFault)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return fmt.Errorf("run it in internal/asmgen: %w", err)
	}
	dir := filepath.Join(root, filepath.FromSlash(p.Dir))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cfg := printer.Config{Name: "internal/asmgen", Pkg: p.Name}
	base := filepath.Join(dir, "kernels_"+strings.ToLower(isa.Name)+"_amd64")
	for ext, print := range map[string]printer.Printer{".s": printer.NewGoAsm(cfg), ".go": printer.NewStubs(cfg)} {
		text, err := print.Print(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(base+ext, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
