package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/cortado-ml/cortado/data/audio"
	"github.com/cortado-ml/cortado/data/digits"
	"github.com/cortado-ml/cortado/internal/atomicfile"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// soundKind is words, each of one of several classes.
var soundKind = kind{
	name: "sound", data: "digits",
	recipes: map[string]recipe{
		"speech": {
			what: "three convolutions over time and frequency",
			build: func(classes int) layers.Module {
				return layers.Sequential{
					layers.Func(level),
					layers.Conv2D{Out: 16, Kernel: 3, Padding: layers.Same, NoBias: true}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
					layers.Conv2D{Out: 32, Kernel: 3, Padding: layers.Same, NoBias: true}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
					layers.Conv2D{Out: 64, Kernel: 3, Padding: layers.Same, NoBias: true}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
					layers.Flatten{}, layers.Dropout{P: 0.3},
					layers.Linear{Out: classes, Init: layers.Zeros, BiasInit: layers.Zeros}, // so the first loss is that of a guess
				}
			},
			epochs: 20, batch: 32, rate: 4e-3, optimizer: "adamw", schedule: "onecycle",
			transform: audio.Augment{Frames: 8, Bands: 1, Noise: 20}.Transform,
		},
	},
	open: openSounds,
	restore: func(meta map[string]string) (task, error) {
		c, err := restoreClassifier(meta, 2)
		if err != nil {
			return nil, err
		}
		features, err := hearing()
		if err == nil && c.size != features.Spec(second) {
			err = fmt.Errorf("%s: %v, but sounds are heard as %v", metaInput, c.size, features.Spec(second))
		}
		return soundTask{c, features, classSet{}}, err
	},
}

// second is how many samples of a sound are heard, and how many there are in a second.
const second = 8000

// hearing makes of a second 61 frames of 32 bands.
func hearing() (*audio.Features, error) {
	return audio.NewLogMel(audio.Mel{Rate: second, Window: 256, Hop: 128, Bands: 32, Low: 100})
}

// level makes images [n, 1, frames, bands] of features: relative to the loudest, so that it does not matter how near the microphone was, and without what is
// more than 10 nepers of energy, 43 dB, below it, where a recording of 8 bits has only noise.
func level(_ *layers.Context, x ops.Value) ops.Value {
	x = x.Sub(x.MaxKeep(1, 2)).Clip(-10, 0)
	return x.Shift(6).Scale(0.25).Unsqueeze(1)
}

// soundTask is to name what sounds say.
type soundTask struct {
	classifier
	features *audio.Features
	set      classSet // that it is learned from
}

// openSounds opens "digits", which the program brings along, or a folder of WAV files, one folder for each class, perhaps below "train" and "test".
func openSounds(name string, _ recipe) (corpus, error) {
	features, err := hearing()
	if err != nil {
		return corpus{}, err
	}
	var files fs.FS
	if name == "digits" {
		files, err = digits.Files()
	} else {
		files, err = openFolder(name, "want a folder with one folder of WAV files for each class")
	}
	if err != nil {
		return corpus{}, err
	}
	s, err := openFolders(files, "sounds", func(files fs.FS) (classFiles, error) { return audio.OpenFolder(files, second, second, features) })
	if err == nil {
		err = s.check("sounds")
	}
	if err != nil {
		return corpus{}, err
	}
	x, _ := s.train.Specs()
	what := fmt.Sprintf("%d sounds to train on, %d to test", s.train.Len(), s.test.Len())
	if name == "digits" {
		what += ", by other voices"
	}
	return corpus{soundTask{classifier{x, s.classes}, features, s}, s.train, s.test, what}, nil
}

// show tells what the model hears in the first sound of each class, and saves one to try predict with.
func (t soundTask) show(ctx context.Context, out io.Writer, r result) error {
	x, y := r.test.Specs()
	shown, example := map[int]bool{}, ""
	for i := 0; i < r.test.Len() && len(shown) < min(10, len(t.classes)); i++ {
		sound, label := tensor.New(x), tensor.New(y)
		if err := r.test.Sample(i, sound, label); err != nil {
			return err
		}
		if shown[int(label.Int(0))] {
			continue
		}
		shown[int(label.Int(0))] = true
		list, err := classify(ctx, r.eng, r.Net, sound)
		if err != nil {
			return err
		}
		name := t.set.names[i]
		t.tell(out, fmt.Sprintf("%s, %s", className(t.classes, int(label.Int(0))), path.Base(name)), list)
		if example == "" {
			example = filepath.Join(filepath.Dir(r.path), "example.wav")
			raw, err := fs.ReadFile(t.set.files, name)
			if err != nil {
				return err
			}
			if err := atomicfile.Write(example, func(w io.Writer) error { _, err := w.Write(raw); return err }); err != nil {
				return err
			}
		}
	}
	fmt.Fprint(out, t.verdict(r, "sounds it has never heard"))
	fmt.Fprintf(out, "try: go run ./cmd/demo predict %s%s\n", r.modelFlag(predictFile), example)
	return nil
}

func (t soundTask) predict(ctx context.Context, p *predicting, file string) error {
	sound, err := audio.OpenWAV(file, second, second, t.features)
	if err != nil {
		return err
	}
	list, err := classify(ctx, p.eng, p.net, sound)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if p.json {
		return json.NewEncoder(p.out).Encode(prediction{"", file, className(t.classes, list[0].class), list[0].class, list[0].probability})
	}
	t.tell(p.out, file, list)
	return nil
}
