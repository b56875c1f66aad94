package conv

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

// override puts the assembly of a level in place.
func override(k *kernels, level isa.Level) {
	switch {
	case level >= isa.AVX512:
		avx512.override(k)
	case level >= isa.AVX2:
		avx2.override(k)
	}
}

var avx2 = &assembly{
	pixels: 6, wide: 1,
	big:   [2]tiles{{conv6x1F32AVX2, first6x1F32AVX2}},
	small: [2]tiles{{conv4x1F32AVX2, first4x1F32AVX2}},
	firstRows: [2]firstRows{
		{firstWgrad3x1F32AVX2, firstWgrad1x1F32AVX2},
		{firstWgrad3x2F32AVX2, firstWgrad1x2F32AVX2},
	},
	depth: [2]firstFunc{depth6F32AVX2, depth4F32AVX2}, depthRows: firstRows{depthWgrad3F32AVX2, depthWgrad1F32AVX2},
	maxPool: maxPoolF32AVX2, maxPoolGrad: maxPoolGradF32AVX2,
	avgPool: avgPoolF32AVX2, avgPoolGrad: avgPoolGradF32AVX2,
	sums: sumsF32AVX2, squares: squaresF32AVX2, normalize: normalizeF32AVX2,
	normSums: normSumsF32AVX2, normSumsReLU: normSumsReLUF32AVX2,
	normGrad: normGradF32AVX2, normGradReLU: normGradReLUF32AVX2,
	reluGrad: reluGradF32AVX2, transpose4: transpose4F32AVX2,
	rows: []weightRows{{6, [2]wgradFunc{wgrad6x1F32AVX2}}, {5, [2]wgradFunc{wgrad5x1F32AVX2}}, {5, [2]wgradFunc{wgrad5x1F32AVX2}}},
}

var avx512 = &assembly{
	pixels: 8, wide: 2,
	big:   [2]tiles{{conv8x1F32AVX512, first8x1F32AVX512}, {conv8x2F32AVX512, first8x2F32AVX512}},
	small: [2]tiles{{conv4x1F32AVX512, first4x1F32AVX512}, {conv4x2F32AVX512, first4x2F32AVX512}},
	firstRows: [2]firstRows{
		{firstWgrad3x1F32AVX512, firstWgrad1x1F32AVX512},
		{firstWgrad3x2F32AVX512, firstWgrad1x2F32AVX512},
	},
	depth: [2]firstFunc{depth8F32AVX512, depth4F32AVX512}, depthRows: firstRows{depthWgrad3F32AVX512, depthWgrad1F32AVX512},
	maxPool: maxPoolF32AVX512, maxPoolGrad: maxPoolGradF32AVX512,
	avgPool: avgPoolF32AVX512, avgPoolGrad: avgPoolGradF32AVX512,
	sums: sumsF32AVX512, squares: squaresF32AVX512, normalize: normalizeF32AVX512,
	normSums: normSumsF32AVX512, normSumsReLU: normSumsReLUF32AVX512,
	normGrad: normGradF32AVX512, normGradReLU: normGradReLUF32AVX512,
	reluGrad: reluGradF32AVX512, transpose4: transpose4F32AVX512,
	rows: []weightRows{
		{8, [2]wgradFunc{wgrad8x1F32AVX512, wgrad8x2F32AVX512}},
		{8, [2]wgradFunc{wgrad8x1F32AVX512, wgrad8x2F32AVX512}},
	},
}
