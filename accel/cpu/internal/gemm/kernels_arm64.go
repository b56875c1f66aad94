package gemm

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

func kernels32(level isa.Level) *kernels[float32] {
	if level == isa.NEON {
		return neon32
	}
	return generic32
}

func kernels64(level isa.Level) *kernels[float64] {
	if level == isa.NEON {
		return neon64
	}
	return generic64
}

var neon32 = &kernels[float32]{
	heights: []int{8, 4, 2, 1},
	widths:  []int{8, 4},
	tiles: [][]tile[float32]{
		{gemm8x2F32NEON, gemm8x1F32NEON},
		{gemm4x2F32NEON, gemm4x1F32NEON},
		{gemm2x2F32NEON, gemm2x1F32NEON},
		{gemm1x2F32NEON, gemm1x1F32NEON},
	},
}

var neon64 = &kernels[float64]{
	heights: []int{8, 4, 2, 1},
	widths:  []int{4, 2},
	tiles: [][]tile[float64]{
		{gemm8x2F64NEON, gemm8x1F64NEON},
		{gemm4x2F64NEON, gemm4x1F64NEON},
		{gemm2x2F64NEON, gemm2x1F64NEON},
		{gemm1x2F64NEON, gemm1x1F64NEON},
	},
}
