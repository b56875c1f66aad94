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

// start returns where a slice starts; that of an argument that is left out is nil.
func start[T any](s []T) *T {
	if len(s) == 0 {
		return nil
	}
	return &s[0]
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
