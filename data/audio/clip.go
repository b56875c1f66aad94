package audio

import (
	"fmt"
	"math"
)

// Clip is a piece of sound.
type Clip struct {
	Rate     int         // samples in a second
	Channels [][]float32 // all of one length; full scale is from -1 to 1
}

// Len is the number of samples of a channel.
func (c Clip) Len() int {
	if len(c.Channels) == 0 {
		return 0
	}
	return len(c.Channels[0])
}

// check refuses what is no sound.
func (c Clip) check() error {
	if c.Rate < 1 || c.Rate > math.MaxInt32 {
		return fmt.Errorf("audio: %d samples a second", c.Rate)
	}
	if len(c.Channels) == 0 {
		return fmt.Errorf("audio: a clip without a channel")
	}
	for i, ch := range c.Channels {
		if len(ch) != c.Len() {
			return fmt.Errorf("audio: channel %d has %d samples, but channel 0 has %d", i, len(ch), c.Len())
		}
	}
	return nil
}

// Mono is the mean of the channels, which are all of one length.
func (c Clip) Mono() (Clip, error) {
	if err := c.check(); err != nil {
		return Clip{}, err
	}
	mean := make([]float32, c.Len())
	for i := range mean {
		sum := 0.0
		for _, ch := range c.Channels {
			sum += float64(ch[i])
		}
		mean[i] = float32(sum / float64(len(c.Channels)))
	}
	return Clip{c.Rate, [][]float32{mean}}, nil
}
