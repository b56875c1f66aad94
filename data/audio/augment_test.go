package audio_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/data/audio"
	"github.com/cortado-ml/cortado/tensor"
)

// ramp is features of which each is its own number.
func ramp(frames, bands int) tensor.Tensor {
	x := tensor.New(tensor.SpecOf(tensor.F32, frames, bands))
	for i := range x.Len() {
		x.Set(i, float64(1+i))
	}
	return x
}

// TestAugmentMoves: without noise all moves in time and in frequency come, and nothing else; silence comes in at the ends, and the outermost bands
// are repeated.
func TestAugmentMoves(t *testing.T) {
	const frames, bands = 5, 4
	random, seen := rand.New(rand.NewPCG(1, 2)), map[string]int{}
	for range 2000 {
		x := ramp(frames, bands)
		if err := (audio.Augment{Frames: 2, Bands: 1}).Transform(random, x); err != nil {
			t.Fatal(err)
		}
		found := ""
		for later := -2; later <= 2; later++ {
			for higher := -1; higher <= 1; higher++ {
				same := true
				for f := range frames {
					for b := range bands {
						want := math.Log(1e-10)
						if from := f - later; from >= 0 && from < frames {
							want = float64(1 + from*bands + min(bands-1, max(0, b-higher)))
						}
						same = same && x.At(f*bands+b) == float64(float32(want))
					}
				}
				if same {
					found += fmt.Sprint(later, higher)
				}
			}
		}
		seen[found]++
	}
	for move, n := range seen {
		if n < 70 || len(seen) != 15 { // 133 on the average
			t.Errorf("%d moves; %q came %d times", len(seen), move, n)
		}
	}
}

// TestAugmentNoise has, in silence, the energy that it should: 20 to 60 dB below the loudest, alike in all bands.
func TestAugmentNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	least, most := math.Inf(1), math.Inf(-1)
	for range 300 {
		x := tensor.Full(tensor.SpecOf(tensor.F32, 50, 20), -20)
		x.Set(7, 3)
		if err := (audio.Augment{Noise: 20}).Transform(random, x); err != nil {
			t.Fatal(err)
		}
		if got := x.At(7); got < 3 || got > 3.2 {
			t.Errorf("the loudest is now %v", got)
		}
		x.Set(7, math.Inf(-1))
		energy := 0.0
		for _, v := range x.Floats() {
			energy += math.Exp(v) / 1000
		}
		dB := 10 / math.Ln10 * (3 - math.Log(energy))
		least, most = min(least, dB), max(most, dB)
	}
	if least < 19.5 || least > 21 || most < 59 || most > 60.5 {
		t.Errorf("noise from %v to %v dB below", least, most)
	}
}

// TestAugmentInLoader: epochs differ, samples differ, and any number of workers gives the same.
func TestAugmentInLoader(t *testing.T) {
	x := tensor.New(tensor.SpecOf(tensor.F32, 4, 6, 5))
	set, err := data.Tensors(x, tensor.Tensor{})
	if err != nil {
		t.Fatal(err)
	}
	epoch := func(e, workers int) string {
		l := data.Loader{Data: set, Batch: 2, Workers: workers, Seed: 7, Transform: audio.Augment{Frames: 1, Bands: 1, Noise: 10}.Transform}
		all := ""
		for b, err := range l.Batches(context.Background(), data.Position{Epoch: e}) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Index {
				all += b.X.Row(i).String() + "\n"
			}
		}
		return all
	}
	first := epoch(0, 1)
	if lines := strings.Split(first, "\n"); lines[0] == lines[1] || first == epoch(1, 1) || first != epoch(0, 3) {
		t.Error(first, epoch(1, 1), epoch(0, 3))
	}
}

// TestAugmentMistakes are errors, and NaN stays.
func TestAugmentMistakes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	good, ints := ramp(3, 2), tensor.New(tensor.SpecOf(tensor.I64, 3, 2))
	for what, err := range map[string]error{
		"no chance":     audio.Augment{}.Transform(nil, good),
		"no features":   audio.Augment{}.Transform(random, tensor.Tensor{}),
		"whole numbers": audio.Augment{}.Transform(random, ints),
		"one axis":      audio.Augment{}.Transform(random, good.Row(0)),
		"backwards":     audio.Augment{Frames: -1}.Transform(random, good),
		"too far":       audio.Augment{Frames: math.MaxInt}.Transform(random, good),
		"too high":      audio.Augment{Bands: 3}.Transform(random, good),
		"NaN dB":        audio.Augment{Noise: math.NaN()}.Transform(random, good),
		"above it":      audio.Augment{Noise: -1}.Transform(random, good),
		"no noise":      audio.Augment{Noise: math.Inf(1)}.Transform(random, good),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "audio: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	x := ramp(2, 2)
	x.Set(3, math.NaN())
	if err := (audio.Augment{Noise: 10}).Transform(random, x); err != nil || !math.IsNaN(x.At(3)) {
		t.Errorf("%v, %v", x, err)
	}
}
