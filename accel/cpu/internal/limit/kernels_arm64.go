package limit

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

func kernelsOf(level isa.Level) kernels {
	if level == isa.NEON {
		return kernels{
			chains: 16, lanes: 4, unit: 16,
			fma: fmaNEON, fmaLoad: fmaLoadNEON,
			triad: triadNEON, triadStream: triadNEON,
			transform: mapNEON, transformStream: mapNEON,
		}
	}
	return generic
}
