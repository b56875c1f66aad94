package gen

import "fmt"

// convNEON prints the kernels of package conv for arm64: the same tables and the
// same order of operations as AVX2's. A block of 16 channels is four vectors.
func convNEON() (asm, stubs string) {
	n := &convNeon{}
	for _, rows := range []int{6, 4} {
		n.conv(rows)
		n.first(rows)
	}
	for _, rows := range []int{6, 5} {
		n.weightGradient(rows)
	}
	for _, t := range AVX2.FirstWeightTiles() {
		n.firstWeightGradient(t[0], t[1])
	}
	for _, rows := range AVX2.DepthRows() {
		n.depth(rows)
	}
	for _, rows := range DepthWeightRows {
		n.depthWeightGradient(rows)
	}
	n.passes()
	return n.file("conv")
}

type convNeon struct{ neon }

// function starts a kernel whose arguments take that many bytes.
func (n *convNeon) function(name, signature, doc string, size int) {
	fmt.Fprintf(&n.stubs, "\n// %sNEON %s\n//\n//go:noescape\nfunc %[1]sNEON(%[3]s)\n", name, doc, signature)
	n.line("\nTEXT ·%sNEON(SB), NOSPLIT, $0-%d", name, size)
}

// arg loads a parameter, and with scale multiplies it by the size of a value.
func (n *convNeon) arg(name string, offset, register int, scale bool) {
	n.line("MOVD %s+%d(FP), R%d", name, offset, register)
	if scale {
		n.line("LSL $2, R%d, R%[1]d", register)
	}
}

// four lists the four vectors of a block from V%d on.
func four(from int) string {
	return fmt.Sprintf("[V%d.S4, V%d.S4, V%d.S4, V%d.S4]", from, from+1, from+2, from+3)
}

func (n *convNeon) zero(sums int) {
	for i := range sums {
		n.line("VEOR V%d.B16, V%[1]d.B16, V%[1]d.B16", i)
	}
}

// addRow adds the value in every lane of V%x times the four vectors from V%w on to the four sums from V%to on.
func (n *convNeon) addRow(x, w, to int) {
	for j := range 4 {
		n.line("VFMLA V%d.S4, V%d.S4, V%d.S4", w+j, x, to+j)
	}
}

// arith prints an instruction that Go's assembler lacks.
func (n *convNeon) arith(what string, code, m, v, d int) {
	n.line("WORD $0x%08x // %s V%d, V%d, V%d", code|m<<16|v<<5|d, what, m, v, d)
}

const fadd, fmax = 0x4e20d400, 0x4e20f400 // of four float32 values; FMAX of a NaN is NaN

// conv uses R0 and R1 for the taps and their table, R2 to R7 for the pixels, R8
// and R9 for the weights and the blocks left, R10 and R11 for x and the way from
// the end of a block to the next, R12 and R13 for w and scratch; V0 to V23 for
// the sums, V24 to V27 for weights, V28 to V31 for values of x.
func (n *convNeon) conv(rows int) {
	n.function(fmt.Sprintf("conv%dx1F32", rows),
		"taps int, table *int32, x *float32, blocks, xPlane int, w *float32, wPlane int, y *float32, yTable *int32, yPlane int, bias *float32, mode int",
		fmt.Sprintf("is what that of AVX2 is: %d pixels x 16 channels.", rows), 96)
	n.arg("taps", 0, 0, false)
	n.arg("table", 8, 1, false)
	n.arg("x", 16, 10, false)
	n.arg("xPlane", 32, 11, true)
	n.line("SUB $%d, R11", 4*Block)
	n.arg("w", 40, 12, false)
	n.zero(4 * rows)
	n.line("tap:")
	n.line("MOVW.P 4(R1), R8")
	n.line("ADD R12, R8")
	for i := range rows {
		n.line("MOVW.P 4(R1), R%d", 2+i)
		n.line("ADD R10, R%d", 2+i)
	}
	n.arg("blocks", 24, 9, false)
	n.line("block:")
	for range Block {
		n.line("VLD1.P 64(R8), %s", four(24))
		for i := range rows {
			n.line("VLD1R.P 4(R%d), [V%d.S4]", 2+i, 28+i%4)
			n.addRow(28+i%4, 24, 4*i)
		}
	}
	for i := range rows {
		n.line("ADD R11, R%d", 2+i)
	}
	n.line("SUB $1, R9")
	n.line("CBNZ R9, block")
	n.line("SUB $1, R0")
	n.line("CBNZ R0, tap")
	n.epilogue(rows, 56)
}

// first uses R0 and R1 for the taps and their table, R2 to R7 for the pixels, R8
// and R9 for the weights and the tap's offset, R10 and R12 for x and w.
func (n *convNeon) first(rows int) {
	n.function(fmt.Sprintf("first%dx1F32", rows),
		"taps int, table *int32, x *float32, xTable *int32, w *float32, wPlane int, y *float32, yTable *int32, yPlane int, bias *float32, mode int",
		fmt.Sprintf("is what that of AVX2 is: %d pixels x 16 channels.", rows), 88)
	n.arg("taps", 0, 0, false)
	n.arg("table", 8, 1, false)
	n.arg("x", 16, 10, false)
	n.arg("xTable", 24, 9, false)
	n.arg("w", 32, 12, false)
	for i := range rows {
		n.line("MOVW %d(R9), R%d", 4*i, 2+i)
		n.line("ADD R10, R%d", 2+i)
	}
	n.zero(4 * rows)
	n.line("tap:")
	n.line("MOVW.P 4(R1), R8")
	n.line("MOVW.P 4(R1), R9")
	n.line("ADD R12, R8")
	n.line("VLD1 (R8), %s", four(24))
	for i := range rows {
		n.line("ADD R9, R%d, R13", 2+i)
		n.line("VLD1R (R13), [V%d.S4]", 28+i%4)
		n.addRow(28+i%4, 24, 4*i)
	}
	n.line("SUB $1, R0")
	n.line("CBNZ R0, tap")
	n.epilogue(rows, 48)
}

// epilogue stores the tile as the mode says; its arguments start at that offset.
// All of the old output is read before anything is written.
func (n *convNeon) epilogue(rows, at int) {
	n.arg("y", at, 0, false)
	n.arg("yTable", at+8, 1, false)
	n.arg("bias", at+24, 2, false)
	n.arg("mode", at+32, 3, false)
	each := func(f func(i int)) { // with the output of row i in R5
		for i := range rows {
			n.line("MOVW %d(R1), R5", 4*i)
			n.line("ADD R0, R5")
			f(i)
		}
	}
	n.line("TBZ $0, R3, bias")
	each(func(i int) {
		n.line("VLD1 (R5), %s", four(24))
		n.addVectors(24, 4*i)
	})
	n.line("bias:")
	n.line("TBZ $1, R3, relu")
	n.line("VLD1 (R2), %s", four(24))
	for i := range rows {
		n.addVectors(24, 4*i)
	}
	n.line("relu:")
	n.line("TBZ $2, R3, store")
	n.line("VEOR V24.B16, V24.B16, V24.B16")
	for i := range 4 * rows {
		n.arith("FMAX", fmax, 24, i, i)
	}
	n.line("store:")
	each(func(i int) { n.line("VST1 %s, (R5)", four(4*i)) })
	n.line("RET")
}

// addVectors adds four vectors to four others.
func (n *convNeon) addVectors(from, to int) {
	for j := range 4 {
		n.arith("FADD", fadd, from+j, to+j, to+j)
	}
}

// weightGradient uses R0 and R1 for the pairs, R2 and R3 for x and dy, R4 and R5 for those of a pair.
func (n *convNeon) weightGradient(rows int) {
	n.function(fmt.Sprintf("wgrad%dx1F32", rows),
		"n int, pairs *int32, x, dy *float32, dyPlane int, dw *float32, dwPlane int, acc bool",
		fmt.Sprintf("is what that of AVX2 is: %d input x 16 output channels.", rows), 57)
	n.arg("n", 0, 0, false)
	n.arg("pairs", 8, 1, false)
	n.arg("x", 16, 2, false)
	n.arg("dy", 24, 3, false)
	n.zero(4 * rows)
	n.line("pair:")
	n.line("MOVW.P 4(R1), R4")
	n.line("MOVW.P 4(R1), R5")
	n.line("ADD R2, R4")
	n.line("ADD R3, R5")
	n.line("VLD1 (R5), %s", four(24))
	for i := range rows {
		n.line("VLD1R.P 4(R4), [V%d.S4]", 28+i%4)
		n.addRow(28+i%4, 24, 4*i)
	}
	n.line("SUB $1, R0")
	n.line("CBNZ R0, pair")
	n.arg("dw", 40, 6, false)
	n.line("MOVBU acc+56(FP), R7")
	n.storeRows(rows, 0, "")
	n.line("RET")
}

// storeRows stores rows of four sums at R6, or adds them if R7 is not 0. With more blocks, the sums of a row lie apart.
func (n *convNeon) storeRows(rows, first int, label string) {
	n.line("CBZ R7, store%s", label)
	n.line("MOVD R6, R8")
	for i := range rows {
		n.line("VLD1.P 64(R8), %s", four(24))
		n.addVectors(24, first+4*i)
	}
	n.line("store%s:", label)
	n.line("MOVD R6, R8")
	for i := range rows {
		n.line("VST1.P %s, 64(R8)", four(first+4*i))
	}
}

// firstWeightGradient uses R0 and R1 for the pairs, R2 to R4 for the taps, R5
// and R9 for dy and the distance of its blocks, R10 to R12 for those of a pair;
// V0 on for the sums, block by block, V24 to V27 for dy, V28 to V30 for x.
func (n *convNeon) firstWeightGradient(rows, blocks int) {
	n.function(fmt.Sprintf("firstWgrad%dx%dF32", rows, blocks),
		"n int, pairs *int32, x *float32, taps *int32, dy *float32, dyPlane int, dw *float32, dwPlane int, acc bool",
		fmt.Sprintf("is what that of AVX2 is: %d taps x %d channels.", rows, blocks*Block), 65)
	n.arg("n", 0, 0, false)
	n.arg("pairs", 8, 1, false)
	n.arg("x", 16, 10, false)
	n.arg("taps", 24, 11, false)
	for i := range rows {
		n.line("MOVW %d(R11), R%d", 4*i, 2+i)
		n.line("ADD R10, R%d", 2+i)
	}
	n.arg("dy", 32, 5, false)
	n.arg("dyPlane", 40, 9, true)
	n.zero(4 * rows * blocks)
	n.line("pair:")
	n.line("MOVW.P 4(R1), R10")
	n.line("MOVW.P 4(R1), R11")
	n.line("ADD R5, R11")
	for i := range rows {
		n.line("ADD R10, R%d, R12", 2+i)
		n.line("VLD1R (R12), [V%d.S4]", 28+i)
	}
	for b := range blocks {
		if b > 0 {
			n.line("ADD R9, R11")
		}
		n.line("VLD1 (R11), %s", four(24))
		for i := range rows {
			n.addRow(28+i, 24, 4*(b*rows+i))
		}
	}
	n.line("SUB $1, R0")
	n.line("CBNZ R0, pair")
	n.arg("dw", 48, 6, false)
	n.line("MOVBU acc+64(FP), R7")
	for b := range blocks {
		if b > 0 {
			n.arg("dwPlane", 56, 8, true)
			n.line("ADD R8, R6")
		}
		n.storeRows(rows, 4*b*rows, fmt.Sprint(b))
	}
	n.line("RET")
}
