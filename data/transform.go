package data

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/cortado-ml/cortado/tensor"
)

// Transform changes the input of one sample in place. In a Loader random is the sample's own source of numbers: whatever a Transform draws, it
// draws again for this sample in this epoch, and no other sample sees a difference.
type Transform func(random *rand.Rand, x tensor.Tensor) error

// Compose is the transforms one after another.
func Compose(list ...Transform) Transform {
	return func(random *rand.Rand, x tensor.Tensor) error {
		for i, t := range list {
			if t == nil {
				return fmt.Errorf("data: transform %d is nil", i)
			}
			if err := t(random, x); err != nil {
				return err
			}
		}
		return nil
	}
}

// FlipHorizontal is a Transform: it mirrors an image […, height, width] left to right, one time in two.
func FlipHorizontal(random *rand.Rand, x tensor.Tensor) error {
	if random == nil || x.Shape().Rank() < 2 {
		return fmt.Errorf("data: no image to flip, or no source of chance: %v", x.Spec())
	}
	if random.Uint64()&1 == 0 {
		return nil
	}
	width, size := x.Shape().Dim(-1), x.DType().Size()
	for b := x.Bytes(); len(b) > 0; b = b[width*size:] {
		for i, j := 0, (width-1)*size; i < j; i, j = i+size, j-size {
			for k := range size {
				b[i+k], b[j+k] = b[j+k], b[i+k]
			}
		}
	}
	return nil
}

// Shift is a Transform that moves an image […, height, width] by -n to n pixels down and, drawn on its own, to the right; what comes in is 0. It
// is a random crop out of the image padded by n on each side.
func Shift(n int) Transform {
	return func(random *rand.Rand, x tensor.Tensor) error {
		height, width := x.Shape().Dim(-2), x.Shape().Dim(-1)
		if random == nil || x.Shape().Rank() < 2 || n < 0 || n >= height || n >= width {
			return fmt.Errorf("data: no image to shift by up to %d pixels, or no source of chance: %v", n, x.Spec())
		}
		down, right := below(random, 2*n+1)-n, below(random, 2*n+1)-n
		row := width * x.DType().Size()
		for b := x.Bytes(); len(b) > 0; b = b[height*row:] {
			shiftBytes(b[:height*row], down*row)
			for line := range height {
				shiftBytes(b[line*row:(line+1)*row], right*x.DType().Size())
			}
		}
		return nil
	}
}

// shiftBytes moves b up by n places, down if n is negative, and fills with zeros.
func shiftBytes(b []byte, n int) {
	if n >= 0 {
		copy(b[n:], b)
		clear(b[:n])
		return
	}
	copy(b, b[-n:])
	clear(b[len(b)+n:])
}

// Crop is a Transform that cuts a part out of a float32 image [channels, height, width] and scales it to the image's size. The part's height and
// width are, drawn on their own, from min to the whole of the image's, rounded up to whole pixels; its place is drawn too. It is torchvision's
// RandomResizedCrop with the sides drawn instead of area and ratio.
func Crop(min float64) Transform {
	return func(random *rand.Rand, x tensor.Tensor) error {
		if random == nil || x.DType() != tensor.F32 || x.Shape().Rank() != 3 || x.Len() == 0 || !(min > 0 && min <= 1) {
			return fmt.Errorf("data: no float32 image to crop to %v or more of its sides, or no source of chance: %v", min, x.Spec())
		}
		height, width := x.Shape().Dim(1), x.Shape().Dim(2)
		side := func(n int) (size, from int) {
			least := int(math.Ceil(min * float64(n)))
			size = least + below(random, n-least+1)
			return size, below(random, n-size+1)
		}
		h, top := side(height)
		w, left := side(width)
		whole := tensor.Data[float32](x.Clone())
		resize(tensor.Data[float32](x), x.Shape(), w, h, func(y int, row [][]float32) {
			for c := range row {
				copy(row[c], whole[(c*height+top+y)*width+left:])
			}
		})
		return nil
	}
}

// Invert makes black white: each element of a float32 image becomes 1 minus itself. Nothing inverts by itself: it is for photographs of dark
// writing on white paper, where a network has learned light on dark. It is a Transform that needs no random numbers.
func Invert(_ *rand.Rand, x tensor.Tensor) error {
	if x.DType() != tensor.F32 {
		return fmt.Errorf("data: no float32 image to invert: %v", x.Spec())
	}
	values := tensor.Data[float32](x)
	for i, v := range values {
		values[i] = 1 - v
	}
	return nil
}
