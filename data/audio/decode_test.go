package audio_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data/audio"
	"github.com/cortado-ml/cortado/tensor"
)

// TestDecode: a sound stands in the middle of what is wanted, whatever is around it, and comes at the rate that is wanted.
func TestDecode(t *testing.T) {
	word := []float32{0.5, -1, 1, -0.5}
	for what, c := range map[string]struct {
		rate    int
		sound   []float32
		samples int
		want    string
	}{
		"alone":               {8000, word, 8, "f32[8]{0 0 0 0.5 -1 1 -0.5 0}"},
		"behind silence":      {8000, append(make([]float32, 1000), word...), 8, "f32[8]{0 0 0 0.5 -1 1 -0.5 0}"},
		"before silence":      {8000, append(word[:4:4], make([]float32, 1000)...), 8, "f32[8]{0 0 0 0.5 -1 1 -0.5 0}"},
		"too long":            {8000, word, 2, "f32[2]{0.5 -1}"},
		"one sample":          {8000, word, 1, "f32[1]{-1}"},
		"silence":             {8000, make([]float32, 9), 3, "f32[3]{0 0 0}"},
		"nothing":             {8000, nil, 3, "f32[3]{0 0 0}"},
		"at the lowest rate":  {1000, nil, 2, "f32[2]{0 0}"},
		"at the highest rate": {192000, nil, 2, "f32[2]{0 0}"},
		"a little too fast":   {8001, make([]float32, 9), 3, "f32[3]{0 0 0}"},
		"a little too slow":   {7999, make([]float32, 9), 3, "f32[3]{0 0 0}"},
	} {
		x, err := audio.DecodeWAV(bytes.NewReader(file(t, c.rate, c.sound).Data), 8000, c.samples, nil)
		if err != nil || x.String() != c.want {
			t.Errorf("%s: %v, %v; want %s", what, x, err, c.want)
		}
	}

	pulse := func(rate int) []float32 { // 4 ms wide, and 12 ms after the start
		x := make([]float32, rate/50)
		for i := range x {
			ms := 1000*float64(i)/float64(rate) - 12
			x[i] = float32(math.Exp(-ms * ms / 4))
		}
		return x
	}
	want, err := audio.DecodeWAV(bytes.NewReader(file(t, 8000, pulse(8000)).Data), 8000, 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, rate := range []int{16000, 22050, 44100, 48000} {
		x, err := audio.DecodeWAV(bytes.NewReader(file(t, rate, pulse(rate), pulse(rate)).Data), 8000, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Len() {
			if math.Abs(x.At(i)-want.At(i)) > 0.1 {
				t.Errorf("%d samples a second: sample %d is %v, want %v", rate, i, x.At(i), want.At(i))
			}
		}
	}
}

// TestDecodeMistakes: each has its words.
func TestDecodeMistakes(t *testing.T) {
	f, err := audio.NewLogMel(audio.Mel{Rate: 8000})
	if err != nil {
		t.Fatal(err)
	}
	sound := file(t, 8000, []float32{1}).Data
	for want, get := range map[string]func() (tensor.Tensor, error){
		"audio: a WAV file of 999 samples a second: from 1000 to 192000 can be used": func() (tensor.Tensor, error) {
			return audio.DecodeWAV(bytes.NewReader(file(t, 999, []float32{1}).Data), 8000, 5, nil)
		},
		"audio: a WAV file of 192001 samples a second": func() (tensor.Tensor, error) {
			return audio.DecodeWAV(bytes.NewReader(file(t, 192001, []float32{1}).Data), 8000, 5, nil)
		},
		"audio: 0 samples, 8000 a second":           func() (tensor.Tensor, error) { return audio.DecodeWAV(bytes.NewReader(sound), 8000, 0, nil) },
		"audio: features for 8000 samples a second": func() (tensor.Tensor, error) { return audio.DecodeWAV(bytes.NewReader(sound), 16000, 5, f) },
		"audio: so many samples are too many":       func() (tensor.Tensor, error) { return audio.DecodeWAV(bytes.NewReader(sound), 1, 1<<20, nil) },
		"audio: there is nothing to read":           func() (tensor.Tensor, error) { return audio.DecodeWAV(nil, 8000, 5, nil) },
		"audio: a WAV file: it is none: it starts w": func() (tensor.Tensor, error) {
			return audio.DecodeWAV(strings.NewReader("<!DOCTYPE html>"), 8000, 5, nil)
		},
	} {
		if _, err := get(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}

	path := filepath.Join(t.TempDir(), "no.wav")
	if _, err := audio.OpenWAV(path, 8000, 5, nil); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "audio: ") {
		t.Error(err)
	}
	if err := os.WriteFile(path, sound[:46], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := audio.OpenWAV(path, 8000, 5, nil); err == nil || !strings.HasPrefix(err.Error(), "audio: "+path+": a WAV file: it is cut off") {
		t.Error(err)
	}
	if err := os.WriteFile(path, sound, 0o644); err != nil {
		t.Fatal(err)
	}
	if x, err := audio.OpenWAV(path, 8000, 3, nil); err != nil || x.String() != "f32[3]{0 1 0}" {
		t.Error(x, err)
	}
}

// TestNoNumbers: a sound with a sample that is no number would ruin a model, and is refused by its place in the file.
func TestNoNumbers(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
		var file bytes.Buffer
		clip := audio.Clip{Rate: 8000, Channels: [][]float32{{0, 1, float32(bad)}, {0, 0, 0}}}
		if err := clip.WriteWAV(&file, audio.Float32); err != nil {
			t.Fatal(err)
		}
		x, err := audio.DecodeWAV(&file, 8000, 4, nil)
		if err == nil || !strings.Contains(err.Error(), "sample 2 is ") || !x.IsNone() {
			t.Errorf("%v: %v", x, err)
		}
	}
}
