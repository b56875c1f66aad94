package data_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	. "github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/tensor"
)

// counted is an image [2, 3, 4] of type d whose pixels are 1, 2, 3, …
func counted(d tensor.DType) tensor.Tensor {
	x := tensor.New(tensor.SpecOf(d, 2, 3, 4))
	for i := range x.Len() {
		x.Set(i, float64(i+1))
	}
	return x
}

// moved is the image that has, at each place, the pixel of x that from names, or 0 outside.
func moved(x tensor.Tensor, from func(row, col int) (int, int)) tensor.Tensor {
	out := tensor.New(x.Spec())
	h, w := x.Shape().Dim(1), x.Shape().Dim(2)
	for i := range x.Len() {
		if row, col := from(i/w%h, i%w); row >= 0 && row < h && col >= 0 && col < w {
			out.Set(i, x.At(i/(h*w)*h*w+row*w+col))
		}
	}
	return out
}

func TestFlipHorizontal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range tensor.DTypes {
		flipped := 0
		want := moved(counted(d), func(row, col int) (int, int) { return row, 3 - col })
		for range 200 {
			x := counted(d)
			if err := FlipHorizontal(r, x); err != nil {
				t.Fatal(err)
			}
			if d != tensor.Bool && x.Same(want) {
				flipped++
			} else if !x.Same(counted(d)) {
				t.Fatalf("%v became %v", counted(d), x)
			}
		}
		if d != tensor.Bool && (flipped < 70 || flipped > 130) {
			t.Errorf("%v: %d of 200 are mirrored", d, flipped)
		}
	}
}

func TestShift(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range tensor.DTypes {
		seen := map[string]int{}
		for range 1000 {
			x := counted(d)
			if err := Shift(2)(r, x); err != nil {
				t.Fatal(err)
			}
			found := false
			for down := -2; down <= 2; down++ {
				for right := -2; right <= 2; right++ {
					if x.Same(moved(counted(d), func(row, col int) (int, int) { return row - down, col - right })) {
						seen[fmt.Sprint(down, right)]++
						found = true
					}
				}
			}
			if !found {
				t.Fatalf("%v became %v", counted(d), x)
			}
		}
		if len(seen) != 25 {
			t.Errorf("%v: %d of 25 ways to shift: %v", d, len(seen), seen)
		}
	}
	x := counted(tensor.F32)
	if err := Shift(0)(r, x); err != nil || !x.Same(counted(tensor.F32)) {
		t.Errorf("a shift by 0: %v, %v", x, err)
	}
}

func TestInvertAndCompose(t *testing.T) {
	x := tensor.Must(tensor.From([]float32{0, 0.25, 1}))
	if err := Compose(Invert, func(_ *rand.Rand, x tensor.Tensor) error { x.Set(2, 5); return nil })(nil, x); err != nil {
		t.Error(err)
	}
	if x.String() != "f32[3]{1 0.75 5}" {
		t.Errorf("%v", x)
	}
	cause := errors.New("no")
	bad := Compose(Invert, func(*rand.Rand, tensor.Tensor) error { return cause }, func(*rand.Rand, tensor.Tensor) error { panic("not reached") })
	if err := bad(nil, x); err != cause {
		t.Error(err)
	}
	if err := Compose()(nil, x); err != nil {
		t.Error(err)
	}
}

func TestTransformsRefuse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	line, image := tensor.New(tensor.SpecOf(tensor.F32, 5)), tensor.New(tensor.SpecOf(tensor.U8, 1, 3, 5))
	for what, err := range map[string]error{
		"flip": FlipHorizontal(r, line), "shift": Shift(1)(r, line), "shift by 3 of 3": Shift(3)(r, image), "shift by -1": Shift(-1)(r, image),
		"invert": Invert(r, image),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "data: no ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := errors.Join(FlipHorizontal(r, tensor.New(tensor.SpecOf(tensor.F32, 2, 0))), FlipHorizontal(r, tensor.New(tensor.SpecOf(tensor.F32, 0, 2)))); err != nil {
		t.Error(err)
	}
}

// TestCrop crops a ramp, of which each part scaled is a ramp again: of lower slope, within the values of the whole.
func TestCrop(t *testing.T) {
	ramp := func() tensor.Tensor {
		x := tensor.New(tensor.SpecOf(tensor.F32, 2, 20, 10))
		for i := range x.Len() {
			x.Set(i, float64(i/200*1000+i/10%20*10+i%10))
		}
		return x
	}
	r := rand.New(rand.NewPCG(1, 2))
	downs, rights := map[float64]bool{}, map[float64]bool{}
	for range 300 {
		x := ramp()
		if err := Crop(0.5)(r, x); err != nil {
			t.Fatal(err)
		}
		at := func(c, row, col int) float64 { return x.At(c*200 + row*10 + col) }
		down, right := (at(0, 11, 5)-at(0, 8, 5))/3/10, (at(0, 10, 6)-at(0, 10, 3))/3 // in pixels of the whole
		downs[math.Round(down*20)], rights[math.Round(right*10)] = true, true
		if down < 0.49 || down > 1.01 || right < 0.49 || right > 1.01 {
			t.Fatalf("slopes %v and %v", down, right)
		}
		if lo, hi := at(0, 0, 0), at(0, 19, 9); lo < -1e-3 || hi > 199.001 {
			t.Fatalf("from %v to %v", lo, hi)
		}
		for i := range 200 {
			if d := x.At(200+i) - x.At(i); math.Abs(d-1000) > 1e-3 {
				t.Fatalf("the channels differ by %v", d)
			}
		}
	}
	if len(downs) != 11 || len(rights) != 6 {
		t.Errorf("heights %v, widths %v: want 10 to 20 and 5 to 10", downs, rights)
	}
	x := ramp()
	if err := Crop(1)(r, x); err != nil || !x.Same(ramp()) {
		t.Errorf("a crop of everything: %v", err)
	}
	for _, min := range []float64{0, -1, 1.01, math.NaN()} {
		if err := Crop(min)(r, ramp()); err == nil {
			t.Errorf("cropped to %v", min)
		}
	}
	for _, x := range []tensor.Tensor{{}, tensor.New(tensor.SpecOf(tensor.U8, 1, 2, 2)), tensor.New(tensor.SpecOf(tensor.F32, 2, 2)), tensor.New(tensor.SpecOf(tensor.F32, 1, 0, 2))} {
		if err := Crop(0.5)(r, x); err == nil {
			t.Errorf("cropped %v", x.Spec())
		}
	}
	if err := Crop(0.5)(nil, ramp()); err == nil {
		t.Error("cropped without chance")
	}
}
