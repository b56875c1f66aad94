package gen

// Instructions of NEON that Go's assembler lacks, on four float32 values unless the name says otherwise.
const (
	faddD   = 0x4e60d400 // float64
	fsub    = 0x4ea0d400
	fdiv    = 0x6e20fc00
	fcmeq   = 0x4e20e400
	fcmge   = 0x6e20e400 // second operand >= first
	fcmgt0  = 0x4ea0c800 // > 0
	cmlt0   = 0x4ea0a800 // integers < 0
	bic     = 0x4e601c00 // second operand and not first
	fcvtl   = 0x0e617800 // lower two to float64
	fcvtl2  = 0x4e617800 // upper two
	xtnH    = 0x0e612800 // integers to 16 bits, into the lower half
	xtn2H   = 0x4e612800 // into the upper half
	xtnB    = 0x0e212800 // 16 bits to bytes
	xtn2B   = 0x4e212800
	sxtlB   = 0x0f08a400 // bytes to 16 bits, from the lower half
	sxtl2B  = 0x4f08a400 // from the upper half
	sxtlH   = 0x0f10a400 // 16 bits to integers
	sxtl2H  = 0x4f10a400
	oneless = 0 // the first operand of an instruction that has only one
)

// passes prints batch-norm, pooling and the transposition.
func (n *convNeon) passes() {
	n.norm()
	n.pool()
	n.transpose4()
}

// args loads parameters from offset 0 on into the registers from R0 on.
func (n *convNeon) args(names ...string) {
	for i, name := range names {
		n.arg(name, 8*i, i, false)
	}
}

// loop ends a loop that counts R0 down.
func (n *convNeon) loop(label string) {
	n.line("SUB $1, R0")
	n.line("CBNZ R0, %s", label)
}

// widenAnd splits V%v into float64 halves in V%t and V%t+1, and calls f for each half.
func (n *convNeon) widenAnd(v, t int, f func(half, t int)) {
	n.arith("FCVTL", fcvtl, oneless, v, t)
	n.arith("FCVTL2", fcvtl2, oneless, v, t+1)
	f(0, t)
	f(1, t+1)
}

// reluGradient lets the gradient V%d pass where V%y is positive, and makes it NaN where V%y is NaN. It uses V%t.
func (n *convNeon) reluGradient(d, y, t int) {
	n.arith("FCMGT zero,", fcmgt0, oneless, y, t)
	n.line("VAND V%d.B16, V%d.B16, V%[2]d.B16", t, d)
	n.arith("FCMEQ", fcmeq, y, y, t)
	n.line("VBIF V%d.B16, V%d.B16, V%d.B16", t, y, d)
}

// storeSums stores 16 float64 sums from V%from on at R%p.
func (n *convNeon) storeSums(from, p int) {
	for i := 0; i < 8; i += 4 {
		n.line("VST1.P [V%d.D2, V%d.D2, V%d.D2, V%d.D2], 64(R%d)", from+i, from+i+1, from+i+2, from+i+3, p)
	}
}

func (n *convNeon) norm() {
	n.function("sumsF32", "n int, x *float32, sums *float64", "is what that of AVX2 is.", 24)
	n.args("n", "x", "sums")
	n.zero(8)
	n.line("loop:")
	n.line("VLD1.P 64(R1), %s", four(16))
	for j := range 4 {
		n.widenAnd(16+j, 20, func(half, t int) { n.arith("FADD float64", faddD, t, 2*j+half, 2*j+half) })
	}
	n.loop("loop")
	n.storeSums(0, 2)
	n.line("RET")

	n.function("squaresF32", "n int, x, mean *float32, sums *float64", "is what that of AVX2 is.", 32)
	n.args("n", "x", "mean", "sums")
	n.zero(8)
	n.line("VLD1 (R2), %s", four(24))
	n.line("loop:")
	n.line("VLD1.P 64(R1), %s", four(16))
	for j := range 4 {
		n.arith("FSUB", fsub, 24+j, 16+j, 16+j)
		n.widenAnd(16+j, 20, func(half, t int) { n.line("VFMLA V%d.D2, V%[1]d.D2, V%d.D2", t, 2*j+half) })
	}
	n.loop("loop")
	n.storeSums(0, 3)
	n.line("RET")

	n.function("normalizeF32", "n int, x, y, mean, scale, bias *float32, floor float32", "is what that of AVX2 is.", 52)
	n.args("n", "x", "y", "mean", "scale", "bias")
	for i := range 3 { // V16 mean, V20 scale, V24 bias
		n.line("VLD1 (R%d), %s", 3+i, four(16+4*i))
	}
	n.broadcast("floor", 48, 28)
	n.line("loop:")
	n.line("VLD1.P 64(R1), %s", four(0))
	for j := range 4 {
		n.arith("FSUB", fsub, 16+j, j, j)
		n.line("VORR V%d.B16, V%[1]d.B16, V%d.B16", 24+j, 4+j)
		n.line("VFMLA V%d.S4, V%d.S4, V%d.S4", 20+j, j, 4+j)
		n.arith("FMAX", fmax, 28, 4+j, 4+j)
	}
	n.line("VST1.P %s, 64(R2)", four(4))
	n.loop("loop")
	n.line("RET")

	for _, relu := range []bool{false, true} {
		n.normSums(relu)
		n.normGrad(relu)
	}

	n.function("reluGradF32", "n int, dy, y, dx *float32", "is what that of AVX2 is.", 32)
	n.args("n", "dy", "y", "dx")
	n.line("loop:")
	n.line("VLD1.P 64(R1), %s", four(0))
	n.line("VLD1.P 64(R2), %s", four(4))
	for j := range 4 {
		n.reluGradient(j, 4+j, 8)
	}
	n.line("VST1.P %s, 64(R3)", four(0))
	n.loop("loop")
	n.line("RET")
}

// broadcast loads a 32-bit parameter into every lane of V%v.
func (n *convNeon) broadcast(name string, offset, v int) {
	n.line("MOVWU %s+%d(FP), R15", name, offset)
	n.line("VDUP R15, V%d.S4", v)
}

// normSums sums in V0 to V15; V24 to V27 hold the mean.
func (n *convNeon) normSums(relu bool) {
	name, signature, names := "normSumsF32", "n int, dy, x, mean *float32, sums *float64", []string{"n", "dy", "x", "mean", "sums"}
	x := 2 // its register
	if relu {
		name, signature, names = "normSumsReLUF32", "n int, dy, y, x, mean *float32, sums *float64", []string{"n", "dy", "y", "x", "mean", "sums"}
		x = 3
	}
	n.function(name, signature, "is what that of AVX2 is.", 8*len(names))
	n.args(names...)
	n.zero(16)
	n.line("VLD1 (R%d), %s", x+1, four(24))
	n.line("loop:")
	for j := range 4 {
		n.line("VLD1.P 16(R1), [V16.S4]")
		if relu {
			n.line("VLD1.P 16(R2), [V17.S4]")
			n.reluGradient(16, 17, 18)
		}
		n.line("VLD1.P 16(R%d), [V19.S4]", x)
		n.arith("FSUB", fsub, 24+j, 19, 19)
		n.widenAnd(19, 20, func(int, int) {})
		n.widenAnd(16, 22, func(half, t int) {
			n.arith("FADD float64", faddD, t, 2*j+half, 2*j+half)
			n.line("VFMLA V%d.D2, V%d.D2, V%d.D2", t, 20+half, 8+2*j+half)
		})
	}
	n.loop("loop")
	n.storeSums(0, x+2)
	n.storeSums(8, x+2)
	n.line("RET")
}

// normGrad holds mean, p, q and r in V0 to V15.
func (n *convNeon) normGrad(relu bool) {
	name, signature, names := "normGradF32", "n int, dy, x, dx, mean, p, q, r *float32", []string{"n", "dy", "x", "dx", "mean", "p", "q", "r"}
	x := 2
	if relu {
		name, signature, names = "normGradReLUF32", "n int, dy, y, x, dx, mean, p, q, r *float32", []string{"n", "dy", "y", "x", "dx", "mean", "p", "q", "r"}
		x = 3
	}
	n.function(name, signature, "is what that of AVX2 is.", 8*len(names))
	n.args(names...)
	for i := range 4 {
		n.line("VLD1 (R%d), %s", x+2+i, four(4*i))
	}
	n.line("loop:")
	for j := range 4 {
		n.line("VLD1.P 16(R1), [V16.S4]")
		if relu {
			n.line("VLD1.P 16(R2), [V17.S4]")
			n.reluGradient(16, 17, 18)
		}
		n.line("VLD1.P 16(R%d), [V19.S4]", x)
		n.arith("FSUB", fsub, j, 19, 19)
		n.line("VORR V%d.B16, V%[1]d.B16, V20.B16", 12+j)
		n.line("VFMLA V%d.S4, V19.S4, V20.S4", 8+j)
		n.line("VFMLA V%d.S4, V16.S4, V20.S4", 4+j)
		n.line("VST1.P [V20.S4], 16(R%d)", x+1)
	}
	n.loop("loop")
	n.line("RET")
}

// window prints the loop over pixels around body, which may print the loop over
// taps around its argument. R0 to R5 are n, pixels, taps, table, x and y; R7 and
// R8 the places of a pixel, R11 that of a tap, whose number is in every lane of V26.
func (n *convNeon) window(body func(taps func(tap func()))) {
	n.args("n", "pixels", "taps", "table", "x", "y")
	n.line("pixel:")
	n.line("MOVW.P 4(R1), R7")
	n.line("MOVW.P 4(R1), R8")
	n.line("ADD R4, R7")
	body(func(tap func()) {
		n.line("MOVD R2, R9")
		n.line("MOVD R3, R10")
		n.line("tap:")
		n.line("MOVW.P 4(R10), R11")
		n.line("ADD R7, R11")
		n.line("VLD1R.P 4(R10), [V26.S4]")
		tap()
		n.line("SUB $1, R9")
		n.line("CBNZ R9, tap")
	})
	n.loop("pixel")
	n.line("RET")
}

// accumulate stores V16 to V19 in a tap, after adding what it holds if R12 is not 0.
func (n *convNeon) accumulate() {
	n.line("CBZ R12, store")
	n.line("VLD1 (R11), %s", four(20))
	n.addVectors(20, 16)
	n.line("store:")
	n.line("VST1 %s, (R11)", four(16))
}

func (n *convNeon) pool() {
	n.function("maxPoolF32", "n int, pixels *int32, taps int, table *int32, x, y *float32, win *uint8, floor float32, none int32", "is what that of AVX2 is.", 64)
	n.arg("win", 48, 6, false)
	n.broadcast("floor", 56, 24)
	n.broadcast("none", 60, 25)
	n.line("MOVD $%d, R15", NaNWon)
	n.line("VDUP R15, V27.S4")
	n.window(func(taps func(func())) { // V0 the best, V4 its tap
		for j := range 4 {
			n.line("VORR V24.B16, V24.B16, V%d.B16", j)
			n.line("VORR V25.B16, V25.B16, V%d.B16", 4+j)
		}
		taps(func() {
			n.line("VLD1 (R11), %s", four(16))
			for j := range 4 { // take what is not <= the best, unless that is NaN
				n.arith("FCMGE", fcmge, 16+j, j, 20)
				n.arith("FCMEQ", fcmeq, j, j, 21)
				n.arith("BIC", bic, 20, 21, 21)
				n.line("VBIT V21.B16, V%d.B16, V%d.B16", 16+j, j)
				n.line("VBIT V21.B16, V26.B16, V%d.B16", 4+j)
			}
		})
		for j := range 4 {
			n.arith("FCMEQ", fcmeq, j, j, 20)
			n.arith("BIC", bic, 20, 27, 20)
			n.line("VORR V20.B16, V%d.B16, V%[1]d.B16", 4+j)
		}
		n.line("ADD R5, R8, R13")
		n.line("VST1 %s, (R13)", four(0))
		n.arith("XTN", xtnH, oneless, 4, 16)
		n.arith("XTN2", xtn2H, oneless, 5, 16)
		n.arith("XTN", xtnH, oneless, 6, 17)
		n.arith("XTN2", xtn2H, oneless, 7, 17)
		n.arith("XTN", xtnB, oneless, 16, 18)
		n.arith("XTN2", xtn2B, oneless, 17, 18)
		n.line("ADD R8>>2, R6, R13")
		n.line("VST1 [V18.B16], (R13)")
	})

	n.function("maxPoolGradF32", "n int, pixels *int32, taps int, table *int32, x, y *float32, win *uint8, nan uint32, acc int", "is what that of AVX2 is.", 72)
	n.arg("win", 48, 6, false)
	n.broadcast("nan", 56, 25)
	n.arg("acc", 64, 12, false)
	n.line("MOVD $%d, R15", NoTap)
	n.line("VDUP R15, V27.S4")
	n.window(func(taps func(func())) { // V0 the gradient, V8 the tap that won
		n.line("ADD R5, R8, R13")
		n.line("VLD1 (R13), %s", four(0))
		n.line("ADD R8>>2, R6, R13")
		n.line("VLD1 (R13), [V4.B16]")
		n.arith("SXTL", sxtlB, oneless, 4, 5)
		n.arith("SXTL2", sxtl2B, oneless, 4, 6)
		for j, code := range []int{sxtlH, sxtl2H, sxtlH, sxtl2H} {
			n.arith("SXTL", code, oneless, 5+j/2, 8+j)
		}
		for j := range 4 {
			n.arith("CMLT zero,", cmlt0, oneless, 8+j, 20)
			n.line("VAND V25.B16, V20.B16, V20.B16")
			n.line("VORR V20.B16, V%d.B16, V%[1]d.B16", j)
			n.line("VAND V27.B16, V%d.B16, V%[1]d.B16", 8+j)
		}
		taps(func() {
			for j := range 4 {
				n.line("VCMEQ V26.S4, V%d.S4, V%d.S4", 8+j, 16+j)
				n.line("VAND V%d.B16, V%d.B16, V%[2]d.B16", j, 16+j)
			}
			n.accumulate()
		})
	})

	n.function("avgPoolF32", "n int, pixels *int32, taps int, table *int32, x, y *float32, count float32", "is what that of AVX2 is.", 52)
	n.broadcast("count", 48, 24)
	n.window(func(taps func(func())) {
		n.zero(4)
		taps(func() {
			n.line("VLD1 (R11), %s", four(16))
			n.addVectors(16, 0)
		})
		for j := range 4 {
			n.arith("FDIV", fdiv, 24, j, j)
		}
		n.line("ADD R5, R8")
		n.line("VST1 %s, (R8)", four(0))
	})

	n.function("avgPoolGradF32", "n int, pixels *int32, taps int, table *int32, x, y *float32, count float32, acc int", "is what that of AVX2 is.", 64)
	n.broadcast("count", 48, 24)
	n.arg("acc", 56, 12, false)
	n.window(func(taps func(func())) {
		n.line("ADD R5, R8")
		n.line("VLD1 (R8), %s", four(0))
		for j := range 4 {
			n.arith("FDIV", fdiv, 24, j, j)
		}
		taps(func() {
			for j := range 4 {
				n.line("VORR V%d.B16, V%[1]d.B16, V%d.B16", j, 16+j)
			}
			n.accumulate()
		})
	})
}

// transpose4 has the rows in V0 to V3, pairs of them in V4 to V7, and stores from V8.
func (n *convNeon) transpose4() {
	n.function("transpose4F32", "dst *float32, step int, src *float32, stride, k int", "is what that of AVX2 is.", 40)
	n.arg("dst", 0, 1, false)
	n.arg("step", 8, 2, true)
	n.arg("src", 16, 3, false)
	n.arg("stride", 24, 4, true)
	n.arg("k", 32, 0, false)
	n.line("ADD R4, R3, R5")
	n.line("ADD R4, R5, R6")
	n.line("ADD R4, R6, R7")
	n.line("LSR $2, R0, R0")
	n.line("loop:")
	for i, p := range []int{3, 5, 6, 7} {
		n.line("VLD1.P 16(R%d), [V%d.S4]", p, i)
	}
	for i, zip := range []string{"VZIP1", "VZIP2"} {
		n.line("%s V1.S4, V0.S4, V%d.S4", zip, 4+2*i)
		n.line("%s V3.S4, V2.S4, V%d.S4", zip, 5+2*i)
	}
	for i := range 4 {
		n.line("VZIP%d V%d.D2, V%d.D2, V8.D2", 1+i%2, 5+i/2*2, 4+i/2*2)
		n.line("VST1 [V8.S4], (R1)")
		n.line("ADD R2, R1")
	}
	n.loop("loop")
	n.line("RET")
}
