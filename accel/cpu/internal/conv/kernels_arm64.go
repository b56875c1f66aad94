package conv

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

// override puts the assembly of a level in place.
func override(k *kernels, level isa.Level) {
	if level >= isa.NEON {
		neon.override(k)
	}
}

var neon = &assembly{
	pixels: 6, wide: 1,
	big:   [2]tiles{{conv6x1F32NEON, first6x1F32NEON}},
	small: [2]tiles{{conv4x1F32NEON, first4x1F32NEON}},
	firstRows: [2]firstRows{
		{firstWgrad3x1F32NEON, firstWgrad1x1F32NEON},
		{firstWgrad3x2F32NEON, firstWgrad1x2F32NEON},
	},
	depth: [2]firstFunc{depth6F32NEON, depth4F32NEON}, depthRows: firstRows{depthWgrad3F32NEON, depthWgrad1F32NEON},
	maxPool: maxPoolF32NEON, maxPoolGrad: maxPoolGradF32NEON,
	avgPool: avgPoolF32NEON, avgPoolGrad: avgPoolGradF32NEON,
	sums: sumsF32NEON, squares: squaresF32NEON, normalize: normalizeF32NEON,
	normSums: normSumsF32NEON, normSumsReLU: normSumsReLUF32NEON,
	normGrad: normGradF32NEON, normGradReLU: normGradReLUF32NEON,
	reluGrad: reluGradF32NEON, transpose4: transpose4F32NEON,
	rows: []weightRows{{6, [2]wgradFunc{wgrad6x1F32NEON}}, {5, [2]wgradFunc{wgrad5x1F32NEON}}, {5, [2]wgradFunc{wgrad5x1F32NEON}}},
}
