package limit

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

func Burn(level isa.Level)              { kernelsOf(level).fmaLoad(fmaTurns, &ones[0]) }
func BurnFlops(level isa.Level) float64 { return fmaTurns * 24 * float64(kernelsOf(level).lanes) }
