// Command gen writes the assembly and the Go stubs of generated kernels into
// the packages that use them.
//
//	go run ./cmd/gen             # in internal/asmgen: every package
//	go run ./cmd/gen gemm conv   # only these
package main

import (
	"errors"
	"fmt"
	"go/format"
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
		if p.NEON != nil {
			asm, stubs := p.NEON()
			if err := save(p, "neon_arm64", []byte(asm), []byte(stubs)); err != nil {
				log.Fatalf("gen: package %s at NEON: %v", p.Name, err)
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
	cfg := printer.Config{Name: "internal/asmgen", Pkg: p.Name}
	asm, err := printer.NewGoAsm(cfg).Print(file)
	if err != nil {
		return err
	}
	stubs, err := printer.NewStubs(cfg).Print(file)
	if err != nil {
		return err
	}
	return save(p, strings.ToLower(isa.Name)+"_amd64", asm, stubs)
}

// save writes the two files of one package at one level.
func save(p gen.Package, level string, asm, stubs []byte) error {
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return fmt.Errorf("run it in internal/asmgen: %w", err)
	}
	stubs, err := format.Source(stubs)
	if err != nil {
		return err
	}
	dir := filepath.Join(root, filepath.FromSlash(p.Dir))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	base := filepath.Join(dir, "kernels_"+level)
	return errors.Join(os.WriteFile(base+".s", asm, 0o644), os.WriteFile(base+".go", stubs, 0o644))
}
