package isa_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
)

func TestNames(t *testing.T) {
	for l := isa.Generic; l <= isa.AMX; l++ {
		if got, err := isa.Parse(l.String()); err != nil || got != l {
			t.Errorf("Parse(%q) = %v, %v", l.String(), got, err)
		}
	}
	if _, err := isa.Parse("sse"); err == nil || !strings.Contains(err.Error(), `no level "sse"`) {
		t.Errorf("Parse of an unknown name: %v", err)
	}
	if got := isa.Level(99).String(); got != "isa.Level(99)" {
		t.Error(got)
	}
}

func TestAvailable(t *testing.T) {
	all := isa.Available()
	if all[0] != isa.Generic || all[len(all)-1] != isa.Detect() || !slices.IsSorted(all) {
		t.Errorf("%v is not ascending from generic to %v", all, isa.Detect())
	}
	if runtime.GOARCH == "arm64" && isa.Detect() != isa.NEON {
		t.Errorf("arm64 has %v", isa.Detect())
	}
	t.Log(all)
}

func TestFromEnv(t *testing.T) {
	for _, c := range []struct {
		arch, env  string
		best, want isa.Level
	}{
		{"", "", isa.AVX2, isa.AVX2},
		{"", "generic", isa.AMX, isa.Generic},
		{"amd64", "avx2", isa.AVX512, isa.AVX2},
		{"amd64", "amx", isa.AVX2, isa.AVX2}, // a cap does not raise
		{"arm64", "neon", isa.NEON, isa.NEON},
	} {
		if c.arch != "" && c.arch != runtime.GOARCH {
			continue
		}
		t.Setenv(isa.Env, c.env)
		if got, err := isa.FromEnv(c.best); err != nil || got != c.want {
			t.Errorf("%s=%q caps %v to %v, %v; want %v", isa.Env, c.env, c.best, got, err, c.want)
		}
	}
	t.Setenv(isa.Env, "avx3")
	if _, err := isa.FromEnv(isa.Generic); err == nil || !strings.Contains(err.Error(), `CORTADO_ISA="avx3" names no level of `+runtime.GOARCH) {
		t.Errorf("unknown name: %v", err)
	}
}
