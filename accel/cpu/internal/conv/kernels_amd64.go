package conv

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

// override puts the assembly of a level in place.
func override(k *kernels, level isa.Level) {
	switch {
	case level >= isa.AVX512:
		overrideAVX512(k)
	case level >= isa.AVX2:
		overrideAVX2(k)
	}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
