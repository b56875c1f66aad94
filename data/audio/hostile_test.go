package audio_test

import (
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data/audio"
	"github.com/cortado-ml/cortado/tensor"
)

// TestHostileArguments: what cannot be is an error in words, never a panic.
func TestHostileArguments(t *testing.T) {
	two := func(_ any, err error) error { return err }
	for what, f := range map[string]func() error{
		"no file":                     func() error { return two(audio.ReadWAV(nil)) },
		"the zero clip":               func() error { return two(audio.Clip{}.Mono()) },
		"the zero clip resampled":     func() error { return two(audio.Clip{}.Resample(8000)) },
		"nowhere to write":            func() error { return audio.Clip{Rate: 1, Channels: [][]float32{{1}}}.WriteWAV(nil, audio.PCM8) },
		"the zero features":           func() error { return new(audio.Features).Write([]float32{1}, tensor.Tensor{}) },
		"the zero features of files":  func() error { return two(audio.OpenFolder(nil, 8000, 5, new(audio.Features))) },
		"no folder":                   func() error { return two(audio.OpenFolder(nil, 8000, 5, nil)) },
		"the zero features of a file": func() error { return two(audio.DecodeWAV(nil, 8000, 5, new(audio.Features))) },
		"nothing to decode":           func() error { return two(audio.DecodeWAV(nil, 8000, 5, nil)) },
		"the zero augmentation":       func() error { return audio.Augment{}.Transform(nil, tensor.Tensor{}) },
		"features nowhere": func() error {
			f, err := audio.NewLogMel(audio.Mel{Rate: 8000})
			if err != nil {
				return nil
			}
			return f.Write([]float32{1}, tensor.Tensor{})
		},
	} {
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s: panic: %v", what, p)
				}
			}()
			if err := f(); err == nil || !strings.HasPrefix(err.Error(), "audio: ") {
				t.Errorf("%s: %v", what, err)
			}
		}()
	}
}
