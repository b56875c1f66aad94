package data_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/tensor"
)

// sentences are n samples of lengths from 0 to 9: sample i is i+1, i+1, …, and so is its target.
func sentences(t *testing.T, n int) Sequences {
	t.Helper()
	var x, y []tensor.Tensor
	for i := range n {
		s := tensor.SpecOf(tensor.I64, i*7%10, 2)
		x = append(x, tensor.Full(s, float64(i+1)))
		y = append(y, tensor.Full(tensor.SpecOf(tensor.I64, i*7%10), float64(i+1)))
	}
	s, err := Ragged(x, y)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPad(t *testing.T) {
	d, err := Pad(sentences(t, 20), 9, Padding{X: 50, Y: -100})
	if err != nil {
		t.Fatal(err)
	}
	xs, ys := d.Specs()
	if xs != tensor.SpecOf(tensor.I64, 9, 2) || ys != tensor.SpecOf(tensor.I64, 9) {
		t.Fatal(xs, ys)
	}
	for i := range 20 {
		x, y := tensor.Full(xs, 99), tensor.Full(ys, 99)
		if err := d.Sample(i, x, y); err != nil {
			t.Fatal(err)
		}
		for k := range 9 {
			wantX, wantY := int64(i+1), int64(i+1)
			if k >= i*7%10 {
				wantX, wantY = 50, -100
			}
			if x.Row(k).Int(0) != wantX || x.Row(k).Int(1) != wantX || y.Int(k) != wantY {
				t.Errorf("sample %d is %v, %v", i, x, y)
			}
		}
	}
	if _, err := Pad(sentences(t, 20), 8, Padding{}); err == nil || err.Error() != "data: sample 7 has the length 9, which is more than 8" {
		t.Error(err)
	}
	if _, err := Pad(sentences(t, 1), 0, Padding{}); err == nil || err.Error() != "data: samples of length 0" {
		t.Error(err)
	}
	if _, err := Pad(sentences(t, 1), 1<<62, Padding{}); err == nil || !strings.HasPrefix(err.Error(), "data: samples of length 4611686018427387904: ") {
		t.Error(err)
	}
}

// TestPadKeepsLengths: the parts of a data set that has been filled up know where their samples end, as the whole does.
func TestPadKeepsLengths(t *testing.T) {
	whole, err := Pad(sentences(t, 20), 9, Padding{})
	if err != nil {
		t.Fatal(err)
	}
	some, err := Subset(whole, []int{3, 19, 3})
	if err != nil {
		t.Fatal(err)
	}
	first, rest, err := Split(some, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		d    Dataset
		want []int
	}{{some, []int{1, 3, 1}}, {first, []int{1}}, {rest, []int{3, 1}}} {
		l := Loader{Data: c.d, Batch: 3}
		layout, err := l.Layout()
		if err != nil {
			t.Fatal(err)
		}
		if want := tensor.SpecOf(tensor.I64, len(c.want)); layout.Shapes[0].Lengths != want {
			t.Errorf("the layout says lengths %v", layout.Shapes[0].Lengths)
		}
		for b, err := range l.Batches(context.Background(), Position{}) {
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range c.want {
				if b.Lengths.IsNone() || b.Lengths.Int(i) != int64(n) {
					t.Errorf("lengths %v, not %v", b.Lengths, c.want)
				}
			}
		}
	}
}

// TestPaddingHeld: padding that the samples' type cannot hold would become a class or a token.
func TestPaddingHeld(t *testing.T) {
	bytes := []tensor.Tensor{tensor.New(tensor.SpecOf(tensor.U8, 2))}
	floats := []tensor.Tensor{tensor.New(tensor.SpecOf(tensor.F32, 2))}
	class := []tensor.Tensor{tensor.New(tensor.SpecOf(tensor.U8))}
	for _, c := range []struct {
		x, y []tensor.Tensor
		p    Padding
		ok   bool
	}{
		{floats, bytes, Padding{Y: -1}, false},
		{floats, bytes, Padding{Y: 255, X: math.NaN()}, true},
		{bytes, nil, Padding{X: 0.5}, false},
		{bytes, nil, Padding{X: math.NaN()}, false},
		{bytes, nil, Padding{Y: -1}, true},
		{floats, class, Padding{Y: -1}, true}, // which nothing is filled up with
	} {
		s, err := Ragged(c.x, c.y)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Pad(s, 3, c.p); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.p, err)
		}
	}
}

// TestRagged: the targets go along with the inputs, are all alike, or are not there.
func TestRagged(t *testing.T) {
	array := func(d tensor.DType, dims ...int) tensor.Tensor { return tensor.New(tensor.SpecOf(d, dims...)) }
	x := []tensor.Tensor{array(tensor.F32, 3, 2), array(tensor.F32, 1, 2)}
	for what, c := range map[string]struct {
		y    []tensor.Tensor
		want tensor.Spec // at length 5
	}{
		"along":  {[]tensor.Tensor{array(tensor.I64, 3), array(tensor.I64, 1)}, tensor.SpecOf(tensor.I64, 5)},
		"alike":  {[]tensor.Tensor{array(tensor.I64), array(tensor.I64)}, tensor.SpecOf(tensor.I64)},
		"alike2": {[]tensor.Tensor{array(tensor.I64, 3), array(tensor.I64, 3)}, tensor.SpecOf(tensor.I64, 3)},
		"none":   {nil, tensor.Spec{}},
	} {
		s, err := Ragged(x, c.y)
		if err != nil {
			t.Fatal(what, err)
		}
		if xs, ys := s.Specs(5); xs != tensor.SpecOf(tensor.F32, 5, 2) || ys != c.want || s.Len() != 2 || s.Length(0) != 3 {
			t.Errorf("%s: %v, %v", what, xs, ys)
		}
		d, err := Pad(s, 4, Padding{})
		if err != nil {
			t.Fatal(what, err)
		}
		for _, err := range (Loader{Data: d, Batch: 2}).Batches(context.Background(), Position{}) {
			if err != nil {
				t.Error(what, err)
			}
		}
	}
	for want, c := range map[string][2][]tensor.Tensor{
		"data: no inputs":                               {},
		"data: 2 inputs, but 1 targets":                 {x, x[:1]},
		"data: input 1 is f32[], which has no length":   {{x[0], array(tensor.F32)}},
		"data: input 1 is f32[3 3], but input 0 is":     {{x[0], array(tensor.F32, 3, 3)}},
		"data: input 1 is f64[3 2], but input 0 is":     {{x[0], array(tensor.F64, 3, 2)}},
		"data: target 1 is i64[2], but target 0 is":     {x, {array(tensor.I64, 3), array(tensor.I64, 2)}},
		"data: target 1 is i64[1 2], but target 0 is i": {x, {array(tensor.I64, 3, 1), array(tensor.I64, 1, 2)}},
	} {
		if _, err := Ragged(c[0], c[1]); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// bucketed is what an epoch gives.
type bucketed struct {
	Shapes []string
	Index  []int
	Next   []Position
	Values []float64
}

func runBuckets(t *testing.T, b Buckets, from Position) bucketed {
	t.Helper()
	var all bucketed
	for batch, err := range b.Batches(context.Background(), from) {
		if err != nil {
			t.Fatal(err)
		}
		bound := batch.X.Shape().Dim(1)
		for r, i := range batch.Index {
			n := b.Data.Length(i)
			if n > bound || batch.Y.Shape().Dim(1) != bound || b.Transform == nil && n > 0 && batch.X.Row(r).Int(2*n-1) != int64(i+1) || n < bound && batch.Y.Row(r).Int(n) != -100 {
				t.Fatalf("sample %d is %v, %v", i, batch.X.Row(r), batch.Y.Row(r))
			}
			for _, smaller := range b.Bounds {
				if smaller < bound && n <= smaller {
					t.Fatalf("sample %d, of length %d, is filled up to %d", i, n, bound)
				}
			}
		}
		all.Shapes = append(all.Shapes, fmt.Sprint(batch.X.Shape()))
		all.Index = append(all.Index, batch.Index...)
		all.Next = append(all.Next, batch.Next)
		all.Values = append(all.Values, batch.X.Floats()...)
	}
	return all
}

func TestBuckets(t *testing.T) {
	for _, shuffle := range []bool{false, true} {
		for _, drop := range []bool{false, true} {
			b := Buckets{Data: sentences(t, 51), Bounds: []int{2, 5, 9, 20}, Padding: Padding{Y: -100}, Batch: 4, Shuffle: shuffle, Seed: 3, DropLast: drop, Workers: 1,
				Transform: func(r *rand.Rand, x tensor.Tensor) error { x.Set(0, r.Float64()*1000); return nil }}
			one := runBuckets(t, b, Position{Epoch: 2})
			sorted := slices.Clone(one.Index)
			slices.Sort(sorted)
			want := 51
			if drop {
				want = 16 + 12 + 20 // of 16, 15 and 20
			}
			if len(sorted) != want || len(slices.Compact(sorted)) != want {
				t.Errorf("%d samples, want %d: %v", len(sorted), want, one.Shapes)
			}
			for _, workers := range []int{2, 5} {
				b.Workers = workers
				if got := runBuckets(t, b, Position{Epoch: 2}); !reflect.DeepEqual(got, one) {
					t.Errorf("another epoch with %d workers", workers)
				}
			}
			for k, next := range one.Next[:len(one.Next)-1] {
				if next.Epoch != 2 {
					t.Fatalf("batch %d ends at %v", k, next)
				}
				got := runBuckets(t, b, next)
				if !slices.Equal(got.Index, one.Index[next.Sample:]) || !slices.Equal(got.Shapes, one.Shapes[k+1:]) || !slices.Equal(got.Values, one.Values[len(one.Values)-len(got.Values):]) {
					t.Errorf("from %v on another epoch", next)
				}
			}
			if last := one.Next[len(one.Next)-1]; last != (Position{Epoch: 3}) {
				t.Errorf("the epoch ends at %v", last)
			}
			if other := runBuckets(t, b, Position{Epoch: 1}); slices.Equal(other.Index, one.Index) == shuffle {
				t.Errorf("shuffle %v: epochs have the orders %v and %v", shuffle, other.Index, one.Index)
			}
			if shuffle && slices.IsSortedFunc(one.Shapes, func(a, b string) int { return strings.Compare(a[2:], b[2:]) }) {
				t.Errorf("the buckets come one behind another: %v", one.Shapes)
			}
		}
	}
}

func TestBucketErrors(t *testing.T) {
	data := sentences(t, 20)
	for want, c := range map[string]struct {
		b    Buckets
		from Position
	}{
		"data: the buckets have no data":                                     {Buckets{}, Position{}},
		"data: a batch of 0 samples":                                         {Buckets{Data: data}, Position{}},
		"data: -1 workers":                                                   {Buckets{Data: data, Batch: 1, Workers: -1}, Position{}},
		"data: the buckets have no bounds":                                   {Buckets{Data: data, Batch: 1}, Position{}},
		"data: the bounds [5 5] do not ascend":                               {Buckets{Data: data, Batch: 1, Bounds: []int{5, 5}}, Position{}},
		"data: samples of length 0":                                          {Buckets{Data: data, Batch: 1, Bounds: []int{0, 5}}, Position{}},
		"data: sample 4: it has the length 8, and the bounds end at 7":       {Buckets{Data: data, Batch: 1, Bounds: []int{7}}, Position{}},
		"data: no position at sample -1 of epoch 0":                          {Buckets{Data: data, Batch: 1, Bounds: []int{9}}, Position{Sample: -1}},
		"data: no batch begins at sample 3 of epoch 0: Batch or Bounds were": {Buckets{Data: data, Batch: 4, Bounds: []int{9}}, Position{Sample: 3}},
		"data: nothing is left: DropLast":                                    {Buckets{Data: data, Batch: 40, Bounds: []int{9}, DropLast: true}, Position{}},
	} {
		n := 0
		for _, err := range c.b.Batches(context.Background(), c.from) {
			if n++; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		if n != 1 {
			t.Errorf("%d batches, want the error %s", n, want)
		}
	}
}

// labelled are sequences that know their classes.
type labelled struct{ Sequences }

func (labelled) Labels() []int { return []int{5, 6, 7, 8} }

// TestSubsetSequences: a part of sequences knows the lengths and the labels of its samples, and so does what is made of it.
func TestSubsetSequences(t *testing.T) {
	part, err := SubsetSequences(labelled{sentences(t, 4)}, []int{3, 1})
	if err != nil {
		t.Fatal(err)
	}
	d, err := Pad(part, 9, Padding{})
	if err != nil {
		t.Fatal(err)
	}
	last, err := Subset(d, []int{1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		d    Dataset
		want []int
	}{{d, []int{8, 6}}, {last, []int{6}}} {
		if labels, err := Labels(c.d); err != nil || !slices.Equal(labels, c.want) {
			t.Errorf("labels %v, %v", labels, err)
		}
	}
	want := map[float64]int64{4: 1, 2: 7} // length by first number
	for b, err := range (Buckets{Data: part, Bounds: []int{2, 9}, Batch: 2}).Batches(context.Background(), Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n := want[b.X.At(0)]; b.Lengths.Int(0) != n {
			t.Errorf("%v has the length %v", b.X, b.Lengths)
		}
		delete(want, b.X.At(0))
	}
	if len(want) > 0 {
		t.Errorf("there is no %v", want)
	}
	x := tensor.New(tensor.SpecOf(tensor.I64, 1, 2))
	for _, err := range []error{part.Sample(2, x, x), part.Sample(-1, x, x)} {
		if err == nil || !strings.Contains(err.Error(), "there are 2") {
			t.Error(err)
		}
	}
	if _, err := SubsetSequences(part, []int{2}); err == nil || err.Error() != "data: a subset wants sample 2 of 2" {
		t.Error(err)
	}
	if _, err := SubsetSequences(nil, nil); err == nil {
		t.Error("there are no sequences")
	}
}
