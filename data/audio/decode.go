package audio

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/cortado-ml/cortado/tensor"
)

// OpenWAV reads the WAV file at path as DecodeWAV does.
func OpenWAV(path string, rate, samples int, features *Features) (tensor.Tensor, error) {
	file, err := os.Open(path)
	if err != nil {
		return tensor.Tensor{}, fmt.Errorf("audio: %w", err)
	}
	defer file.Close()
	x, err := DecodeWAV(file, rate, samples, features)
	if err != nil {
		return tensor.Tensor{}, named(path, err)
	}
	return x, nil
}

// named puts a file's name into an error of this package.
func named(file string, err error) error {
	return fmt.Errorf("audio: %s: %w", file, &inner{err})
}

// inner is an error of this package within another, which names the package already.
type inner struct{ error }

func (e *inner) Error() string { return strings.TrimPrefix(e.error.Error(), "audio: ") }

func (e *inner) Unwrap() error { return e.error }

// DecodeWAV reads a WAV file as a network wants it, f32[samples] or the features of so many samples; features may be nil for none. Whatever the file
// holds:
//   - its channels become one, their mean;
//   - it is cut to the given number of samples, so that half of its energy is on each side of the middle: a word stands in the same place wherever the
//     recording has it. What is beyond the ends of the file is 0;
//   - it is resampled to the given rate, as Clip.Resample does. A file of fewer than 1,000 or more than 192,000 samples a second is refused,
//     and so is one with a sample that is NaN or infinite.
func DecodeWAV(r io.Reader, rate, samples int, features *Features) (tensor.Tensor, error) {
	f, err := newForm(rate, samples, features)
	if err != nil {
		return tensor.Tensor{}, err
	}
	x := tensor.New(f.x)
	if err := f.decode(r, x); err != nil {
		return tensor.Tensor{}, err
	}
	return x, nil
}

// form is the form in which sounds are wanted.
type form struct {
	rate, samples int
	features      *Features
	x             tensor.Spec
}

func newForm(rate, samples int, features *Features) (form, error) {
	if rate < 1 || rate > math.MaxInt32 || samples < 1 {
		return form{}, fmt.Errorf("audio: %d samples, %d a second", samples, rate)
	}
	x := tensor.SpecOf(tensor.F32, samples)
	if features != nil {
		x = features.Spec(samples)
		if features.Rate() != rate {
			return form{}, fmt.Errorf("audio: features for %d samples a second, of sounds with %d", features.Rate(), rate)
		}
	}
	if err := x.Check(); err != nil {
		return form{}, fmt.Errorf("audio: %d samples: %w", samples, err)
	}
	return form{rate, samples, features, x}, nil
}

// The rates of files: a resampler between others would ask for memory that the size of the file does not suggest.
const minRate, maxRate = 1000, 192000

// decode reads a WAV file into x.
func (f form) decode(r io.Reader, x tensor.Tensor) error {
	c, err := ReadWAV(r)
	if err != nil {
		return err
	}
	if c.Rate < minRate || c.Rate > maxRate {
		return fmt.Errorf("audio: a WAV file of %d samples a second: from %d to %d can be used", c.Rate, minRate, maxRate)
	}
	if c, err = c.Mono(); err != nil {
		return err
	}
	for i, v := range c.Channels[0] {
		if v-v != 0 {
			return fmt.Errorf("audio: a WAV file whose sample %d is %v", i, v)
		}
	}
	n := (int64(f.samples)*int64(c.Rate) + int64(f.rate) - 1) / int64(f.rate)
	if n > maxResampled {
		return errors.New("audio: so many samples are too many")
	}
	c.Channels[0] = middle(c.Channels[0], int(n))
	if c, err = c.Resample(f.rate); err != nil {
		return err
	}
	sound := c.Channels[0][:f.samples]
	if f.features == nil {
		copy(tensor.Data[float32](x), sound)
		return nil
	}
	return f.features.Write(sound, x)
}

// middle is n samples of x, with zeros where it has none, about the first sample that has half of the energy up to it.
func middle(x []float32, n int) []float32 {
	total, before := 0.0, 0.0
	for _, v := range x {
		total += float64(v) * float64(v)
	}
	center := 0
	for i, v := range x {
		if before += float64(v) * float64(v); before >= total/2 {
			center = i
			break
		}
	}
	out := make([]float32, n)
	start := center - n/2
	copy(out[max(0, -start):], x[max(0, start):])
	return out
}
