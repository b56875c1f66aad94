package isa

import (
	"sync"

	"github.com/klauspost/cpuid/v2"
)

var detected = sync.OnceValue(func() Level {
	has := cpuid.CPU.Supports
	switch {
	case !has(cpuid.AVX2, cpuid.FMA3):
		return Generic
	case !has(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL):
		return AVX2
	case !has(cpuid.AMXTILE, cpuid.AMXBF16) || !allowTiles():
		return AVX512
	}
	return AMX
})
