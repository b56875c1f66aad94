package gen

import "fmt"

// limitNEON prints the probes for arm64. It has no non-temporal stores of vectors that
// differ in speed, so the memory probes are two.
func limitNEON() (asm, stubs string) {
	n := &neon{}
	for _, p := range []struct {
		name, what string
		loads      int
	}{{"fmaNEON", "from registers", 0}, {"fmaLoadNEON", "and 8 loads", 8}} {
		fmt.Fprintf(&n.stubs, "\n// %s does n times 16 independent 4-lane FMAs %s. x points to a vector.\n//\n//go:noescape\nfunc %[1]s(n int, x *float32)\n", p.name, p.what)
		n.line("\nTEXT ·%s(SB), NOSPLIT, $0-16", p.name)
		n.line("MOVD n+0(FP), R0")
		n.line("MOVD x+8(FP), R1")
		n.line("VLD1 (R1), [V16.S4]")
		for i := range 16 {
			n.line("VEOR V%d.B16, V%[1]d.B16, V%[1]d.B16", i)
		}
		n.line("loop:")
		for i := range 16 {
			if i < p.loads {
				n.line("VLD1 (R1), [V17.S4]")
			}
			n.line("VFMLA V16.S4, V16.S4, V%d.S4", i)
		}
		n.line("SUB $1, R0")
		n.line("CBNZ R0, loop")
		n.line("RET")
	}
	for _, p := range []struct {
		name, what string
		inputs     int
	}{{"triadNEON", "a[i] = b[i]*b[i]+c[i]", 2}, {"mapNEON", "a[i] = b[i]*b[i]", 1}} {
		fmt.Fprintf(&n.stubs, "\n// %s stores %s for n times 16 values.\n//\n//go:noescape\nfunc %[1]s(n int, a, b, c *float32)\n", p.name, p.what)
		n.line("\nTEXT ·%s(SB), NOSPLIT, $0-32", p.name)
		for i, arg := range []string{"n", "a", "b", "c"} {
			n.line("MOVD %s+%d(FP), R%d", arg, 8*i, i)
		}
		n.line("loop:")
		n.line("VLD1.P 64(R2), [V0.S4, V1.S4, V2.S4, V3.S4]")
		if p.inputs == 2 {
			n.line("VLD1.P 64(R3), [V4.S4, V5.S4, V6.S4, V7.S4]")
		} else {
			for i := 4; i < 8; i++ {
				n.line("VEOR V%d.B16, V%[1]d.B16, V%[1]d.B16", i)
			}
		}
		for i := range 4 {
			n.line("VFMLA V%d.S4, V%[1]d.S4, V%d.S4", i, i+4)
		}
		n.line("VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R1)")
		n.line("SUB $1, R0")
		n.line("CBNZ R0, loop")
		n.line("RET")
	}
	return n.file("limit")
}
