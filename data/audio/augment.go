package audio

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/cortado-ml/cortado/tensor"
)

// Augment changes what NewLogMel makes, f32[frames, bands], as another speaker in another room would have: each by an amount drawn at random.
type Augment struct {
	Frames int     // the sound comes up to so many frames earlier or later; what comes in is silence
	Bands  int     // the spectrum lies up to so many bands lower or higher, as that of a longer or shorter throat; the outermost band is repeated
	Noise  float64 // dB that the loudest noise lies below the loudest band of the sound; the quietest lies 40 dB lower. 0 adds no noise
}

// Transform is a data.Transform. The noise has the same mean energy in each band, and adds to that of the sound:
//
//	out[t, b] = ln(exp(x[t - later, b - higher]) - level ln(1 - u)),   u evenly from [0, 1) for each t, b
//
// since the energy of noise at one frequency has an exponential distribution.
func (a Augment) Transform(random *rand.Rand, x tensor.Tensor) error {
	if random == nil || x.DType() != tensor.F32 || x.Shape().Rank() != 2 {
		return fmt.Errorf("audio: no features to augment, f32[frames bands], or no source of chance: %v", x.Spec())
	}
	frames, bands := x.Shape().Dim(0), x.Shape().Dim(1)
	if a.Frames < 0 || a.Bands < 0 || a.Frames > frames || a.Bands > bands || !(a.Noise >= 0 && a.Noise <= math.MaxFloat64) {
		return fmt.Errorf("audio: %v cannot be moved by up to %d frames and %d bands, with noise %v dB below them", x.Spec(), a.Frames, a.Bands, a.Noise)
	}
	later, higher := within(random, a.Frames), within(random, a.Bands)
	now := tensor.Data[float32](x)
	was, loudest := make([]float32, len(now)), math.Inf(-1)
	copy(was, now)
	for _, v := range was {
		loudest = max(loudest, float64(v))
	}
	level := math.Exp(loudest - (a.Noise+40*unit(random))*math.Ln10/10)
	for t := range frames {
		for b := range bands {
			v := math.Log(silence)
			if from := t - later; from >= 0 && from < frames {
				v = float64(was[from*bands+min(bands-1, max(0, b-higher))])
			}
			if a.Noise > 0 {
				v = math.Log(math.Exp(v) - level*math.Log(1-unit(random)))
			}
			now[t*bands+b] = float32(v)
		}
	}
	return nil
}

// unit is a number from 0 to just below 1. It is written out here, since a resumed run must not depend on the version of Go.
func unit(random *rand.Rand) float64 { return float64(random.Uint64()>>11) / (1 << 53) }

// within is a number from -n to n.
func within(random *rand.Rand, n int) int { return int(unit(random)*float64(2*n+1)) - n }
