package data_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/data/fashion"
	"github.com/cortado-ml/cortado/tensor"
)

func TestSplitClasses(t *testing.T) {
	var labels []int
	want := map[int][2]int{7: {80, 20}, -3: {8, 2}, 5: {2, 1}, 2: {1, 1}, 9: {1, 0}} // train, validation
	for _, label := range []int{7, -3, 5, 2, 9} {
		labels = append(labels, slices.Repeat([]int{label}, want[label][0]+want[label][1])...)
	}
	train, validation, err := SplitClasses(labels, 0.2, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int][2]int{}
	for part, list := range [2][]int{train, validation} {
		for _, i := range list {
			c := got[labels[i]]
			c[part]++
			got[labels[i]] = c
		}
	}
	if !reflect.DeepEqual(got, want) || !slices.IsSorted(train) || !slices.IsSorted(validation) {
		t.Errorf("%v, want %v", got, want)
	}
	all := append(slices.Clone(train), validation...)
	slices.Sort(all)
	if len(slices.Compact(all)) != len(labels) {
		t.Errorf("%v and %v are not the whole", train, validation)
	}
	again, _, _ := SplitClasses(labels, 0.2, 1)
	other, _, _ := SplitClasses(labels, 0.2, 2)
	if !slices.Equal(again, train) || slices.Equal(other, train) {
		t.Error("the draw does not go by the seed")
	}
}

func TestSplitRandom(t *testing.T) {
	for _, c := range []struct {
		n        int
		fraction float64
		want     int
	}{{0, 0.5, 0}, {1, 0.5, 1}, {1, 0.4, 0}, {2, 0.01, 1}, {2, 0.99, 1}, {10, 0, 0}, {10, 1, 10}, {10, 0.25, 3}, {1000, 0.1, 100}} {
		train, validation, err := SplitRandom(c.n, c.fraction, 0)
		if err != nil || len(validation) != c.want || len(train) != c.n-c.want {
			t.Errorf("%v: %d and %d, %v", c, len(train), len(validation), err)
		}
	}
	for _, f := range []float64{-0.1, 1.1, nan()} {
		if _, _, err := SplitRandom(5, f, 0); err == nil || !strings.HasPrefix(err.Error(), "data: a fraction of ") {
			t.Error(f, err)
		}
	}
	if _, _, err := SplitRandom(-1, 0.5, 0); err == nil {
		t.Error("a negative number of samples")
	}
}

func nan() float64 { var zero float64; return zero / zero }

func TestLabels(t *testing.T) {
	_, test, err := OpenIDX(fashion.Files())
	if err != nil {
		t.Fatal(err)
	}
	fast, err := Labels(test)
	if err != nil {
		t.Fatal(err)
	}
	part, err := Subset(test, []int{5, 999, 0})
	if err != nil {
		t.Fatal(err)
	}
	slow, err := Labels(part)
	if err != nil || !slices.Equal(slow, []int{fast[5], fast[999], fast[0]}) || fast[0] != 9 {
		t.Error(slow, err)
	}
	bare, err := Tensors(tensor.New(tensor.SpecOf(tensor.F32, 3)), tensor.New(tensor.SpecOf(tensor.F32, 3)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Labels(bare); err == nil || err.Error() != "data: targets are f32[], which are no classes" {
		t.Error(err)
	}
}
