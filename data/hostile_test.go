package data

import (
	"context"
	"io/fs"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cortado-ml/cortado/tensor"
)

// TestHostileArguments: what cannot be is an error in words, never a panic.
func TestHostileArguments(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	image := tensor.New(tensor.SpecOf(tensor.F32, 1, 3, 3))
	good, err := Tensors(tensor.New(tensor.SpecOf(tensor.F32, 4, 2)), tensor.Tensor{})
	if err != nil {
		t.Fatal(err)
	}
	loop := func(l Loader, from Position) error {
		for _, err := range l.Batches(context.Background(), from) {
			return err
		}
		return nil
	}
	two := func(_ any, err error) error { return err }
	for what, f := range map[string]func() error{
		"tensors of nothing":      func() error { return two(Tensors(tensor.Tensor{}, tensor.Tensor{})) },
		"tensors of rank 0":       func() error { return two(Tensors(tensor.Scalar[float32](1), tensor.Tensor{})) },
		"subset of nothing":       func() error { return two(Subset(nil, nil)) },
		"subset beyond":           func() error { return two(Subset(good, []int{4})) },
		"subset below":            func() error { return two(Subset(good, []int{math.MinInt})) },
		"split of nothing":        func() error { _, _, err := Split(nil, 0); return err },
		"split beyond":            func() error { _, _, err := Split(good, 5); return err },
		"split below":             func() error { _, _, err := Split(good, -1); return err },
		"images of nothing":       func() error { return two(NewImages(tensor.Tensor{}, tensor.Tensor{})) },
		"idx in no files":         func() error { _, _, err := OpenIDX(nil); return err },
		"idx in no file":          func() error { return two(ReadIDX(nil, "x")) },
		"idx with an odd name":    func() error { return two(ReadIDX(fstest.MapFS{}, "../x")) },
		"no folder":               func() error { return two(OpenFolder(nil, image.Spec())) },
		"a folder of odd images":  func() error { return two(OpenFolder(fstest.MapFS{}, tensor.Spec{})) },
		"an image of nothing":     func() error { return two(DecodeImage(nil, image.Spec())) },
		"an image of no spec":     func() error { return two(DecodeImage(strings.NewReader(""), tensor.Spec{})) },
		"an image of no size":     func() error { return two(DecodeImage(strings.NewReader(""), tensor.SpecOf(tensor.F32, 1, 0, 3))) },
		"no sample":               func() error { return good.Sample(-1, image, image) },
		"a sample elsewhere":      func() error { return good.Sample(0, image, tensor.Tensor{}) },
		"a sample nowhere":        func() error { return good.Sample(0, tensor.Tensor{}, tensor.Tensor{}) },
		"a flip of nothing":       func() error { return FlipHorizontal(random, tensor.Tensor{}) },
		"a flip without chance":   func() error { return FlipHorizontal(nil, image) },
		"a shift of nothing":      func() error { return Shift(0)(random, tensor.Tensor{}) },
		"a shift beyond":          func() error { return Shift(math.MaxInt)(random, image) },
		"a shift below":           func() error { return Shift(math.MinInt)(random, image) },
		"a shift without chance":  func() error { return Shift(1)(nil, image) },
		"an inversion of nothing": func() error { return Invert(nil, tensor.Tensor{}) },
		"nothing composed":        func() error { return Compose(nil)(random, image) },
		"the zero loader":         func() error { return loop(Loader{}, Position{}) },
		"a batch of none":         func() error { return loop(Loader{Data: good}, Position{}) },
		"a negative batch":        func() error { return loop(Loader{Data: good, Batch: math.MinInt}, Position{}) },
		"negative workers":        func() error { return loop(Loader{Data: good, Batch: 1, Workers: -1}, Position{}) },
		"a position below":        func() error { return loop(Loader{Data: good, Batch: 1}, Position{0, -1}) },
		"a position beyond":       func() error { return loop(Loader{Data: good, Batch: 1}, Position{0, 4}) },
		"an epoch below":          func() error { return loop(Loader{Data: good, Batch: 1}, Position{-1, 0}) },
		"labels of nothing":       func() error { return two(Labels(nil)) },
		"nothing filled up":       func() error { return two(Pad(nil, 3, Padding{})) },
		"nothing ragged":          func() error { return two(Ragged(nil, nil)) },
		"ragged nones":            func() error { return two(Ragged(make([]tensor.Tensor, 2), make([]tensor.Tensor, 2))) },
		"targets that are none":   func() error { return two(Ragged([]tensor.Tensor{image}, make([]tensor.Tensor, 1))) },
		"the zero buckets":        func() error { return firstError(Buckets{}.Batches(context.Background(), Position{})) },
		"the zero stream":         func() error { return firstError(Stream{}.Batches(context.Background(), Position{})) },
		"files of nothing": func() error {
			return firstError(Stream{Batch: 1, Open: Files(nil, "*", nil)}.Batches(context.Background(), Position{}))
		},
		"files that nothing opens": func() error {
			return firstError(Stream{Batch: 1, Open: Files(fstest.MapFS{"a": {}}, "*", nil)}.Batches(context.Background(), Position{}))
		},
		"files opened as nothing": func() error {
			open := Files(fstest.MapFS{"a": {}}, "*", func(fs.File) (Source, error) { return nil, nil })
			return firstError(Stream{Batch: 1, Open: open}.Batches(context.Background(), Position{}))
		},
		"a split of too few": func() error { _, _, err := SplitRandom(math.MinInt, 0.5, 0); return err },
	} {
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s: panic: %v", what, p)
				}
			}()
			if err := f(); err == nil {
				t.Errorf("%s: no error", what)
			} else if !strings.HasPrefix(err.Error(), "data: ") {
				t.Errorf("%s: %q does not say that it is of data", what, err)
			}
		}()
	}
	for _, l := range []Loader{{Data: good, Batch: math.MaxInt}, {Data: good, Batch: 3, Workers: math.MaxInt}} {
		for sample := range 4 {
			if err := loop(l, Position{math.MaxInt, sample}); err != nil {
				t.Error(err)
			}
		}
		if n := l.Len(); n < 1 || n > 4 {
			t.Errorf("%d batches", n)
		}
	}
}

func firstError(batches iter.Seq2[Batch, error]) error {
	for _, err := range batches {
		return err
	}
	return nil
}
