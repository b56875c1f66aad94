package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data/audio"
)

// tone is a WAV file of a tone somewhere within a second and a half of silence.
func tone(t testing.TB, hertz float64, rate, begin int) []byte {
	t.Helper()
	sound := make([]float32, rate*3/2)
	for i := range rate / 4 {
		sound[begin*rate/1000+i] = float32(0.3 * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate)))
	}
	var b bytes.Buffer
	if err := (audio.Clip{Rate: rate, Channels: [][]float32{sound, sound}}).WriteWAV(&b, audio.PCM16); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tones is a folder of 60 sounds, low and high, of several rates.
func tones(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	for i := range 30 {
		rate := []int{8000, 11025, 16000, 44100}[i%4]
		write(t, filepath.Join(folder, "low", fmt.Sprintf("%02d.wav", i)), tone(t, float64(300+7*i), rate, 37*i))
		write(t, filepath.Join(folder, "high", fmt.Sprintf("%02d.WAV", i)), tone(t, float64(1500+31*i), rate, 37*i))
	}
	return folder
}

// TestSounds learns from a folder of one's own, and tells sounds apart that it has not heard, at other rates and places.
func TestSounds(t *testing.T) {
	folder := t.TempDir()
	o := demo(t, folder, "-model", "speech", "-data", tones(t), "-epochs", "4", "-batch", "18")
	o.wants(t, 0)
	for _, want := range []string{": 54 sounds to train on, 6 to test\n", "\nlow, ", ".wav: ", "test accuracy 100.00 %", "on 6 sounds it has never heard", "predict -model-file cortado-demo/speech.safetensors cortado-demo/example.wav\n"} {
		if !strings.Contains(o.out, filepath.FromSlash(want)) {
			t.Errorf("%q is not in\n%s", want, o.out)
		}
	}
	for name, hertz := range map[string]float64{"low": 405, "high": 1900} {
		file := write(t, filepath.Join(folder, name+".wav"), tone(t, hertz, 32000, 1200))
		o := demo(t, folder, "predict", "-json", "-model-file", "cortado-demo/speech.safetensors", file)
		o.wants(t, 0)
		var p prediction
		if err := json.Unmarshal([]byte(o.out), &p); err != nil || p.Sound != file || p.Class != name || p.Image != "" || !(p.Probability > 0.6) {
			t.Errorf("%s is %+v, %v", name, p, err)
		}
	}
	demo(t, folder, "predict", "-model-file", "cortado-demo/speech.safetensors", "cortado-demo/example.wav", "low.wav").wants(t, 0)
}

// TestSpeech is the promise of the demo in a shorter run: spoken digits, by voices that it has never heard. A model that always says the same is right
// in 10 % of the cases.
func TestSpeech(t *testing.T) {
	if testing.Short() {
		t.Skip("ten seconds")
	}
	o := demo(t, t.TempDir(), "-json", "-model", "speech", "-epochs", "9")
	o.wants(t, 0)
	if a := find(events(t, o.out), "done").Test["accuracy"]; a < 0.93 {
		t.Errorf("accuracy %v", a)
	}
}

// TestSoundMistakes: each is told in words that name the file.
func TestSoundMistakes(t *testing.T) {
	folder := t.TempDir()
	sounds, empty, one := tones(t), t.TempDir(), t.TempDir()
	for i := range 10 {
		write(t, filepath.Join(one, "a", fmt.Sprint(i, ".wav")), tone(t, 500, 8000, 0))
	}
	demo(t, folder, "-json", "-model", "speech", "-data", sounds, "-steps", "1", "-out", "run").wants(t, 0)
	model := filepath.Join("run", "speech.safetensors")
	odd := write(t, filepath.Join(folder, "odd.wav"), nil)
	var b bytes.Buffer
	if err := (audio.Clip{Rate: 400000, Channels: [][]float32{{1}}}).WriteWAV(&b, audio.PCM8); err != nil {
		t.Fatal(err)
	}
	fast := write(t, filepath.Join(folder, "fast.wav"), b.Bytes())
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-model", "speech", "-data", filepath.Join(empty, "none")}, 1, "no such file"},
		{[]string{"-model", "speech", "-data", odd}, 1, "it is a file: want a folder with one folder of WAV files"},
		{[]string{"-model", "speech", "-data", empty}, 1, "no folders, of which each would be a class of WAV files"},
		{[]string{"-model", "speech", "-data", one}, 1, `all sounds are of the class ["a"]`},
		{[]string{"predict", "-model-file", model}, 2, "which FILE"},
		{[]string{"predict", "-model-file", model, "none.wav"}, 1, "none.wav: no such file"},
		{[]string{"predict", "-model-file", model, odd}, 1, odd + ": a WAV file: it is none"},
		{[]string{"predict", "-model-file", model, fast}, 1, fast + ": a WAV file of 400000 samples a second: from 1000 to 192000 can be used"},
		{[]string{"predict", "-model-file", model, "-invert", fast}, 2, "-invert is for pictures"},
	} {
		demo(t, folder, c.args...).wants(t, c.code, c.want)
	}

	bad := filepath.Join(sounds, "low", "03.wav")
	whole, err := os.ReadFile(bad)
	if err != nil {
		t.Fatal(err)
	}
	write(t, bad, whole[:1000])
	demo(t, t.TempDir(), "-model", "speech", "-data", sounds, "-epochs", "1").wants(t, 1, "low/03.wav: a WAV file: it is cut off: it promises")
}

// TestForeignSounds: a model that hears otherwise is refused.
func TestForeignSounds(t *testing.T) {
	for size, want := range map[string]string{"[61,32]": "", "[32,61]": "cortado.input: f32[32 61], but sounds are heard as f32[61 32]", "[1,61,32]": "no shape of a sample", "": "cortado.input: "} {
		_, err := soundKind.restore(map[string]string{metaClasses: `["a","b"]`, metaInput: size})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", size, err, want)
		}
	}
}
