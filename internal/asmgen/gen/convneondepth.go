package gen

import "fmt"

// addProducts adds the four vectors from V28 on, lane by lane, times those from V24 on to the four sums from V%to on.
func (n *convNeon) addProducts(to int) {
	for j := range 4 {
		n.line("VFMLA V%d.S4, V%d.S4, V%d.S4", 24+j, 28+j, to+j)
	}
}

// depth uses the registers of first.
func (n *convNeon) depth(rows int) {
	n.function(fmt.Sprintf("depth%dF32", rows),
		"taps int, table *int32, x *float32, xTable *int32, w *float32, wPlane int, y *float32, yTable *int32, yPlane int, bias *float32, mode int",
		fmt.Sprintf("is what that of AVX2 is: %d pixels.", rows), 88)
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
		n.line("VLD1 (R13), %s", four(28))
		n.addProducts(4 * i)
	}
	n.line("SUB $1, R0")
	n.line("CBNZ R0, tap")
	n.epilogue(rows, 48)
}

// depthWeightGradient uses the registers of firstWeightGradient.
func (n *convNeon) depthWeightGradient(rows int) {
	n.function(fmt.Sprintf("depthWgrad%dF32", rows),
		"n int, pairs *int32, x *float32, taps *int32, dy *float32, dyPlane int, dw *float32, dwPlane int, acc bool",
		fmt.Sprintf("is what that of AVX2 is: %d taps.", rows), 65)
	n.arg("n", 0, 0, false)
	n.arg("pairs", 8, 1, false)
	n.arg("x", 16, 10, false)
	n.arg("taps", 24, 11, false)
	for i := range rows {
		n.line("MOVW %d(R11), R%d", 4*i, 2+i)
		n.line("ADD R10, R%d", 2+i)
	}
	n.arg("dy", 32, 5, false)
	n.zero(4 * rows)
	n.line("pair:")
	n.line("MOVW.P 4(R1), R10")
	n.line("MOVW.P 4(R1), R11")
	n.line("ADD R5, R11")
	n.line("VLD1 (R11), %s", four(24))
	for i := range rows {
		n.line("ADD R10, R%d, R12", 2+i)
		n.line("VLD1 (R12), %s", four(28))
		n.addProducts(4 * i)
	}
	n.line("SUB $1, R0")
	n.line("CBNZ R0, pair")
	n.arg("dw", 48, 6, false)
	n.line("MOVBU acc+64(FP), R7")
	n.storeRows(rows, 0, "")
	n.line("RET")
}
