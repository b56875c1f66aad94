package data_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/tensor"
)

// TestLayout compares what a Layout says of an epoch with the batches of two epochs.
func TestLayout(t *testing.T) {
	x, y := tensor.New(tensor.SpecOf(tensor.F32, 23, 2)), tensor.New(tensor.SpecOf(tensor.I64, 23))
	set, err := Tensors(x, y)
	if err != nil {
		t.Fatal(err)
	}
	unlabelled, err := Tensors(x, tensor.Tensor{})
	if err != nil {
		t.Fatal(err)
	}
	words := sentences(t, 23)
	var all []Batches
	for _, size := range []int{1, 4, 22, 23} {
		for _, drop := range []bool{false, true} {
			all = append(all, Loader{Data: set, Batch: size, Shuffle: true, Seed: 3, DropLast: drop})
			if size < 8 {
				all = append(all, Buckets{Data: words, Bounds: []int{3, 9, 20}, Batch: size, Shuffle: true, Seed: 3, DropLast: drop})
			}
		}
	}
	all = append(all, Loader{Data: set, Batch: 1000}, Loader{Data: unlabelled, Batch: 5}, Buckets{Data: words, Bounds: []int{9}, Batch: 1000})
	orders := map[string]bool{}
	for _, b := range all {
		l, err := b.Layout()
		if err != nil {
			t.Fatalf("%+v: %v", b, err)
		}
		orders[l.Order] = true
		want := map[BatchShape]int{}
		for _, s := range l.Shapes {
			n := s.Count
			s.Count = 0
			want[s] += n
		}
		for epoch := range 2 {
			got, n := map[BatchShape]int{}, 0
			for batch, err := range b.Batches(t.Context(), Position{Epoch: epoch}) {
				if err != nil {
					t.Fatal(err)
				}
				got[BatchShape{X: batch.X.Spec(), Y: batch.Y.Spec(), Lengths: batch.Lengths.Spec()}]++
				for k, i := range batch.Index {
					if _, padded := b.(Buckets); padded && batch.Lengths.Int(k) != int64(words.Length(i)) || !padded && !batch.Lengths.IsNone() {
						t.Errorf("sample %d has the length %v, want %d", i, batch.Lengths, words.Length(i))
					}
				}
				n++
			}
			if d := cmp.Diff(want, got, cmp.AllowUnexported(tensor.Spec{}, tensor.Shape{})); d != "" || n != l.Len() {
				t.Errorf("%s, epoch %d: %d batches, want %d: %s", l.Order, epoch, n, l.Len(), d)
			}
		}
	}
	if len(orders) != len(all) {
		t.Errorf("%d different orders of %d", len(orders), len(all))
	}
}

// TestLayoutErrors: what would make Batches fail makes Layout fail, in the same words.
func TestLayoutErrors(t *testing.T) {
	words := sentences(t, 23)
	for want, b := range map[string]Batches{
		"data: the loader has no data set":                        Loader{Batch: 1},
		"data: the buckets have no data":                          Buckets{Batch: 1},
		"data: the buckets have no bounds":                        Buckets{Data: words, Batch: 1},
		"data: sample 4: it has the length 8, and the bounds end": Buckets{Data: words, Bounds: []int{7}, Batch: 1},
		"data: nothing is left: DropLast leaves out short":        Buckets{Data: words, Bounds: []int{9}, Batch: 24, DropLast: true},
		"data: samples of length 0":                               Buckets{Data: words, Bounds: []int{0, 9}, Batch: 24},
		"data: the stream has no Open":                            Stream{Batch: 1},
		"data: Shuffle is -1: so many samples cannot wait":        Stream{Open: func(int) (Source, error) { return nil, nil }, Batch: 1, Shuffle: -1},
	} {
		_, err := b.Layout()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Layout: %v, want %s", err, want)
		}
		if strings.Contains(want, "length 8") {
			continue // which sample is named first is a matter of the order
		}
		for _, other := range b.Batches(t.Context(), Position{}) {
			if other == nil || other.Error() != err.Error() {
				t.Errorf("Layout says %v, Batches %v", err, other)
			}
		}
	}
}

// TestLayoutOfStream: nothing is known, and the source is not opened.
func TestLayoutOfStream(t *testing.T) {
	open := func(int) (Source, error) {
		t.Error("the source is opened")
		return nil, nil
	}
	l, err := Stream{Open: open, Batch: 4, Shuffle: 10, Seed: 7}.Layout()
	if err != nil || l.Len() != 0 || l.Shapes != nil || l.Order != "a stream of which 10 samples wait in batches of 4, shuffled with seed 7" {
		t.Errorf("%+v, %v", l, err)
	}
}
