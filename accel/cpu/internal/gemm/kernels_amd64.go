package gemm

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

func kernels32(level isa.Level) *kernels[float32] {
	switch {
	case level >= isa.AVX512:
		return avx512x32
	case level >= isa.AVX2:
		return avx2x32
	}
	return generic32
}

func kernels64(level isa.Level) *kernels[float64] {
	switch {
	case level >= isa.AVX512:
		return avx512x64
	case level >= isa.AVX2:
		return avx2x64
	}
	return generic64
}

var avx2x32 = &kernels[float32]{
	heights: []int{6, 4, 2, 1},
	widths:  []int{16, 8},
	tiles: [][]tile[float32]{
		{gemm6x2F32AVX2, gemm6x1F32AVX2},
		{gemm4x2F32AVX2, gemm4x1F32AVX2},
		{gemm2x2F32AVX2, gemm2x1F32AVX2},
		{gemm1x2F32AVX2, gemm1x1F32AVX2},
	},
	copyPanels: copyPanelsAVX2,
	packs:      []pack[float32]{{8, pack8F32AVX2}, {4, pack4F32AVX2}},
}

var avx2x64 = &kernels[float64]{
	heights: []int{6, 4, 2, 1},
	widths:  []int{8, 4},
	tiles: [][]tile[float64]{
		{gemm6x2F64AVX2, gemm6x1F64AVX2},
		{gemm4x2F64AVX2, gemm4x1F64AVX2},
		{gemm2x2F64AVX2, gemm2x1F64AVX2},
		{gemm1x2F64AVX2, gemm1x1F64AVX2},
	},
	copyPanels: copyPanelsAVX2,
}

var avx512x32 = &kernels[float32]{
	heights: []int{12, 8, 4, 2, 1},
	widths:  []int{32, 16},
	tiles: [][]tile[float32]{
		{gemm12x2F32AVX512, gemm12x1F32AVX512},
		{gemm8x2F32AVX512, gemm8x1F32AVX512},
		{gemm4x2F32AVX512, gemm4x1F32AVX512},
		{gemm2x2F32AVX512, gemm2x1F32AVX512},
		{gemm1x2F32AVX512, gemm1x1F32AVX512},
	},
	copyPanels: copyPanelsAVX512,
	packs:      []pack[float32]{{16, pack16F32AVX512}, {8, pack8F32AVX512}, {4, pack4F32AVX512}},
}

var avx512x64 = &kernels[float64]{
	heights: []int{12, 8, 4, 2, 1},
	widths:  []int{16, 8},
	tiles: [][]tile[float64]{
		{gemm12x2F64AVX512, gemm12x1F64AVX512},
		{gemm8x2F64AVX512, gemm8x1F64AVX512},
		{gemm4x2F64AVX512, gemm4x1F64AVX512},
		{gemm2x2F64AVX512, gemm2x1F64AVX512},
		{gemm1x2F64AVX512, gemm1x1F64AVX512},
	},
	copyPanels: copyPanelsAVX512,
}
