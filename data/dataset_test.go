package data_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/tensor"
)

// sample reads sample i into memory that holds other things.
func sample(t *testing.T, d Dataset, i int) (x, y tensor.Tensor) {
	t.Helper()
	sx, sy := d.Specs()
	x, y = tensor.Full(sx, 99), tensor.Full(sy, 99)
	if err := d.Sample(i, x, y); err != nil {
		t.Fatal(err)
	}
	return x, y
}

// ids are the samples of a data set of numbers.
func ids(t *testing.T, d Dataset) (list []int) {
	t.Helper()
	for i := range d.Len() {
		x, y := sample(t, d, i)
		if x.At(0) != y.At(0) || x.At(1) != -y.At(0) {
			t.Errorf("sample %d is %v, %v", i, x, y)
		}
		list = append(list, int(y.Int(0)))
	}
	return list
}

func TestTensors(t *testing.T) {
	x := tensor.Must(tensor.From([]uint8{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2))
	y := tensor.Must(tensor.From([]bool{false, true}))
	d, err := Tensors(x, y)
	if err != nil {
		t.Fatal(err)
	}
	a, b := sample(t, d, 1)
	if got := fmt.Sprint(d.Len(), a, b); got != "2 u8[2 2]{5 6 7 8} bool[]{true}" {
		t.Error(got)
	}
	for what, c := range map[string][2]tensor.Tensor{
		"no inputs": {{}, y}, "2 inputs, u8[2 2 2], but 1 targets, u8[1 2 2 2]": {x, tensor.New(tensor.SpecOf(tensor.U8, 1, 2, 2, 2))},
		"f32[] has no axis": {tensor.Scalar(float32(1)), y}, "i64[] has no axis": {x, tensor.Scalar(int64(1))},
	} {
		if d, err := Tensors(c[0], c[1]); d != nil || err == nil || !strings.HasPrefix(err.Error(), "data: "+what) {
			t.Errorf("%s: %v, %v", what, d, err)
		}
	}
}

func TestSubsetAndSplit(t *testing.T) {
	d := numbers(t, 6)
	index := []int{5, 0, 5}
	s, err := Subset(d, index)
	if err != nil {
		t.Fatal(err)
	}
	index[0] = 1
	if got := fmt.Sprint(ids(t, s)); got != "[5 0 5]" {
		t.Errorf("the subset is %v", got)
	}
	first, rest, err := Split(d, 4)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(ids(t, first), ids(t, rest)); got != "[0 1 2 3] [4 5]" {
		t.Errorf("the parts are %v", got)
	}
	for _, n := range []int{0, 6} {
		if first, rest, err := Split(d, n); err != nil || first.Len() != n || rest.Len() != 6-n {
			t.Errorf("split at %d: %v", n, err)
		}
	}
	for _, n := range []int{-1, 7} {
		if _, _, err := Split(d, n); err == nil || !strings.Contains(err.Error(), "cannot be split off from 6") {
			t.Errorf("split at %d: %v", n, err)
		}
	}
	for _, i := range []int{-1, 6} {
		if _, err := Subset(d, []int{0, i}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("sample %d of 6", i)) {
			t.Errorf("a subset with sample %d: %v", i, err)
		}
	}
}

// TestSampleRefuses what no sample is, and places of another kind.
func TestSampleRefuses(t *testing.T) {
	d := numbers(t, 6)
	part, _, _ := Split(d, 3)
	images, err := NewImages(tensor.New(tensor.SpecOf(tensor.U8, 3, 1, 2)), tensor.New(tensor.SpecOf(tensor.U8, 3)))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []Dataset{d, part, images} {
		sx, sy := d.Specs()
		x, y := tensor.New(sx), tensor.New(sy)
		for _, i := range []int{-1, d.Len()} {
			if err := d.Sample(i, x, y); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("data: there is no sample %d: there are %d", i, d.Len())) {
				t.Errorf("%T: sample %d: %v", d, i, err)
			}
		}
		if err := d.Sample(0, y, x); err == nil || !strings.Contains(err.Error(), "data: a sample is "+sx.String()) {
			t.Errorf("%T: %v", d, err)
		}
		if err := d.Sample(0, x, tensor.Tensor{}); err == nil {
			t.Errorf("%T: no place for the target", d)
		}
	}
}
