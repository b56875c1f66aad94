package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
)

// imageKind is small pictures, each of one of several classes.
var imageKind = kind{
	name: "image", data: "fashion",
	recipes: map[string]recipe{
		"mlp": {
			what: "one hidden layer of 128",
			build: func(classes int) layers.Module {
				return layers.Sequential{layers.Flatten{}, layers.Linear{Out: 128}, layers.ReLU{}, layers.Linear{Out: classes}}
			},
			epochs: 5, batch: 64, rate: 1e-3, optimizer: "adam", schedule: "constant",
		},
		"cnn": {
			what: "two convolutions with batch-norm",
			build: func(classes int) layers.Module {
				return layers.Sequential{
					layers.Func(standardize),
					layers.Conv2D{Out: 32, Kernel: 3, Padding: layers.Same}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
					layers.Conv2D{Out: 32, Kernel: 3, Padding: layers.Same}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
					layers.Flatten{}, layers.Dropout{P: 0.3},
					layers.Linear{Out: classes, Init: layers.Zeros, BiasInit: layers.Zeros}, // so the first loss is that of a guess
				}
			},
			epochs: 8, batch: 32, rate: 4e-3, optimizer: "adamw", schedule: "onecycle", transform: data.FlipHorizontal,
		},
		"resnet": {
			what: "two residual blocks behind a convolution",
			build: func(classes int) layers.Module {
				return layers.Sequential{
					layers.Func(standardize),
					layers.Conv2D{Out: 16, Kernel: 3, Padding: layers.Same, NoBias: true}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
					layers.BasicBlock{Out: 32}, layers.BasicBlock{Out: 64, Stride: 2},
					layers.GlobalAvgPool{}, layers.Linear{Out: classes, Init: layers.Zeros, BiasInit: layers.Zeros},
				}
			},
			epochs: 18, batch: 32, rate: 4e-3, optimizer: "adamw", schedule: "onecycle", decay: 0.1,
			transform: data.Compose(data.FlipHorizontal, data.Shift(1)),
		},
	},
	open: openImages,
	restore: func(meta map[string]string) (task, error) {
		c, err := restoreClassifier(meta, 3)
		return imageTask{c}, err
	},
}

// standardize brings pixels from 0 to 1 to mean 0 and deviation 1, as those of Fashion-MNIST have.
func standardize(_ *layers.Context, x ops.Value) ops.Value { return x.Shift(-0.286).Scale(1 / 0.353) }

// imageTask is to name what images show.
type imageTask struct{ classifier }

// openImages opens the data that -data names.
func openImages(name string, _ recipe) (corpus, error) {
	s, err := openImageFiles(name)
	if err != nil {
		return corpus{}, err
	}
	x, _ := s.train.Specs()
	return corpus{imageTask{classifier{x, s.classes}}, s.train, s.test, fmt.Sprintf("%d images to train on, %d to test", s.train.Len(), s.test.Len())}, nil
}

// show shows some images with what the model sees in them.
func (t imageTask) show(ctx context.Context, out io.Writer, r result) error {
	example, err := t.showSome(ctx, out, r)
	if err != nil {
		return err
	}
	fmt.Fprint(out, t.verdict(r, "images it has never seen"))
	if example != "" {
		fmt.Fprintf(out, "try: go run ./cmd/demo predict %s%s\n", r.modelFlag(predictFile), example)
	}
	return nil
}

// prediction is a line of -json.
type prediction struct {
	Image       string  `json:"image,omitempty"`
	Sound       string  `json:"sound,omitempty"`
	Class       string  `json:"class"`
	Index       int     `json:"index"`
	Probability float64 `json:"probability"`
}

func (t imageTask) predict(ctx context.Context, p *predicting, file string) error {
	img, err := data.OpenImage(file, t.size)
	if err != nil {
		return err
	}
	if p.invert {
		if err := data.Invert(nil, img); err != nil {
			return err
		}
	}
	list, err := classify(ctx, p.eng, p.net, img)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if p.json {
		return json.NewEncoder(p.out).Encode(prediction{file, "", className(t.classes, list[0].class), list[0].class, list[0].probability})
	}
	t.tell(p.out, file, list)
	return nil
}
