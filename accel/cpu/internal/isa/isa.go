package isa

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

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
	return Generic, fmt.Errorf("isa: no level %q: there are %s", s, strings.Join(names[:], ", "))
}

// levels returns the levels of this program's architecture, ascending.
func levels() []Level {
	switch runtime.GOARCH {
	case "amd64":
		return []Level{Generic, AVX2, AVX512, AMX}
	case "arm64":
		return []Level{Generic, NEON}
	}
	return []Level{Generic}
}

// Detect returns the best level of this processor that its operating system lets a program use.
func Detect() Level { return detected() }

// Available returns all levels of this processor, ascending from Generic to Detect.
func Available() []Level {
	all := levels()
	for i, l := range all {
		if l == Detect() {
			return all[:i+1]
		}
	}
	return all[:1]
}

// Env is the environment variable that caps the level.
const Env = "CORTADO_ISA"

// FromEnv returns best, or the level that the environment variable CORTADO_ISA
// names if that is lower: a cap never raises the level. A name that is no level
// of this architecture is an error.
func FromEnv(best Level) (Level, error) {
	s, ok := os.LookupEnv(Env)
	if !ok || s == "" {
		return best, nil
	}
	var here []string
	for _, l := range levels() {
		if l.String() == s {
			return min(l, best), nil
		}
		here = append(here, l.String())
	}
	return Generic, fmt.Errorf("isa: %s=%q names no level of %s: there are %s", Env, s, runtime.GOARCH, strings.Join(here, ", "))
}
