package exact

import "math"

// FMA returns a*b+c rounded once. The product is exact in float64; the sum is
// rounded to odd there, so that the second rounding to float32 is correct
// (S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums:
// proved algorithms using rounding to odd", 2008). float32(math.FMA(...)) would
// round twice.
func FMA(a, b, c float32) float32 {
	p, z := float64(a)*float64(b), float64(c)
	s := p + z
	t := s - p
	e := (p - (s - t)) + (z - t) // p + z = s + e exactly
	if u := math.Float64bits(s); e != 0 && u&1 == 0 && !math.IsNaN(e) {
		if (e > 0) == (s > 0) {
			u++
		} else {
			u--
		}
		s = math.Float64frombits(u)
	}
	return float32(s)
}
