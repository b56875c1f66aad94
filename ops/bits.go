package ops

import "math"

// Bits stores a float attribute so that it compares exactly: NaN equals itself, -0 differs from 0.
type Bits uint64

// F makes Bits.
func F(x float64) Bits { return Bits(math.Float64bits(x)) }

// Float is the value.
func (b Bits) Float() float64 { return math.Float64frombits(uint64(b)) }
