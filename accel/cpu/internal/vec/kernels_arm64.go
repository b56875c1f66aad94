package vec

import (
	"math"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
)

// override puts the assembly of a level into the table.
func override(l isa.Level, t *table[float32]) {
	if l != isa.NEON {
		return
	}
	t.unary[Neg], t.unary[Abs], t.unary[ReLU] = negF32NEON, absF32NEON, reluF32NEON
	t.unary[Sqrt], t.unary[Rsqrt] = sqrtF32NEON, rsqrtF32NEON
	t.unary[Exp], t.unary[Log], t.unary[Tanh], t.unary[Sigmoid] = expF32NEON, logF32NEON, tanhF32NEON, sigmoidF32NEON
	t.unary[SiLU], t.unary[SiLUGrad], t.unary[GELU], t.unary[GELUGrad] = siluF32NEON, siluGradF32NEON, geluF32NEON, geluGradF32NEON
	t.unary[Erf], t.unary[Expm1], t.unary[Log1p], t.unary[Softplus] = erfF32NEON, expm1F32NEON, log1pF32NEON, softplusF32NEON
	t.unary[GELUTanh], t.unary[GELUTanhGrad] = geluTanhF32NEON, geluTanhGradF32NEON
	t.unary[Sin], t.unary[Cos] = within(sinF32NEON, math.Sin), within(cosF32NEON, math.Cos)
	t.unary[Sign], t.unary[Floor], t.unary[Ceil], t.unary[Trunc], t.unary[Round] = signF32NEON, floorF32NEON, ceilF32NEON, truncF32NEON, roundF32NEON
	t.binary[Add], t.binary[Sub], t.binary[Mul], t.binary[Div] = addF32NEON, subF32NEON, mulF32NEON, divF32NEON
	t.binary[Min], t.binary[Max], t.binary[ReLUGrad] = minF32NEON, maxF32NEON, reluGradF32NEON
	t.mulAdd, t.mulSub = mulAddF32NEON, mulSubF32NEON
	t.lanes, t.sum, t.dot, t.expSum = 4, sumF32NEON, dotF32NEON, expSumF32NEON
	t.min, t.max, t.columnSum = reduceMinF32NEON, reduceMaxF32NEON, columnSumF32NEON
}
