package data_test

import (
	"errors"
	"fmt"
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
