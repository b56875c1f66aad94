package gen

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vecKernels builds the kernels of package vec.
func (g *gen) vecKernels() {
	g.unary("neg", "negates each value.", g.sign(g.xor))
	g.unary("abs", "clears the sign of each value.", func() func(x Op) Op {
		m := g.inReg(g.constant(1<<31 - 1))
		return func(x Op) Op { g.VANDPS(m, x, x); return x }
	})
	g.unary("relu", "replaces values below zero by zero: -0 and NaN stay.", func() func(x Op) Op {
		zero := g.vec()
		g.zero(zero)
		return func(x Op) Op { g.VMAXPS(x, zero, x); return x } // x, where it is NaN or equal
	})
	g.unary("sqrt", "takes square roots.", func() func(x Op) Op {
		return func(x Op) Op { g.VSQRTPS(x, x); return x }
	})
	g.unary("rsqrt", "takes 1/sqrt(x), at most 1.5 ULP from the exact result.", func() func(x Op) Op {
		one := g.inReg(g.f32(1))
		return func(x Op) Op { g.VSQRTPS(x, x); g.VDIVPS(x, one, x); return x }
	})
	g.unary("exp", "takes e**x, at most 1.1 ULP from the exact result.", g.function1((*formula).exp))
	g.unary("log", "takes natural logarithms, at most 0.9 ULP from the exact result.", g.function1((*formula).log))
	g.unary("tanh", "takes hyperbolic tangents, at most 1.5 ULP from the exact result.", g.function1(tanh))
	g.unary("sigmoid", "takes 1/(1+e**-x), at most 2.5 ULP from the exact result.", g.function1(sigmoid))
	g.unary("silu", "takes x/(1+e**-x), at most 3 ULP from the exact result.", g.function1(silu))
	g.unary("siluGrad", "takes the derivative of silu, at most 6 ULP from the exact result, or near its zero of 1/8.", g.function1(siluGrad))
	g.unary("gelu", "takes x times the normal distribution at x, at most 8 ULP from the exact result.", g.function1(gelu))
	g.unary("geluGrad", "takes the derivative of gelu, at most 9 ULP from the exact result, or near its zero of 1/8.", g.function1(geluGrad))
	g.unary("erf", "takes the error function, at most 3 ULP from the exact result.", g.function1(erf))
	g.unary("expm1", "takes e**x - 1, at most 2 ULP from the exact result.", g.function1(expm1))
	g.unary("log1p", "takes log(1+x), at most 2 ULP from the exact result.", g.function1(log1p))
	g.unary("softplus", "takes log(1+e**x), at most 3 ULP from the exact result.", g.function1(softplus))
	g.unary("geluTanh", "takes x/(1+e**-v) with v = 2 sqrt(2/π) (x + 0.044715 x**3), at most 4 ULP from the exact result.", g.function1(geluTanh))
	g.unary("geluTanhGrad", "takes the derivative of geluTanh, at most 6 ULP from the exact result, or near its zero of 1/8.", g.function1(geluTanhGrad))
	g.unary("sin", "takes sines where |x| is at most 2**16, at most 2 ULP from the exact result.", g.function1(sin))
	g.unary("cos", "takes cosines where |x| is at most 2**16, at most 2 ULP from the exact result.", g.function1(cos))
	g.unary("sign", "takes 1 above 0, -1 below, else x.", g.function1(sign))
	g.unary("floor", "rounds down.", g.function1((*formula).floor))
	g.unary("ceil", "rounds up.", g.function1((*formula).ceil))
	g.unary("trunc", "rounds towards 0.", g.function1((*formula).trunc))
	g.unary("round", "rounds to the nearest whole number, half to even.", g.function1((*formula).round))

	g.binary("add", "adds.", func(a, b Op) Op { g.VADDPS(b, a, a); return a })
	g.binary("sub", "subtracts b from a.", func(a, b Op) Op { g.VSUBPS(b, a, a); return a })
	g.binary("mul", "multiplies.", func(a, b Op) Op { g.VMULPS(b, a, a); return a })
	g.binary("div", "divides a by b.", func(a, b Op) Op { g.VDIVPS(b, a, a); return a })
	g.binary("min", "takes the smaller value; NaN where one is NaN, and -0 is below 0.", func(a, b Op) Op { return g.minimum(a, b) })
	g.binary("max", "takes the larger value; NaN where one is NaN, and -0 is below 0.", func(a, b Op) Op {
		sign := g.inReg(g.constant(1 << 31))
		g.VXORPS(sign, a, a)
		g.VXORPS(sign, b, b)
		r := g.minimum(a, b)
		g.VXORPS(sign, r, r)
		return r
	})
	g.binary("reluGrad", "takes b where a > 0, NaN where a is NaN, else 0: the gradient of relu.", func(a, b Op) Op {
		zero, nan := g.vec(), g.vec()
		g.zero(zero)
		g.VADDPS(a, a, nan) // a itself might be a signalling NaN
		r := g.blend(g.compare(greater, a, zero), zero, b)
		return g.blend(g.compare(unordered, a, a), r, nan)
	})
	g.ternary("mulAdd", "takes a*b + c, rounded twice.", func(a, b, c Op) Op {
		g.VMULPS(b, a, a)
		g.VADDPS(c, a, a)
		return a
	})
	g.ternary("mulSub", "takes c - a*b, rounded twice.", func(a, b, c Op) Op {
		g.VMULPS(b, a, a)
		g.VSUBPS(a, c, a)
		return a
	})
	for _, c := range []struct {
		name string
		pred predicate
	}{{"lt", less}, {"le", lessEqual}, {"eq", equal}, {"ne", notEqual}} {
		g.compareBytes(c.name, c.pred)
	}
	g.where()
	g.casts()
	g.stream()
	g.pack(g.Lanes)
	g.philox()
	g.unit()
	g.dropout()

	g.sum()
	g.dot()
	g.expSum()
	g.extreme("min", false)
	g.extreme("max", true)
	g.columnKernels()
}

// sweep emits loops that visit n float32 values: unroll vectors a turn, then one, then the rest under a mask. body emits
// the code for vector i of a turn; advance moves the pointers by some vectors. Both run several times. It uses n up, and CX on AVX-512.
func (g *gen) sweep(n reg.GPVirtual, unroll int, body func(i int, k mask), advance func(vectors int)) {
	if unroll > 1 {
		g.SUBQ(I32(unroll*g.Lanes), n)
		g.JL(LabelRef("single"))
		g.pcalign(32)
		g.Label("wide")
		for i := range unroll {
			body(i, nil)
		}
		advance(unroll)
		g.SUBQ(I32(unroll*g.Lanes), n)
		g.JGE(LabelRef("wide"))
		g.Label("single")
		g.ADDQ(I32((unroll-1)*g.Lanes), n)
	} else {
		g.SUBQ(I32(g.Lanes), n)
	}
	g.JL(LabelRef("tail"))
	g.pcalign(32)
	g.Label("loop")
	body(0, nil)
	advance(1)
	g.SUBQ(I32(g.Lanes), n)
	g.JGE(LabelRef("loop"))
	g.Label("tail")
	g.ADDQ(I32(g.Lanes), n)
	g.JZ(LabelRef("done"))
	body(0, g.tail(n, 1)[0])
	g.Label("done")
}

// move advances pointers to float32 values by some vectors.
func (g *gen) move(vectors int, pointers ...reg.GPVirtual) {
	for _, p := range pointers {
		g.ADDQ(I32(4*g.Lanes*vectors), p)
	}
}

// unary builds dst[i] = f(a[i]). body runs once before the loops, to load constants, and returns the code of f, which may overwrite x.
func (g *gen) unary(name, doc string, body func() func(x Op) Op) {
	g.function(name+"F32", "func(dst, a *float32, n int)", doc+" dst may be a.")
	dst, a, n := g.arg("dst"), g.arg("a"), g.arg("n")
	f := body()
	g.sweep(n, 2, func(i int, k mask) {
		x := g.vec()
		g.load(Mem{Base: a, Disp: 4 * g.Lanes * i}, k, x)
		g.store(f(x), k, Mem{Base: dst, Disp: 4 * g.Lanes * i})
	}, func(vectors int) { g.move(vectors, dst, a) })
	g.ret()
}

// function1 is the body of a unary kernel that computes a formula.
func (g *gen) function1(build func(f *formula, x value) value) func() func(x Op) Op {
	return func() func(x Op) Op { return g.lower(build) }
}

// sign is the body of a unary kernel that combines each value with the sign bit.
func (g *gen) sign(f func(b, a, d Op)) func() func(x Op) Op {
	return func() func(x Op) Op {
		m := g.inReg(g.constant(1 << 31))
		return func(x Op) Op { f(m, x, x); return x }
	}
}

func (g *gen) xor(b, a, d Op) { g.VXORPS(b, a, d) }

// operand is a source that either advances or is the same vector for ever.
type operand struct{ p, step reg.GPVirtual }

// operand loads the arguments name and nameStep.
func (g *gen) operand(name string) operand {
	o := operand{g.arg(name), g.arg(name + "Step")}
	shift := 5
	if g.Lanes == 16 {
		shift = 6
	}
	g.SHLQ(U8(shift), o.step)
	return o
}

// at is the address of vector i, 0, 1 or 2.
func (o operand) at(i int) Mem {
	if i == 0 {
		return Mem{Base: o.p}
	}
	return Mem{Base: o.p, Index: o.step, Scale: uint8(i)}
}

// move advances operands by 1 or 2 vectors.
func (g *gen) moveOperands(vectors int, os ...operand) {
	for _, o := range os {
		g.LEAQ(o.at(vectors), o.p)
	}
}

const operands = " A step is 1, or 0 for an operand that is one vector, all of whose lanes count: every vector of the result then meets that one. dst may be an operand whose step is 1."

// binary builds dst[i] = f(a[i], b[i]); f may overwrite its operands.
func (g *gen) binary(name, doc string, f func(a, b Op) Op) {
	g.function(name+"F32", "func(dst, a, b *float32, aStep, bStep, n int)", doc+operands)
	dst, a, b, n := g.arg("dst"), g.operand("a"), g.operand("b"), g.arg("n")
	g.sweep(n, 2, func(i int, k mask) {
		x, y := g.vec(), g.vec()
		g.load(a.at(i), k, x)
		g.load(b.at(i), k, y)
		g.store(f(x, y), k, Mem{Base: dst, Disp: 4 * g.Lanes * i})
	}, func(vectors int) {
		g.move(vectors, dst)
		g.moveOperands(vectors, a, b)
	})
	g.ret()
}

// ternary builds dst[i] = f(a[i], b[i], c[i]); f may overwrite its operands.
func (g *gen) ternary(name, doc string, f func(a, b, c Op) Op) {
	g.function(name+"F32", "func(dst, a, b, c *float32, aStep, bStep, cStep, n int)", doc+operands)
	dst, a, b, c, n := g.arg("dst"), g.operand("a"), g.operand("b"), g.operand("c"), g.arg("n")
	g.sweep(n, 2, func(i int, k mask) {
		x, y, z := g.vec(), g.vec(), g.vec()
		g.load(a.at(i), k, x)
		g.load(b.at(i), k, y)
		g.load(c.at(i), k, z)
		g.store(f(x, y, z), k, Mem{Base: dst, Disp: 4 * g.Lanes * i})
	}, func(vectors int) {
		g.move(vectors, dst)
		g.moveOperands(vectors, a, b, c)
	})
	g.ret()
}

// minimum returns the smaller of a and b, in b. MINPS gives its second source where one is NaN or both are zero, so the two orders differ just
// there, and the union of their bits is a NaN, or the zero with a sign.
func (g *gen) minimum(a, b Op) Op {
	r := g.vec()
	g.VMINPS(a, b, r)
	g.VMINPS(b, a, b)
	g.VORPS(r, b, b)
	return b
}

// predicate is an immediate of CMPPS.
type predicate int

// No predicate raises an exception for a quiet NaN.
const (
	equal     predicate = 0x00
	unordered predicate = 0x03
	notEqual  predicate = 0x04 // or unordered
	less      predicate = 0x11
	lessEqual predicate = 0x12
	notAbove  predicate = 0x19 // not a >= b: below or unordered
	greater   predicate = 0x1e
)

// compare returns the mask of the lanes where a pred b.
func (g *gen) compare(pred predicate, a, b Op) mask {
	var k mask
	if g.Masks {
		k = g.K()
	} else {
		k = g.vec()
	}
	g.VCMPPS(U8(pred), b, a, k)
	return k
}

// blend returns no where the mask is clear and yes where it is set, in a new register.
func (g *gen) blend(k mask, no, yes Op) Op {
	r := g.vec()
	if g.Masks {
		g.VBLENDMPS(yes, no, k, r)
	} else {
		g.VBLENDVPS(k, yes, no, r)
	}
	return r
}

// compareBytes builds dst[i] = 1 if a[i] pred b[i], else 0, for whole vectors.
func (g *gen) compareBytes(name string, pred predicate) {
	g.function(name+"F32", "func(dst *uint8, a, b *float32, aStep, bStep, n int)", "stores for each pair 1 or 0, by whether it is so. n is a multiple of the lanes."+operands)
	dst, a, b, n := g.arg("dst"), g.operand("a"), g.operand("b"), g.arg("n")
	ones := g.GP64()
	var one Op
	if g.Masks {
		one = g.XMM()
		g.VMOVUPS(g.constant(0x01010101).Offset(0), one)
	} else {
		g.MOVQ(U64(0x0101010101010101), ones)
	}
	g.Label("loop")
	x := g.vec()
	g.VMOVUPS(a.at(0), x)
	k := g.compare(pred, x, g.inReg(b.at(0)))
	if g.Masks {
		r := g.XMM()
		g.VMOVDQU8_Z(one, k, r)
		g.VMOVUPS(r, Mem{Base: dst})
	} else {
		bits := g.GP64()
		g.VMOVMSKPS(k, bits.As32())
		g.PDEPQ(ones, bits, bits)
		g.MOVQ(bits, Mem{Base: dst})
	}
	g.ADDQ(I32(g.Lanes), dst)
	g.moveOperands(1, a, b)
	g.SUBQ(I32(g.Lanes), n)
	g.JNZ(LabelRef("loop"))
	g.ret()
}

// where builds dst[i] = a[i] if c[i] is not 0, else b[i], for whole vectors.
func (g *gen) where() {
	g.function("whereF32", "func(dst *float32, c *uint8, a, b *float32, aStep, bStep, n int)", "takes a where c is not 0, else b. n is a multiple of the lanes."+operands)
	dst, c, a, b, n := g.arg("dst"), g.arg("c"), g.operand("a"), g.operand("b"), g.arg("n")
	zero := g.vec()
	g.zero(zero)
	g.Label("loop")
	v := g.vec()
	g.VPMOVZXBD(Mem{Base: c}, v)
	var k mask
	if g.Masks {
		k = g.K()
		g.VPCMPEQD(zero, v, k)
	} else {
		g.VPCMPEQD(zero, v, v)
		k = v
	}
	g.store(g.blend(k, g.inReg(a.at(0)), g.inReg(b.at(0))), nil, Mem{Base: dst})
	g.ADDQ(I32(g.Lanes), c)
	g.move(1, dst)
	g.moveOperands(1, a, b)
	g.SUBQ(I32(g.Lanes), n)
	g.JNZ(LabelRef("loop"))
	g.ret()
}

// stream builds a copy that leaves the caches alone.
func (g *gen) stream() {
	g.function("stream", "func(dst, src *byte, n int)", "copies n bytes past the caches; before anybody else may read them, fence must run. dst is aligned to 64 bytes and n is a multiple of 64.")
	dst, src, n := g.arg("dst"), g.arg("src"), g.arg("n")
	g.Label("loop")
	for i := 0; i < 64; i += 4 * g.Lanes {
		g.VMOVNTPS(g.inReg(Mem{Base: src, Disp: i}), Mem{Base: dst, Disp: i})
	}
	g.ADDQ(I32(64), src)
	g.ADDQ(I32(64), dst)
	g.SUBQ(I32(64), n)
	g.JNZ(LabelRef("loop"))
	g.ret()

	g.function("fence", "func()", "orders what stream has stored before all that follows.")
	g.SFENCE()
	g.RET()
}
