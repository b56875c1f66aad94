package audio

import (
	"fmt"
	"math"
)

// The filter of Resample: zero crossings of the sinc on each side, and its cut-off as a share of the lower of the two Nyquist frequencies.
const (
	crossings = 6
	rolloff   = 0.99
)

// Resample is c at another rate. A sample is the band-limited interpolation of those around it, by a sinc under a Hann window:
//
//	y[m] = Σ_n x[n] f/r h(f (n/r - m/rate)),   h(t) = sin(πt)/(πt) cos²(πt/12) for |t| < 6, else 0
//
// where r is c.Rate and f is 0.99 times the lower rate; what is beyond the ends is 0. n samples become ⌈n rate/r⌉. (Source: J. O. Smith, "Digital
// audio resampling", 2002; the numbers are those that torchaudio takes unless told otherwise.)
func (c Clip) Resample(rate int) (Clip, error) {
	if err := c.check(); err != nil {
		return Clip{}, err
	}
	if rate < 1 || rate > math.MaxInt32 {
		return Clip{}, fmt.Errorf("audio: %d samples a second", rate)
	}
	out := Clip{Rate: rate}
	f := newFilter(c.Rate, rate)
	for _, x := range c.Channels {
		n := (int64(len(x))*int64(f.to) + int64(f.from) - 1) / int64(f.from)
		if n > maxResampled {
			return Clip{}, fmt.Errorf("audio: %d samples at a rate of %d would be %d at %d", len(x), c.Rate, n, rate)
		}
		y := make([]float32, n)
		if f.from == f.to {
			copy(y, x)
		} else {
			f.apply(y, x)
		}
		out.Channels = append(out.Channels, y)
	}
	return out, nil
}

// maxResampled is the most samples that Resample makes: rates are read from files.
const maxResampled = 1 << 30

// filter interpolates between two rates, which are divided by what they have in common: so the weights repeat after to samples.
type filter struct {
	from, to int
	weights  map[int64][]float64 // by the phase, m·from modulo to
}

func newFilter(from, to int) *filter {
	common := gcd(from, to)
	return &filter{from / common, to / common, map[int64][]float64{}}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// cutoff is f, in units in which the rates are from and to.
func (f *filter) cutoff() float64 { return rolloff * float64(min(f.from, f.to)) }

// width is how many samples on each side count.
func (f *filter) width() int { return int(math.Ceil(crossings * float64(f.from) / f.cutoff())) }

// apply computes y.
func (f *filter) apply(y, x []float32) {
	width := min(f.width(), len(x)) // farther away there is nothing, and rates may be of any size
	for m := range y {
		at := int64(m) * int64(f.from)
		n, phase := int(at/int64(f.to)), at%int64(f.to) // y[m] is phase/to of a sample behind x[n]
		w, ready := f.weights[phase]
		if !ready {
			w = f.phase(phase, width)
			f.weights[phase] = w
		}
		sum := 0.0
		for k := max(0, n-width); k <= min(len(x)-1, n+width); k++ {
			sum += float64(x[k]) * w[k-n+width]
		}
		y[m] = float32(sum)
	}
}

// phase is the weights of x[n-width] to x[n+width] for the point that is phase/to of a sample behind x[n].
func (f *filter) phase(phase int64, width int) []float64 {
	w := make([]float64, 2*width+1)
	scale := f.cutoff() / float64(f.from)
	for i := range w {
		t := (float64(i-width) - float64(phase)/float64(f.to)) * scale
		if math.Abs(t) >= crossings {
			continue
		}
		window := math.Cos(math.Pi * t / (2 * crossings))
		w[i] = scale * sinc(t) * window * window
	}
	return w
}

// sinc is sin(πt)/(πt).
func sinc(t float64) float64 {
	if t == 0 {
		return 1
	}
	return math.Sin(math.Pi*t) / (math.Pi * t)
}
