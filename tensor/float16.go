package tensor

import "math"

// BFloat16 is the upper half of a float32: 8 bits of exponent, 7 of fraction.
type BFloat16 uint16

// Float16 is IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
type Float16 uint16

// ToBFloat16 rounds to nearest, ties to even. A NaN stays a NaN of the same sign and becomes quiet; what is too large becomes infinite.
func ToBFloat16(x float32) BFloat16 {
	b := math.Float32bits(x)
	if x != x {
		return BFloat16(b>>16 | 0x40)
	}
	return BFloat16((b + 0x7fff + b>>16&1) >> 16)
}

// Float32 is exact.
func (h BFloat16) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }

// ToFloat16 rounds to nearest, ties to even, into subnormals too. A NaN stays a quiet NaN of the same sign; from 65520 on the result is infinite.
func ToFloat16(x float32) Float16 {
	b := math.Float32bits(x)
	sign, mag := Float16(b>>16&0x8000), b&^(1<<31)
	switch {
	case mag > 0x7f800000: // NaN: keep the top of the payload
		return sign | 0x7e00 | Float16(mag>>13&0x3ff)
	case mag >= 0x47800000: // 65536 and more, infinity
		return sign | 0x7c00
	case mag >= 0x38800000: // 2^-14 and more: normal
		mag -= (127 - 15) << 23
		return sign | Float16((mag+0xfff+mag>>13&1)>>13)
	case mag < 0x33000000: // less than half of the least subnormal
		return sign
	}
	shift := 126 - mag>>23 // 14 to 24: the value is significand * 2^-(shift+10) in units of the least subnormal
	m := mag&0x7fffff | 0x800000
	half := uint32(1)<<(shift-1) - 1
	return sign | Float16((m+half+m>>shift&1)>>shift)
}

// Float32 is exact.
func (h Float16) Float32() float32 {
	sign, exp, frac := uint32(h)>>15<<31, uint32(h)>>10&0x1f, uint32(h)&0x3ff
	switch exp {
	case 0: // zero and subnormals: frac * 2^-24
		f := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f:
		if frac != 0 {
			frac |= 0x200
		}
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

// roundToOdd is x as a float32 that a second rounding to fewer bits treats as it would treat x: where x does not fit, the last bit is 1.
// Without it, float64 to bf16 through float32 rounds twice.
func roundToOdd(x float64) float32 {
	f := float32(x)
	if float64(f) == x || x != x || math.IsInf(float64(f), 0) {
		return f
	}
	b := math.Float32bits(f)
	if b&1 == 1 {
		return f
	}
	// f lies beside x; the odd neighbour on the other side of x encloses it.
	if math.Abs(float64(f)) > math.Abs(x) {
		b--
	} else {
		b++
	}
	return math.Float32frombits(b)
}
