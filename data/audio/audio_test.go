package audio_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cortado-ml/cortado/data/audio"
	"github.com/cortado-ml/cortado/tensor"
)

// goldens are the numbers of testdata/make.py.
type goldens struct {
	Samples  []float32
	Features []struct {
		Rate, Window, Hop, FFT, Bands int
		Low, High                     float64
		N, Coefficients               int
		Values                        [][]float64
	}
	Resampled []struct {
		N, Rate, To int
		Values      []float64
	}
}

func read(t *testing.T) goldens {
	t.Helper()
	content, err := os.ReadFile("testdata/goldens.json")
	if err != nil {
		t.Fatal(err)
	}
	var g goldens
	if err := json.Unmarshal(content, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestFeatures(t *testing.T) {
	g := read(t)
	for _, c := range g.Features {
		for _, m := range []audio.Mel{{c.Rate, c.Window, c.Hop, c.FFT, c.Bands, c.Low, c.High}, {Rate: c.Rate}} {
			if c.Rate == 8000 && m.Window == 0 {
				continue // the one that is far from the defaults
			}
			f, err := audio.NewLogMel(m)
			if c.Coefficients > 0 {
				f, err = audio.NewMFCC(m, c.Coefficients)
			}
			if err != nil {
				t.Fatal(err)
			}
			s := f.Spec(c.N)
			if want := tensor.SpecOf(tensor.F32, len(c.Values), len(c.Values[0])); s != want {
				t.Fatalf("%+v: %v, want %v", m, s, want)
			}
			out := tensor.Full(s, math.NaN())
			if err := f.Write(g.Samples[:c.N], out); err != nil {
				t.Fatal(err)
			}
			for i, row := range c.Values {
				for k, want := range row {
					if got := out.Row(i).At(k); !(math.Abs(got-want) <= 1e-6*(1+math.Abs(want))) {
						t.Errorf("%+v, %d coefficients: frame %d, number %d is %v, want %v", m, c.Coefficients, i, k, got, want)
					}
				}
			}
		}
	}
}

// TestFeaturesTogether: many goroutines share one Features, and get what one gets.
func TestFeaturesTogether(t *testing.T) {
	g := read(t)
	f, err := audio.NewMFCC(audio.Mel{Rate: 16000}, 13)
	if err != nil {
		t.Fatal(err)
	}
	want := tensor.New(f.Spec(1300))
	if err := f.Write(g.Samples, want); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				got := tensor.New(f.Spec(1300))
				if err := f.Write(g.Samples, got); err != nil || !got.Same(want) {
					t.Errorf("another result, %v", err)
				}
			}
		})
	}
	all.Wait()
}

// TestSpecial: NaN reaches the frames that it is in, and silence is the logarithm of 1e-10.
func TestSpecial(t *testing.T) {
	f, err := audio.NewLogMel(audio.Mel{Rate: 8000, Window: 200, Hop: 200})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 600)
	x[250] = float32(math.NaN())
	out := tensor.New(f.Spec(600))
	if err := f.Write(x, out); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		for _, v := range out.Row(i).Floats() {
			if silent := float64(float32(math.Log(1e-10))); math.IsNaN(v) != (i == 1) || i != 1 && v != silent {
				t.Fatalf("frame %d is %v", i, out.Row(i))
			}
		}
	}
	if got := f.Spec(0); got != tensor.SpecOf(tensor.F32, 1, 40) {
		t.Error(got)
	}
	empty := tensor.New(f.Spec(0))
	if err := f.Write(nil, empty); err != nil || empty.At(39) != float64(float32(math.Log(1e-10))) {
		t.Error(empty, err)
	}
	if err := f.Write(x, empty); err == nil || err.Error() != "audio: the features of 600 samples are f32[3 40], not f32[1 40]" {
		t.Error(err)
	}
}

func TestFeatureFaults(t *testing.T) {
	for want, m := range map[string]audio.Mel{
		"0 samples a second":           {},
		"-1 samples a second":          {Rate: -1},
		"frames of -1 samples":         {Rate: 8000, Window: -1},
		"frames of 200 samples, -1":    {Rate: 8000, Hop: -1},
		"transform of 100 samples":     {Rate: 8000, FFT: 100},
		"transform of 2097152 samples": {Rate: 8000, FFT: 1 << 21},
		"transform of 67108864":        {Rate: math.MaxInt32},
		"-1 bands":                     {Rate: 8000, Bands: -1},
		"200 bands of a spectrum":      {Rate: 8000, Bands: 200},
		"band 0 of 100 would have no":  {Rate: 8000, Bands: 100},
		"bands from 0 to 5000 Hz":      {Rate: 8000, High: 5000},
		"bands from 4000 to 4000 Hz":   {Rate: 8000, Low: 4000},
		"bands from NaN to 4000 Hz":    {Rate: 8000, Low: math.NaN()},
	} {
		if _, err := audio.NewLogMel(m); err == nil || !strings.HasPrefix(err.Error(), "audio: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", m, err, want)
		}
	}
	for _, n := range []int{-1, 0, 41} {
		if _, err := audio.NewMFCC(audio.Mel{Rate: 8000}, n); err == nil || !strings.Contains(err.Error(), "coefficients of 40 bands") {
			t.Error(n, err)
		}
	}
}

func TestResample(t *testing.T) {
	g := read(t)
	for _, c := range g.Resampled {
		in := audio.Clip{Rate: c.Rate, Channels: [][]float32{make([]float32, c.N), g.Samples[:c.N]}}
		out, err := in.Resample(c.To)
		if err != nil || out.Rate != c.To || len(out.Channels) != 2 || out.Len() != len(c.Values) {
			t.Fatalf("%d samples from %d to %d: %v of %d", c.N, c.Rate, c.To, err, out.Len())
		}
		for i, want := range c.Values {
			if got := float64(out.Channels[1][i]); math.Abs(got-want) > 1e-7 || out.Channels[0][i] != 0 {
				t.Errorf("from %d to %d: sample %d is %v, want %v", c.Rate, c.To, i, got, want)
			}
		}
	}
}

// TestResampleTone: a tone keeps its frequency and its level, and what the lower rate cannot hold is gone.
// TestResampleFar: rates that are far apart ask for no more memory than there is sound, and what is left of the sound is the filter's first weights.
func TestResampleFar(t *testing.T) {
	c, err := audio.Clip{Rate: math.MaxInt32, Channels: [][]float32{{1, 1, 1}}}.Resample(1)
	if err != nil {
		t.Fatal(err)
	}
	if y, want := c.Channels[0], 3*0.99/math.MaxInt32; len(y) != 1 || math.Abs(float64(y[0])/want-1) > 1e-6 {
		t.Errorf("%v, not %v", y, want)
	}
}

func TestResampleTone(t *testing.T) {
	const n = 16000
	tone := func(hz float64) audio.Clip {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(math.Sin(2 * math.Pi * hz * float64(i) / 16000))
		}
		return audio.Clip{Rate: 16000, Channels: [][]float32{x}}
	}
	for hz, want := range map[float64]float64{440: 1, 2000: 1, 5000: 0, 7000: 0} {
		out, err := tone(hz).Resample(8000)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range out.Channels[0][100 : out.Len()-100] {
			ideal := want * math.Sin(2*math.Pi*hz*float64(i+100)/8000)
			if math.Abs(float64(v)-ideal) > 0.01 {
				t.Fatalf("%v Hz: sample %d is %v, want %v", hz, i+100, v, ideal)
			}
		}
	}
}

func TestClipFaults(t *testing.T) {
	uneven := audio.Clip{Rate: 1, Channels: [][]float32{{1}, {}}}
	for want, f := range map[string]func() error{
		"audio: 0 samples a second":                              func() error { _, err := audio.Clip{Channels: [][]float32{{1}}}.Mono(); return err },
		"audio: a clip without a channel":                        func() error { _, err := audio.Clip{Rate: 1}.Resample(2); return err },
		"audio: channel 1 has 0 samples, but channel 0 has 1":    func() error { _, err := uneven.Mono(); return err },
		"audio: -5 samples a second":                             func() error { _, err := audio.Clip{Rate: 1, Channels: [][]float32{{1}}}.Resample(-5); return err },
		"audio: 1 samples at a rate of 1 would be 2000000000 at": func() error { _, err := audio.Clip{Rate: 1, Channels: [][]float32{{1}}}.Resample(2e9); return err },
		"audio: there is no encoding 0":                          func() error { return audio.Clip{Rate: 1, Channels: [][]float32{{1}}}.WriteWAV(nil, 0) },
		"audio: there is no encoding 7":                          func() error { return audio.Clip{Rate: 1, Channels: [][]float32{{1}}}.WriteWAV(nil, 7) },
		"audio: 70000 channels of 0 samples": func() error {
			return audio.Clip{Rate: 1, Channels: make([][]float32, 70000)}.WriteWAV(io.Discard, audio.PCM8)
		},
	} {
		if err := f(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	mono, err := audio.Clip{Rate: 9, Channels: [][]float32{{1, 3e38}, {0, 3e38}}}.Mono()
	if err != nil || fmt.Sprint(mono) != "{9 [[0.5 3e+38]]}" {
		t.Error(mono, err)
	}
}
