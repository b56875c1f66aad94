package vec

import (
	"math"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
)

// override puts the assembly of a level into the table.
func override(l isa.Level, t *table[float32]) {
	switch {
	case l >= isa.AVX512:
		t.unary[Neg], t.unary[Abs], t.unary[ReLU] = negF32AVX512, absF32AVX512, reluF32AVX512
		t.unary[Sqrt], t.unary[Rsqrt] = sqrtF32AVX512, rsqrtF32AVX512
		t.unary[Exp], t.unary[Log], t.unary[Tanh], t.unary[Sigmoid] = expF32AVX512, logF32AVX512, tanhF32AVX512, sigmoidF32AVX512
		t.unary[SiLU], t.unary[SiLUGrad], t.unary[GELU], t.unary[GELUGrad] = siluF32AVX512, siluGradF32AVX512, geluF32AVX512, geluGradF32AVX512
		t.unary[Erf], t.unary[Expm1], t.unary[Log1p], t.unary[Softplus] = erfF32AVX512, expm1F32AVX512, log1pF32AVX512, softplusF32AVX512
		t.unary[GELUTanh], t.unary[GELUTanhGrad] = geluTanhF32AVX512, geluTanhGradF32AVX512
		t.unary[Sin], t.unary[Cos] = within(sinF32AVX512, math.Sin), within(cosF32AVX512, math.Cos)
		t.unary[Sign], t.unary[Floor], t.unary[Ceil], t.unary[Trunc], t.unary[Round] = signF32AVX512, floorF32AVX512, ceilF32AVX512, truncF32AVX512, roundF32AVX512
		t.binary[Add], t.binary[Sub], t.binary[Mul], t.binary[Div] = addF32AVX512, subF32AVX512, mulF32AVX512, divF32AVX512
		t.binary[Min], t.binary[Max], t.binary[ReLUGrad] = minF32AVX512, maxF32AVX512, reluGradF32AVX512
		t.compare[Lt], t.compare[Le], t.compare[Eq], t.compare[Ne] = ltF32AVX512, leF32AVX512, eqF32AVX512, neF32AVX512
		t.casts = casts{bf16ToF32AVX512, f16ToF32AVX512, f32ToBF16AVX512, f32ToF16AVX512, u8ToF32AVX512}
		t.mulAdd, t.mulSub = mulAddF32AVX512, mulSubF32AVX512
		t.where, t.stream, t.fence = whereF32AVX512, streamAVX512, fenceAVX512
		t.philox, t.unit, t.dropout = philoxAVX512, unitF32AVX512, dropoutF32AVX512
		t.transpose = pack16F32AVX512
		t.lanes, t.sum, t.dot, t.expSum = 16, sumF32AVX512, dotF32AVX512, expSumF32AVX512
		t.min, t.max = reduceMinF32AVX512, reduceMaxF32AVX512
		t.columnSum, t.columnSquares, t.columnProducts = columnSumF32AVX512, columnSquaresF32AVX512, columnProductsF32AVX512
		t.normalise, t.normaliseGrad = normaliseF32AVX512, normaliseGradF32AVX512
	case l >= isa.AVX2:
		t.unary[Neg], t.unary[Abs], t.unary[ReLU] = negF32AVX2, absF32AVX2, reluF32AVX2
		t.unary[Sqrt], t.unary[Rsqrt] = sqrtF32AVX2, rsqrtF32AVX2
		t.unary[Exp], t.unary[Log], t.unary[Tanh], t.unary[Sigmoid] = expF32AVX2, logF32AVX2, tanhF32AVX2, sigmoidF32AVX2
		t.unary[SiLU], t.unary[SiLUGrad], t.unary[GELU], t.unary[GELUGrad] = siluF32AVX2, siluGradF32AVX2, geluF32AVX2, geluGradF32AVX2
		t.unary[Erf], t.unary[Expm1], t.unary[Log1p], t.unary[Softplus] = erfF32AVX2, expm1F32AVX2, log1pF32AVX2, softplusF32AVX2
		t.unary[GELUTanh], t.unary[GELUTanhGrad] = geluTanhF32AVX2, geluTanhGradF32AVX2
		t.unary[Sin], t.unary[Cos] = within(sinF32AVX2, math.Sin), within(cosF32AVX2, math.Cos)
		t.unary[Sign], t.unary[Floor], t.unary[Ceil], t.unary[Trunc], t.unary[Round] = signF32AVX2, floorF32AVX2, ceilF32AVX2, truncF32AVX2, roundF32AVX2
		t.binary[Add], t.binary[Sub], t.binary[Mul], t.binary[Div] = addF32AVX2, subF32AVX2, mulF32AVX2, divF32AVX2
		t.binary[Min], t.binary[Max], t.binary[ReLUGrad] = minF32AVX2, maxF32AVX2, reluGradF32AVX2
		t.compare[Lt], t.compare[Le], t.compare[Eq], t.compare[Ne] = ltF32AVX2, leF32AVX2, eqF32AVX2, neF32AVX2
		t.casts = casts{bf16ToF32AVX2, f16ToF32AVX2, f32ToBF16AVX2, f32ToF16AVX2, u8ToF32AVX2}
		t.mulAdd, t.mulSub = mulAddF32AVX2, mulSubF32AVX2
		t.where, t.stream, t.fence = whereF32AVX2, streamAVX2, fenceAVX2
		t.philox, t.unit, t.dropout = philoxAVX2, unitF32AVX2, dropoutF32AVX2
		t.transpose = pack8F32AVX2
		t.lanes, t.sum, t.dot, t.expSum = 8, sumF32AVX2, dotF32AVX2, expSumF32AVX2
		t.min, t.max = reduceMinF32AVX2, reduceMaxF32AVX2
		t.columnSum, t.columnSquares, t.columnProducts = columnSumF32AVX2, columnSquaresF32AVX2, columnProductsF32AVX2
		t.normalise, t.normaliseGrad = normaliseF32AVX2, normaliseGradF32AVX2
	}
}
