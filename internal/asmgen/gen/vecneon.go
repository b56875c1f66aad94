package gen

import (
	"fmt"
	"math"
	"strings"
)

// vecNEON prints the float32 kernels of package vec for arm64: the same operations in the same order as AVX2's, four values at a time. There are
// no masks: the last one to three values are loaded into and stored from single lanes.
//
// Registers: R0 dst, R1 to R3 operands, R4 the number of values left, R5 to R7 the operands' steps by vectors and R8 to R10 by values, R11 the next constant,
// R12 the first, R13 to R15 what a kernel needs. V0 to V2 are the operands, V0 the result.
func vecNEON() (asm, stubs string) {
	n := &vecNeon{}
	n.unaries()
	n.binaries()
	n.sums()
	n.extreme("Min", math.Inf(1), "FMIN")
	n.extreme("Max", math.Inf(-1), "FMAX")
	n.columnSum()
	return n.file("vec")
}

type vecNeon struct {
	neon
	name      string
	constants []uint32 // of the kernel, in the order of their use
}

// codes are instructions on vectors of four float32 values, or 16 bytes, or two float64 values, that Go's assembler lacks: without registers.
var codes = map[string]uint32{
	"FADD": 0x4e20d400, "FSUB": 0x4ea0d400, "FMUL": 0x6e20dc00, "FDIV": 0x6e20fc00, "FMAX": 0x4e20f400, "FMIN": 0x4ea0f400,
	"FMLA": 0x4e20cc00, "FMLS": 0x4ea0cc00, "FCMGT": 0x6ea0e400, "FCMEQ": 0x4e20e400,
	"AND": 0x4e201c00, "ORR": 0x4ea01c00, "BIC": 0x4e601c00, "BSL": 0x6e601c00, "ADD": 0x4ea08400, "SUB": 0x6ea08400,
	"FADD2D": 0x4e60d400, "FMLA2D": 0x4e60cc00,
	"FNEG": 0x6ea0f800, "FABS": 0x4ea0f800, "FSQRT": 0x6ea1f800, "FRINTN": 0x4e218800, "FRINTM": 0x4e219800, "FRINTP": 0x4ea18800, "FRINTZ": 0x4ea19800, "FCVTNS": 0x4e21a800, "SCVTF": 0x4e21d800,
	"FCMGT0": 0x4ea0c800, "FCMLT0": 0x4ea0e800, "FCMEQ0": 0x4ea0d800, "FCMGE0": 0x6ea0c800, "FCVTL": 0x0e617800, "FCVTL2": 0x4e617800,
	"SHL23": 0x4f375400, "SSHR23": 0x4f290400, "SSHR1": 0x4f3f0400,
}

// do prints d = a op b; BSL takes a where d's bits are set, else b, and FMLA and FMLS add to and subtract from d.
func (n *vecNeon) do(op string, d, a, b int) {
	n.line("WORD $0x%08x // %s V%d, V%d, V%d", codes[op]|uint32(b<<16|a<<5|d), op, d, a, b)
}

// do1 prints d = op a.
func (n *vecNeon) do1(op string, d, a int) {
	n.line("WORD $0x%08x // %s V%d, V%d", codes[op]|uint32(a<<5|d), op, d, a)
}

// mov copies a register.
func (n *vecNeon) mov(d, a int) { n.do("ORR", d, a, a) }

func (n *vecNeon) zero(v int) { n.line("VEOR V%d.B16, V%[1]d.B16, V%[1]d.B16", v) }

// bits loads the next constant, in every lane.
func (n *vecNeon) bits(d int, x uint32) {
	n.constants = append(n.constants, x)
	n.line("VLD1R.P 4(R11), [V%d.S4]", d)
}

func (n *vecNeon) constant(d int, x float64) { n.bits(d, math.Float32bits(float32(x))) }

// rewind begins a pass over the constants. Each pass prints the same code, so what the first one collected is dropped.
func (n *vecNeon) rewind() {
	n.constants = nil
	n.line("MOVD R12, R11")
}

// function begins a kernel; its arguments take that many bytes.
func (n *vecNeon) function(name, signature, doc string, size int) {
	n.name, n.constants = name+"NEON", nil
	fmt.Fprintf(&n.stubs, "\n// %s %s\n//\n//go:noescape\nfunc %[1]s(%[3]s)\n", n.name, doc, signature)
	n.line("\nTEXT ·%s(SB), NOSPLIT, $0-%d", n.name, size)
	n.line("MOVD $·%sConstants(SB), R12", n.name)
}

// ret ends a kernel, and prints its constants.
func (n *vecNeon) ret() {
	n.line("RET")
	for i, c := range append(n.constants, 0) { // never empty
		n.asm.WriteString(fmt.Sprintf("\nDATA ·%sConstants+%d(SB)/4, $0x%08x", n.name, 4*i, c))
	}
	n.asm.WriteString(fmt.Sprintf("\nGLOBL ·%sConstants(SB), NOPTR|RODATA, $%d\n", n.name, 4*len(n.constants)+4))
}

// arg loads an argument.
func (n *vecNeon) arg(name string, offset, register int) {
	n.line("MOVD %s+%d(FP), R%d", name, offset, register)
}

// step loads the step of operand i as bytes of a vector and of a value.
func (n *vecNeon) step(name string, offset, i int) {
	n.arg(name+"Step", offset, 5+i)
	n.line("LSL $2, R%d, R%d", 5+i, 8+i)
	n.line("LSL $4, R%d, R%[1]d", 5+i)
}

// sweep prints the loops over n values: body computes V0 from V0 and the operands that follow. The lanes of the last vector that have no value hold
// fill, or 0. result, if it is not nil, is printed last.
func (n *vecNeon) sweep(operands int, store bool, fill *float64, body, result func()) {
	compute := func() {
		n.rewind()
		if fill != nil { // its constant comes first
			n.constant(31, *fill)
		}
		body()
	}
	n.line("SUBS $4, R4")
	n.line("BLT tail")
	n.line("loop:")
	for i := range operands {
		n.line("VLD1.P (R%d)(R%d), [V%d.S4]", 1+i, 5+i, i)
	}
	compute()
	if store {
		n.line("VST1.P [V0.S4], 16(R0)")
	}
	if result != nil {
		result()
	}
	n.line("SUBS $4, R4")
	n.line("BGE loop")
	n.line("tail:")
	n.line("ADDS $4, R4")
	n.line("BEQ done")
	if fill != nil {
		n.line("VLD1R (R12), [V31.S4]")
	}
	for i := range operands {
		if n.zero(i); fill != nil {
			n.mov(i, 31)
		}
	}
	for lane := range 3 {
		if lane > 0 {
			n.line("CMP $%d, R4", lane+1)
			n.line("BLT loaded")
		}
		for i := range operands {
			n.line("VLD1.P (R%d)(R%d), V%d.S[%d]", 1+i, 8+i, i, lane)
		}
	}
	n.line("loaded:")
	compute()
	if store {
		for lane := range 3 {
			if lane > 0 {
				n.line("CMP $%d, R4", lane+1)
				n.line("BLT stored")
			}
			n.line("VST1.P V0.S[%d], 4(R0)", lane)
		}
		n.line("stored:")
	}
	if result != nil {
		result()
	}
	n.line("done:")
}

const neonDoc = " dst may be an operand whose step is 1."

func (n *vecNeon) unary(name, doc string, body func()) {
	n.function(name+"F32", "dst, a *float32, n int", doc+" dst may be a.", 24)
	n.arg("dst", 0, 0)
	n.arg("a", 8, 1)
	n.arg("n", 16, 4)
	n.line("MOVD $16, R5")
	n.line("MOVD $4, R8")
	n.sweep(1, true, nil, body, nil)
	n.ret()
}

func (n *vecNeon) unaries() {
	n.unary("neg", "negates each value.", func() { n.do1("FNEG", 0, 0) })
	n.unary("abs", "clears the sign of each value.", func() { n.do1("FABS", 0, 0) })
	n.unary("relu", "replaces values below zero by zero: -0 and NaN stay.", func() {
		n.do1("FCMLT0", 3, 0)
		n.do("BIC", 0, 0, 3)
	})
	n.unary("sqrt", "takes square roots.", func() { n.do1("FSQRT", 0, 0) })
	n.unary("rsqrt", "takes 1/sqrt(x), at most 1.5 ULP from the exact result.", func() {
		n.constant(3, 1)
		n.do1("FSQRT", 0, 0)
		n.do("FDIV", 0, 3, 0)
	})
	n.unary("exp", "takes e**x, at most 1.1 ULP from the exact result.", n.lower((*formula).exp))
	n.unary("log", "takes natural logarithms, at most 0.9 ULP from the exact result.", n.lower((*formula).log))
	n.unary("tanh", "takes hyperbolic tangents, at most 1.5 ULP from the exact result.", n.lower(tanh))
	n.unary("sigmoid", "takes 1/(1+e**-x), at most 2.5 ULP from the exact result.", n.lower(sigmoid))
	n.unary("silu", "takes x/(1+e**-x), at most 3 ULP from the exact result.", n.lower(silu))
	n.unary("siluGrad", "takes the derivative of silu, at most 6 ULP from the exact result, or near its zero of 1/8.", n.lower(siluGrad))
	n.unary("gelu", "takes x times the normal distribution at x, at most 8 ULP from the exact result.", n.lower(gelu))
	n.unary("geluGrad", "takes the derivative of gelu, at most 9 ULP from the exact result, or near its zero of 1/8.", n.lower(geluGrad))
	n.unary("erf", "takes the error function, at most 3 ULP from the exact result.", n.lower(erf))
	n.unary("expm1", "takes e**x - 1, at most 2 ULP from the exact result.", n.lower(expm1))
	n.unary("log1p", "takes log(1+x), at most 2 ULP from the exact result.", n.lower(log1p))
	n.unary("softplus", "takes log(1+e**x), at most 3 ULP from the exact result.", n.lower(softplus))
	n.unary("geluTanh", "takes x/(1+e**-v) with v = 2 sqrt(2/π) (x + 0.044715 x**3), at most 4 ULP from the exact result.", n.lower(geluTanh))
	n.unary("geluTanhGrad", "takes the derivative of geluTanh, at most 6 ULP from the exact result, or near its zero of 1/8.", n.lower(geluTanhGrad))
	n.unary("sin", "takes sines where |x| is at most 2**16, at most 2 ULP from the exact result.", n.lower(sin))
	n.unary("cos", "takes cosines where |x| is at most 2**16, at most 2 ULP from the exact result.", n.lower(cos))
	n.unary("sign", "takes 1 above 0, -1 below, else x.", n.lower(sign))
	n.unary("floor", "rounds down.", n.lower((*formula).floor))
	n.unary("ceil", "rounds up.", n.lower((*formula).ceil))
	n.unary("trunc", "rounds towards 0.", n.lower((*formula).trunc))
	n.unary("round", "rounds to the nearest whole number, half to even.", n.lower((*formula).round))
}

func (n *vecNeon) binary(name, doc string, body func()) {
	n.function(name+"F32", "dst, a, b *float32, aStep, bStep, n int", doc+neonDoc, 48)
	n.arg("dst", 0, 0)
	n.arg("a", 8, 1)
	n.arg("b", 16, 2)
	n.step("a", 24, 0)
	n.step("b", 32, 1)
	n.arg("n", 40, 4)
	n.sweep(2, true, nil, body, nil)
	n.ret()
}

func (n *vecNeon) ternary(name, doc string, body func()) {
	n.function(name+"F32", "dst, a, b, c *float32, aStep, bStep, cStep, n int", doc+neonDoc, 64)
	n.arg("dst", 0, 0)
	for i, arg := range strings.Split("abc", "") {
		n.arg(arg, 8+8*i, 1+i)
		n.step(arg, 32+8*i, i)
	}
	n.arg("n", 56, 4)
	n.sweep(3, true, nil, body, nil)
	n.ret()
}

func (n *vecNeon) binaries() {
	for _, op := range [][3]string{
		{"add", "FADD", "adds."}, {"sub", "FSUB", "subtracts b from a."}, {"mul", "FMUL", "multiplies."}, {"div", "FDIV", "divides a by b."},
		{"min", "FMIN", "takes the smaller value; NaN where one is NaN, and -0 is below 0."}, {"max", "FMAX", "takes the larger value; NaN where one is NaN, and -0 is below 0."},
	} {
		n.binary(op[0], op[2], func() { n.do(op[1], 0, 0, 1) })
	}
	n.binary("reluGrad", "takes b where a > 0, NaN where a is NaN, else 0: the gradient of relu.", func() {
		n.do1("FCMGT0", 3, 0)
		n.do("AND", 1, 1, 3)
		n.do("FCMEQ", 3, 0, 0)
		n.do("BSL", 3, 1, 0)
		n.mov(0, 3)
	})
	n.ternary("mulAdd", "takes a*b + c, rounded twice.", func() {
		n.do("FMUL", 0, 0, 1)
		n.do("FADD", 0, 0, 2)
	})
	n.ternary("mulSub", "takes c - a*b, rounded twice.", func() {
		n.do("FMUL", 0, 0, 1)
		n.do("FSUB", 0, 2, 0)
	})
}

// accumulate prints the addition of V0 as float64 values to V28 and V29.
func (n *vecNeon) accumulate() {
	n.do1("FCVTL", 20, 0)
	n.do1("FCVTL2", 21, 0)
	n.do("FADD2D", 28, 28, 20)
	n.do("FADD2D", 29, 29, 21)
}

func (n *vecNeon) sums() {
	const doc = " acc is four float64, one for each lane of a vector; their sum is the result."
	n.function("sumF32", "acc *float64, a *float32, n int", "adds up n values."+doc, 24)
	n.arg("acc", 0, 13)
	n.arg("a", 8, 1)
	n.arg("n", 16, 4)
	n.line("MOVD $16, R5")
	n.line("MOVD $4, R8")
	n.zero(28)
	n.zero(29)
	n.sweep(1, false, nil, func() {}, n.accumulate)
	n.line("VST1 [V28.D2, V29.D2], (R13)")
	n.ret()

	n.function("dotF32", "acc *float64, a, b *float32, n int", "adds up n products, which are exact."+doc, 32)
	n.arg("acc", 0, 13)
	n.arg("a", 8, 1)
	n.arg("b", 16, 2)
	n.arg("n", 24, 4)
	for i := range 2 {
		n.line("MOVD $16, R%d", 5+i)
		n.line("MOVD $4, R%d", 8+i)
	}
	n.zero(28)
	n.zero(29)
	n.sweep(2, false, nil, func() {
		for i := range 2 {
			n.do1("FCVTL", 20+i, i)
			n.do1("FCVTL2", 22+i, i)
		}
		n.do("FMLA2D", 28, 20, 21)
		n.do("FMLA2D", 29, 22, 23)
	}, nil)
	n.line("VST1 [V28.D2, V29.D2], (R13)")
	n.ret()

	// Lanes without a value hold -Inf, whose exponential adds nothing; not so where m is infinite too, but then the sum is no number anyway.
	none, exp := math.Inf(-1), n.lower((*formula).exp)
	n.function("expSumF32", "dst *float32, acc *float64, a *float32, m float32, n int", "stores e**(a-m) and adds it up. dst may be a."+doc, 40)
	n.arg("dst", 0, 0)
	n.arg("acc", 8, 13)
	n.arg("a", 16, 1)
	n.line("MOVD $m+24(FP), R14")
	n.line("VLD1R (R14), [V30.S4]")
	n.arg("n", 32, 4)
	n.line("MOVD $16, R5")
	n.line("MOVD $4, R8")
	n.zero(28)
	n.zero(29)
	n.sweep(1, true, &none, func() {
		n.do("FSUB", 0, 0, 30)
		exp()
	}, n.accumulate)
	n.line("VST1 [V28.D2, V29.D2], (R13)")
	n.ret()
}

func (n *vecNeon) extreme(name string, identity float64, op string) {
	n.function("reduce"+name+"F32", "acc, a *float32, n int", "takes the "+strings.ToLower(name)+"imum of n values; NaN if one is NaN, the infinity that loses to all if there is none, and -0 is below 0. acc is one float32 for each lane; their "+strings.ToLower(name)+"imum is the result.", 24)
	n.arg("acc", 0, 13)
	n.arg("a", 8, 1)
	n.arg("n", 16, 4)
	n.line("MOVD $16, R5")
	n.line("MOVD $4, R8")
	n.line("VLD1R (R12), [V28.S4]") // the identity is the first constant
	n.sweep(1, false, &identity, func() { n.do(op, 28, 28, 0) }, nil)
	n.line("VST1 [V28.S4], (R13)")
	n.ret()
}

// columnSum is gen's, on strips of four vectors, of one, and of single values.
func (n *vecNeon) columnSum() {
	n.function("columnSumF32", "acc *float64, a *float32, stride, rows, n int", "stores the sum of each column. Rows are stride values apart.", 40)
	n.arg("acc", 0, 0)
	n.arg("a", 8, 1)
	n.arg("stride", 16, 5)
	n.line("LSL $2, R5, R5")
	n.arg("n", 32, 4)
	strip := func(label string, values int) {
		n.line("%s:", label)
		n.line("CMP $%d, R4", values)
		n.line("BLT %sDone", label)
		n.line("MOVD R1, R13")
		n.arg("rows", 24, 14)
		vectors := (values + 3) / 4
		for i := range 2 * vectors {
			n.zero(16 + i)
		}
		n.line("CBZ R14, %sStore", label)
		n.line("%sRows:", label)
		switch values {
		case 16:
			n.line("VLD1.P (R13)(R5), %s", four(0))
		case 4:
			n.line("VLD1.P (R13)(R5), [V0.S4]")
		default:
			n.zero(0)
			n.line("VLD1.P (R13)(R5), V0.S[0]")
		}
		for v := range vectors {
			n.do1("FCVTL", 4, v)
			n.do1("FCVTL2", 5, v)
			n.do("FADD2D", 16+2*v, 16+2*v, 4)
			n.do("FADD2D", 17+2*v, 17+2*v, 5)
		}
		n.line("SUB $1, R14")
		n.line("CBNZ R14, %sRows", label)
		n.line("%sStore:", label)
		if values == 1 {
			n.line("VST1.P V16.D[0], 8(R0)")
		} else {
			for v := range vectors {
				n.line("VST1.P [V%d.D2, V%d.D2], 32(R0)", 16+2*v, 17+2*v)
			}
		}
		n.line("ADD $%d, R1", 4*values)
		n.line("SUB $%d, R4", values)
		n.line("B %s", label)
		n.line("%sDone:", label)
	}
	strip("wide", 16)
	strip("vector", 4)
	strip("single", 1)
	n.ret()
}
