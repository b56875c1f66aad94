package gen

import (
	"fmt"
	"strings"
)

// gemmNEON prints the matmul tiles for arm64: the same tiles and the same order
// of operations as gemm.
func gemmNEON() (asm, stubs string) {
	n := &neon{}
	for _, e := range []float{float32s, float64s} {
		for _, rows := range []int{8, 4, 2, 1} {
			for nv := 2; nv >= 1; nv-- {
				n.tile(e, rows, nv)
			}
		}
	}
	return n.file("gemm")
}

// Registers: R0 steps left, R1 to R8 rows of A, R9 and R10 B and its step, R11
// and R12 distances in A, V0 to V15 the sums, V16 to V18 operands.
func (n *neon) tile(e float, rows, nv int) {
	name, shift, lanes := fmt.Sprintf("gemm%dx%d%sNEON", rows, nv, e.name), map[int]int{4: 2, 8: 3}[e.size], 16/e.size
	fmt.Fprintf(&n.stubs, "\n// %s stores the product of %d rows of A and %d columns of B in the left n columns of a tile of C.\n//\n//go:noescape\nfunc %[1]s(k int, a *%[4]s, aRow, aStep int, b *%[4]s, bStep int, c *%[4]s, ldc, n int, bias *%[4]s, mode int)\n", name, rows, nv*lanes, e.goType)
	t := neonTile{n, e, rows, nv, "S4", shift}
	if e.size == 8 {
		t.lane = "D2"
	}
	n.line("\nTEXT ·%s(SB), NOSPLIT, $32-88", name)
	n.line("MOVD k+0(FP), R0")
	n.line("MOVD a+8(FP), R1")
	n.line("MOVD aRow+16(FP), R11")
	n.line("LSL $%d, R11, R11", shift)
	n.line("MOVD aStep+24(FP), R12")
	n.line("LSL $%d, R12, R12", shift)
	n.line("MOVD b+32(FP), R9")
	n.line("MOVD bStep+40(FP), R10")
	n.line("LSL $%d, R10, R10", shift)
	for i := 1; i < rows; i++ {
		n.line("ADD R11, R%d, R%d", i, i+1)
	}
	for i := range rows * nv {
		n.line("VEOR V%d.B16, V%[1]d.B16, V%[1]d.B16", i)
	}
	n.line("CBZ R0, finish")
	n.line("loop:")
	n.line("VLD1.P (R9)(R10), [%s]", t.vectors(16))
	for i := range rows {
		n.line("VLD1R.P (R%d)(R12), [V18.%s]", i+1, t.lane)
		for j := range nv {
			n.line("VFMLA V%d.%s, V18.%[2]s, V%d.%[2]s", 16+j, t.lane, i*nv+j)
		}
	}
	n.line("SUB $1, R0")
	n.line("CBNZ R0, loop")
	n.line("finish:")
	n.line("MOVD n+64(FP), R3")
	n.line("CMP $%d, R3", nv*lanes)
	n.line("BNE edge")
	t.finish(false)
	n.line("edge:")
	t.finish(true)
}

type neonTile struct {
	*neon
	float
	rows, nv int
	lane     string // arrangement of a vector
	shift    int    // log2 of a value's bytes
}

// vectors lists the registers of one row.
func (t neonTile) vectors(from int) string {
	var s []string
	for j := range t.nv {
		s = append(s, fmt.Sprintf("V%d.%s", from+j, t.lane))
	}
	return strings.Join(s, ", ")
}

// arith prints an instruction that Go's assembler lacks, by its encoding for float32.
func (t neonTile) arith(what string, code uint32, m, n, d int) {
	if t.size == 8 {
		code |= 1 << 22
	}
	t.line("WORD $0x%08x // %s V%d, V%d, V%d", code|uint32(m<<16|n<<5|d), what, m, n, d)
}

// finish does what the mode says and stores the tile. Rows of which only n
// values exist go through the frame. Registers: R1 and R2 C and the distance of its
// rows, R3 n, R4 bias, R5 mode, R6 row, R7 frame.
func (t neonTile) finish(edge bool) {
	suffix := ""
	t.line("MOVD c+48(FP), R1")
	t.line("MOVD ldc+56(FP), R2")
	t.line("LSL $%d, R2, R2", t.shift)
	t.line("MOVD bias+72(FP), R4")
	t.line("MOVD mode+80(FP), R5")
	if edge {
		suffix = "Edge"
		t.line("MOVD $row-32(SP), R7")
	}
	load := func(ptr, label string) { // to V16 and V17
		if edge {
			t.copy(ptr, "R7", label+suffix)
			ptr = "R7"
		}
		t.line("VLD1 (%s), [%s]", ptr, t.vectors(16))
	}
	add := func(i int) {
		for j := range t.nv {
			t.arith("FADD", 0x4e20d400, 16+j, i*t.nv+j, i*t.nv+j)
		}
	}
	t.line("TBZ $0, R5, bias%s", suffix)
	t.line("MOVD R1, R6")
	for i := range t.rows {
		load("R6", fmt.Sprintf("old%d", i))
		add(i)
		t.line("ADD R2, R6")
	}
	t.line("bias%s:", suffix)
	t.line("TBZ $1, R5, relu%s", suffix)
	load("R4", "each")
	for i := range t.rows {
		add(i)
	}
	t.line("relu%s:", suffix)
	t.line("TBZ $2, R5, store%s", suffix)
	for i := range t.rows * t.nv {
		t.arith("FCMLT zero,", 0x4ea0e800, 0, i, 18)
		t.line("WORD $0x%08x // BIC V18, V%d, V%[2]d", 0x4e601c00|18<<16|i<<5|i, i)
	}
	t.line("store%s:", suffix)
	for i := range t.rows {
		if edge {
			t.line("VST1 [%s], (R7)", t.vectors(i*t.nv))
			t.copy("R7", "R1", fmt.Sprintf("new%d", i))
		} else {
			t.line("VST1 [%s], (R1)", t.vectors(i*t.nv))
		}
		t.line("ADD R2, R1")
	}
	t.line("RET")
}

// copy prints a loop that copies n values.
func (t neonTile) copy(from, to, label string) {
	move := "MOVWU"
	store := "MOVW"
	if t.size == 8 {
		move, store = "MOVD", "MOVD"
	}
	t.line("MOVD %s, R8", from)
	t.line("MOVD %s, R9", to)
	t.line("MOVD R3, R10")
	t.line("%s:", label)
	t.line("%s.P %d(R8), R11", move, t.size)
	t.line("%s.P R11, %d(R9)", store, t.size)
	t.line("SUB $1, R10")
	t.line("CBNZ R10, %s", label)
}
