package interp

// narrowOpcodes move between bytes and 32-bit lanes, and combine masks and bits.
var narrowOpcodes = map[string]operation{
	"KANDW": func(m *Machine, in *inst) {
		d := in.args[2].n
		m.k[d], m.kSet[d] = m.mask(in.args[0].n)&m.mask(in.args[1].n)&0xffff, true
	},
	"VPORD":        ints(func(b, a uint32) uint32 { return a | b }),
	"VPANDD":       ints(func(b, a uint32) uint32 { return a & b }),
	"VEXTRACTI128": extract,
	"VPMOVSXBD": func(m *Machine, in *inst) { // from memory
		b := m.bytes(m.address(&in.args[0]), in.args[1].lanes(), read)
		m.each(in, func(i int) uint32 { return uint32(int32(int8(b[i]))) })
	},
	"VPMOVDB": func(m *Machine, in *inst) { // to memory
		n := in.args[0].lanes()
		v := m.vector(&in.args[0], n)
		b := m.bytes(m.address(&in.args[1]), n, write)
		for i := range b {
			b[i] = byte(v[i])
		}
	},
	"VPACKUSDW": pack(func(v [2]uint32) uint32 { return saturate(int32(v[0]), 0xffff) | saturate(int32(v[1]), 0xffff)<<16 }),
	"VPACKUSWB": pack(func(v [2]uint32) (r uint32) {
		for i := range 4 {
			r |= saturate(int32(int16(v[i/2]>>(i%2*16))), 0xff) << (8 * i)
		}
		return r
	}),
}

// pack halves the width of values: in each 128 bits, two lanes of the second
// operand, and behind those two of the first, become one.
func pack(f func([2]uint32) uint32) func(*Machine, *inst) {
	return func(m *Machine, in *inst) {
		n := in.args[2].lanes()
		b, a := m.vector(&in.args[0], n), m.vector(&in.args[1], n)
		m.each(in, func(i int) uint32 {
			from, at := &a, i&^3+i&1*2
			if i&2 != 0 {
				from = &b
			}
			return f([2]uint32{from[at], from[at+1]})
		})
	}
}

// saturate is v as an unsigned integer of at most that size.
func saturate(v int32, largest uint32) uint32 { return min(uint32(max(v, 0)), largest) }
