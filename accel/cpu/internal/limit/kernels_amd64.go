package limit

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

func kernelsOf(level isa.Level) kernels {
	switch {
	case level >= isa.AVX512:
		return kernels{
			chains: 12, lanes: 16, unit: 32,
			fma: fmaAVX512, fmaLoad: fmaLoadAVX512,
			triad: triadAVX512, triadStream: triadStreamAVX512,
			transform: mapAVX512, transformStream: mapStreamAVX512,
		}
	case level >= isa.AVX2:
		return kernels{
			chains: 12, lanes: 8, unit: 16,
			fma: fmaAVX2, fmaLoad: fmaLoadAVX2,
			triad: triadAVX2, triadStream: triadStreamAVX2,
			transform: mapAVX2, transformStream: mapStreamAVX2,
		}
	}
	return generic
}
