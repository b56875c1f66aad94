package interp

import "math"

// float64Opcodes work on pairs of lanes.
var float64Opcodes = map[string]operation{
	"VMOVUPD": func(m *Machine, in *inst) {
		src, dst := &in.args[0], &in.args[len(in.args)-1]
		n := max(src.lanes(), dst.lanes())
		k := uint16(1<<n - 1)
		if in.masked {
			r := in.args[1].n
			if !m.kSet[r] {
				failf("read of mask K%d, which was never written", r)
			}
			if dst.kind == vecReg && !in.zeroes {
				failf("merging into a register is not known")
			}
			k &= pairs(uint16(m.k[r]))
		}
		m.transfer(src, dst, n, k, in.masked)
	},
	"VMASKMOVPD": func(m *Machine, in *inst) { // mask by sign bits
		n := in.args[1].lanes()
		k := uint16(0)
		sign := m.vector(&in.args[1], n)
		for i := range n / 2 {
			k |= uint16(sign[2*i+1]>>31) << i
		}
		m.transfer(&in.args[0], &in.args[2], n, pairs(k), true)
	},
	"VBROADCASTSD": func(m *Machine, in *inst) {
		at := m.address(&in.args[0])
		v := [2]uint32{m.load32(at), m.load32(at + 4)}
		m.each(in, func(i int) uint32 { return v[i&1] })
	},
	"VADDPD":      doubles(false, func(b, a, _ float64) float64 { return a + b }),
	"VMAXPD":      doubles(false, func(b, a, _ float64) float64 { return pick(a > b, a, b) }),
	"VFMADD231PD": doubles(true, func(b, a, d float64) float64 { return math.FMA(a, b, d) }),
}

// pairs repeats each of the low 8 bits.
func pairs(k uint16) (r uint16) {
	for i := range 8 {
		r |= (k >> i & 1) * 3 << (2 * i)
	}
	return r
}

// doubles runs f on the pairs of lanes of two sources and, if it is a third, of the destination.
func doubles(third bool, f func(b, a, d float64) float64) func(*Machine, *inst) {
	return func(m *Machine, in *inst) {
		n := in.args[2].lanes()
		at := func(v *[16]uint32, i int) float64 {
			return math.Float64frombits(uint64(v[2*i]) | uint64(v[2*i+1])<<32)
		}
		b, a := m.vector(&in.args[0], n), m.vector(&in.args[1], n)
		var d [16]uint32
		if third {
			d = m.vector(&in.args[2], n)
		}
		m.each(in, func(i int) uint32 {
			r := math.Float64bits(f(at(&b, i/2), at(&a, i/2), at(&d, i/2)))
			return uint32(r >> (32 * (i & 1)))
		})
	}
}
