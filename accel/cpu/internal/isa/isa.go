// Package isa names the levels of vector instructions that kernels are written for, and finds those that this processor has.
package isa

import "fmt"

// Level is a set of vector instructions. The levels of one architecture are ordered: each includes the ones before it.
type Level uint8

// The levels. AMX is detected and reported; its kernels come later, so a driver at AMX runs those of AVX512.
const (
	Generic Level = iota // plain Go, on every architecture
	NEON                 // arm64
	AVX2                 // amd64 with AVX2 and FMA
	AVX512               // amd64 with AVX-512 F, BW, DQ and VL
	AMX                  // AVX512 with AMX tiles for bf16
)

var names = [...]string{"generic", "neon", "avx2", "avx512", "amx"}

// String is the name that CORTADO_ISA takes.
func (l Level) String() string {
	if int(l) < len(names) {
		return names[l]
	}
	return fmt.Sprintf("isa.Level(%d)", uint8(l))
}

// Parse is the inverse of String.
func Parse(s string) (Level, error) {
	for i, n := range names {
		if n == s {
			return Level(i), nil
		}
	}
	return Generic, fmt.Errorf("isa: no level %q: there are %q", s, names)
}
