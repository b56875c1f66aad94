package interp

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/cortado-ml/cortado/tensor"
)

// laneOpcodes select lanes, widen them and narrow them.
var laneOpcodes = map[string]operation{
	"VCMPPS":    compare,
	"VORPS":     ints(func(b, a uint32) uint32 { return a | b }),
	"VDIVPS":    floats(func(b, a float32) float32 { return a / b }),
	"VSQRTPS":   unary(func(a float32) uint32 { return math.Float32bits(float32(math.Sqrt(float64(a)))) }),
	"VCVTDQ2PS": ints1(func(a uint32) uint32 { return math.Float32bits(float32(int32(a))) }),
	"VPSRLD":    ints(func(n, a uint32) uint32 { return a >> n }),
	"VPCMPGTD": func(m *Machine, in *inst) {
		b, a := m.vector(&in.args[0], in.args[1].lanes()), m.vector(&in.args[1], in.args[1].lanes())
		m.putMask(in, func(i int) bool { return int32(a[i]) > int32(b[i]) })
	},
	"VPADDQ":   quads(func(b, a uint64) uint64 { return a + b }),
	"VPMULUDQ": quads(func(b, a uint64) uint64 { return a & math.MaxUint32 * (b & math.MaxUint32) }),
	"VPSRLQ":   shiftQuads(func(n, a uint64) uint64 { return a >> n }),
	"VPSLLQ":   shiftQuads(func(n, a uint64) uint64 { return a << n }),
	"VPBROADCASTQ": func(m *Machine, in *inst) {
		at := m.address(&in.args[0])
		v := [2]uint32{m.load32(at), m.load32(at + 4)}
		m.each(in, func(i int) uint32 { return v[i&1] })
	},
	"VPCMPEQD": func(m *Machine, in *inst) {
		b, a := m.vector(&in.args[0], in.args[1].lanes()), m.vector(&in.args[1], in.args[1].lanes())
		m.putMask(in, func(i int) bool { return a[i] == b[i] })
	},
	"VBLENDVPS": func(m *Machine, in *inst) { // by sign bits: the second operand where set, else the third
		n := in.args[3].lanes()
		k, yes, no := m.vector(&in.args[0], n), m.vector(&in.args[1], n), m.vector(&in.args[2], n)
		m.each(in, func(i int) uint32 {
			if k[i]>>31 != 0 {
				return yes[i]
			}
			return no[i]
		})
	},
	"VBLENDMPS": func(m *Machine, in *inst) { // the first operand where the mask is set, else the second
		n := in.args[3].lanes()
		yes, no, k := m.vector(&in.args[0], n), m.vector(&in.args[1], n), m.mask(in.args[2].n)
		for i := range n {
			if k>>i&1 != 0 {
				no[i] = yes[i]
			}
		}
		m.setVector(&in.args[3], &no)
	},
	"VCVTPS2PD": func(m *Machine, in *inst) {
		a := m.vector(&in.args[0], in.args[1].lanes()/2)
		m.each(in, func(i int) uint32 {
			return uint32(math.Float64bits(float64(math.Float32frombits(a[i/2]))) >> (32 * (i & 1)))
		})
	},
	"VSUBPD":        doubles(false, func(b, a, _ float64) float64 { return a - b }),
	"VEXTRACTF128":  extract,
	"VEXTRACTF64X4": extract,
	"VPMOVZXWD": func(m *Machine, in *inst) {
		b := m.bytes(m.address(&in.args[0]), 2*in.args[1].lanes(), read)
		m.each(in, func(i int) uint32 { return uint32(b[2*i]) | uint32(b[2*i+1])<<8 })
	},
	"VPMOVDW": func(m *Machine, in *inst) { m.storeWords(in, 0, func(x uint32) uint16 { return uint16(x) }) },
	"VCVTPS2PH": func(m *Machine, in *inst) {
		if in.args[0].imm != 0 {
			failf("only rounding to nearest even is known")
		}
		m.storeWords(in, 1, func(x uint32) uint16 { return uint16(tensor.ToFloat16(math.Float32frombits(x))) })
	},
	"VCVTPH2PS": func(m *Machine, in *inst) {
		b := m.bytes(m.address(&in.args[0]), 2*in.args[1].lanes(), read)
		m.each(in, func(i int) uint32 {
			return math.Float32bits(tensor.Float16(uint16(b[2*i]) | uint16(b[2*i+1])<<8).Float32())
		})
	},
	"VPMOVZXBD": func(m *Machine, in *inst) {
		b := m.bytes(m.address(&in.args[0]), in.args[1].lanes(), read)
		m.each(in, func(i int) uint32 { return uint32(b[i]) })
	},
	"VMOVDQU8": func(m *Machine, in *inst) { // between registers, under a mask that zeroes
		if !in.masked || !in.zeroes || in.args[0].kind != vecReg || in.args[2].kind != vecReg {
			failf("only register to register under a zeroing mask is known")
		}
		a, k := m.vector(&in.args[0], in.args[2].lanes()), m.mask(in.args[1].n)
		for i := range 4 * in.args[2].lanes() {
			if k>>i&1 == 0 {
				a[i/4] &^= 0xff << (8 * (i % 4))
			}
		}
		m.setVector(&in.args[2], &a)
	},
	"PDEPQ": func(m *Machine, in *inst) { // the low bits of the second operand go where the first has ones
		where, from, r := m.get(&in.args[0], 8), m.get(&in.args[1], 8), uint64(0)
		for ; where != 0; where &= where - 1 {
			r |= from & 1 << bits.TrailingZeros64(where)
			from >>= 1
		}
		m.put(&in.args[2], r)
	},
}

// predicates are those of CMPPS that raise nothing for a quiet NaN.
var predicates = map[int64]func(a, b float32) bool{
	0x00: func(a, b float32) bool { return a == b },
	0x03: func(a, b float32) bool { return a != a || b != b },
	0x04: func(a, b float32) bool { return a != b },
	0x07: func(a, b float32) bool { return a == a && b == b },
	0x11: func(a, b float32) bool { return a < b },
	0x12: func(a, b float32) bool { return a <= b },
	0x16: func(a, b float32) bool { return !(a <= b) },
	0x19: func(a, b float32) bool { return !(a >= b) },
	0x1e: func(a, b float32) bool { return a > b },
}

func compare(m *Machine, in *inst) {
	p := predicates[in.args[0].imm]
	if p == nil {
		failf("the predicate %#x is not known", in.args[0].imm)
	}
	n := in.args[2].lanes()
	b, a := m.vector(&in.args[1], n), m.vector(&in.args[2], n)
	m.putMask(in, func(i int) bool { return p(math.Float32frombits(a[i]), math.Float32frombits(b[i])) })
}

// putMask writes the last operand: a mask register, or a vector of all ones or zeros.
func (m *Machine) putMask(in *inst, f func(i int) bool) {
	d := &in.args[len(in.args)-1]
	if d.kind == vecReg {
		m.each(in, func(i int) uint32 { return -bit(f(i)) })
		return
	}
	k := uint64(0)
	for i := range in.args[len(in.args)-2].lanes() {
		k |= uint64(bit(f(i))) << i
	}
	m.k[d.n], m.kSet[d.n] = k, true
}

// mask is the content of a mask register.
func (m *Machine) mask(r int) uint64 {
	if !m.kSet[r] {
		failf("read of mask K%d, which was never written", r)
	}
	return m.k[r]
}

// ints1 runs f on the lanes of one source.
func ints1(f func(a uint32) uint32) func(*Machine, *inst) {
	return func(m *Machine, in *inst) {
		a := m.vector(&in.args[0], in.args[1].lanes())
		m.each(in, func(i int) uint32 { return f(a[i]) })
	}
}

// extract takes the upper half, or the lower one, of a register.
func extract(m *Machine, in *inst) {
	a := m.vector(&in.args[1], in.args[1].lanes())
	from := int(in.args[0].imm) * in.args[2].lanes()
	m.each(in, func(i int) uint32 { return a[from+i] })
}

// storeWords stores f of each lane of an operand, in memory.
func (m *Machine) storeWords(in *inst, operand int, f func(x uint32) uint16) {
	src := &in.args[operand]
	v := m.vector(src, src.lanes())
	b := m.bytes(m.address(&in.args[operand+1]), 2*src.lanes(), write)
	for i := range src.lanes() {
		binary.LittleEndian.PutUint16(b[2*i:], f(v[i]))
	}
}

// quads runs f on the 64-bit lanes of two sources.
func quads(f func(b, a uint64) uint64) func(*Machine, *inst) {
	return func(m *Machine, in *inst) {
		n := in.args[2].lanes()
		b, a := m.vector(&in.args[0], n), m.vector(&in.args[1], n)
		m.each(in, func(i int) uint32 { return uint32(f(quad(&b, i/2), quad(&a, i/2)) >> (32 * (i & 1))) })
	}
}

// shiftQuads runs f on an immediate and the 64-bit lanes of a source.
func shiftQuads(f func(n, a uint64) uint64) func(*Machine, *inst) {
	return func(m *Machine, in *inst) {
		a := m.vector(&in.args[1], in.args[2].lanes())
		m.each(in, func(i int) uint32 { return uint32(f(uint64(in.args[0].imm), quad(&a, i/2)) >> (32 * (i & 1))) })
	}
}

func quad(v *[16]uint32, i int) uint64 { return uint64(v[2*i]) | uint64(v[2*i+1])<<32 }
