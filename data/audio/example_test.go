package audio_test

import (
	"bytes"
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/data/audio"
	"github.com/cortado-ml/cortado/tensor"
)

func Example() {
	tone := make([]float32, 44100)
	for i := range tone {
		tone[i] = float32(math.Sin(2 * math.Pi * 440 * float64(i) / 44100))
	}
	var file bytes.Buffer
	if err := (audio.Clip{Rate: 44100, Channels: [][]float32{tone}}).WriteWAV(&file, audio.PCM16); err != nil {
		fmt.Println(err)
		return
	}

	sound, err := audio.ReadWAV(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	if sound, err = sound.Resample(16000); err != nil {
		fmt.Println(err)
		return
	}
	features, err := audio.NewLogMel(audio.Mel{Rate: 16000})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := tensor.New(features.Spec(sound.Len()))
	if err := features.Write(sound.Channels[0], x); err != nil {
		fmt.Println(err)
		return
	}
	loudest := 0
	for band, v := range x.Row(50).Floats() {
		if v > x.Row(50).At(loudest) {
			loudest = band
		}
	}
	fmt.Println(x.Spec(), "loudest in band", loudest)
	// Output: f32[98 40] loudest in band 7
}
