package data_test

import (
	"bytes"
	"context"
	"image"
	"testing"

	. "github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/data/fashion"
	"github.com/cortado-ml/cortado/tensor"
)

// BenchmarkBatches is an epoch of the embedded Fashion-MNIST sample, shuffled and flipped, and nothing done with it.
func BenchmarkBatches(b *testing.B) {
	train, _, err := OpenIDX(fashion.Files())
	if err != nil {
		b.Fatal(err)
	}
	l := Loader{Data: train, Batch: 64, Shuffle: true, Transform: FlipHorizontal}
	for b.Loop() {
		for _, err := range l.Batches(context.Background(), Position{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N*train.Len())/b.Elapsed().Seconds(), "images/s")
}

// BenchmarkDecodeImage is a photograph of 12 megapixels for a network of 224 x 224.
func BenchmarkDecodeImage(b *testing.B) {
	photo := image.NewNRGBA(image.Rect(0, 0, 4000, 3000))
	for i := range photo.Pix {
		photo.Pix[i] = uint8(i / 4000)
	}
	for name, file := range map[string][]byte{"jpeg": jpegOf(photo), "png": pngOf(photo)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := DecodeImage(bytes.NewReader(file), tensor.SpecOf(tensor.F32, 3, 224, 224)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
