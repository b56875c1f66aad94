package data

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"os"

	"github.com/cortado-ml/cortado/tensor"
)

// maxPixels is the largest image that is decoded: one from a 108-megapixel camera. A file of few bytes can claim any size.
const maxPixels = 1 << 27

// maxPixelsPerByte is the most that a byte of a file can hold: 8 pixels of one bit, times what deflate shrinks at most. A JPEG byte
// holds fewer.
const maxPixelsPerByte = 8 * deflateMost

// OpenImage reads the image file at path as DecodeImage does.
func OpenImage(path string, x tensor.Spec) (tensor.Tensor, error) {
	file, err := os.Open(path)
	if err != nil {
		return tensor.Tensor{}, fmt.Errorf("data: %w", err)
	}
	defer file.Close()
	t, err := decodeNew(file, x)
	if err != nil {
		return tensor.Tensor{}, fmt.Errorf("data: %s: %w", path, err)
	}
	return t, nil
}

// DecodeImage reads a PNG or JPEG image as a network wants it: x is f32[channels, height, width], with 1 channel for gray or 3 for red, green
// and blue, and the values go from 0, black, to 1. Whatever the size of the image, it is stretched to that of x (see resize), and:
//   - it is turned and mirrored as its Exif orientation says, so that it is upright as people see it;
//   - transparency is left out: a pixel has the colour that the file gives it, even where it could not be seen;
//   - gray of a colour is 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601);
//   - 16 bits count in full.
//
// An image of more than 2^27 pixels is refused before it is decoded.
func DecodeImage(r io.Reader, x tensor.Spec) (tensor.Tensor, error) {
	t, err := decodeNew(r, x)
	if err != nil {
		return tensor.Tensor{}, fmt.Errorf("data: %w", err)
	}
	return t, nil
}

func decodeNew(r io.Reader, x tensor.Spec) (tensor.Tensor, error) {
	if r == nil {
		return tensor.Tensor{}, errors.New("there is no reader")
	}
	if err := checkImageSpec(x); err != nil {
		return tensor.Tensor{}, err
	}
	t := tensor.New(x)
	if err := decode(r, t); err != nil {
		return tensor.Tensor{}, err
	}
	return t, nil
}

// checkImageSpec refuses what an image cannot be read as.
func checkImageSpec(x tensor.Spec) error {
	channels := x.Shape.Dim(0)
	if x.DType != tensor.F32 || x.Shape.Rank() != 3 || channels != 1 && channels != 3 || x.Shape.Size() == 0 {
		return fmt.Errorf("an image is read as f32[channels height width] with 1 or 3 channels, not as %v", x)
	}
	return nil
}

// decode reads an image into x.
func decode(r io.Reader, x tensor.Tensor) error {
	in := bufio.NewReader(r)
	start, err := in.Peek(8)
	if err != nil && err != io.EOF {
		return err
	}
	var config func(io.Reader) (image.Config, error)
	var whole func(io.Reader) (image.Image, error)
	var orient func([]byte) orientation
	switch {
	case bytes.HasPrefix(start, []byte("\x89PNG\r\n\x1a\n")):
		config, whole, orient = png.DecodeConfig, png.Decode, pngOrientation
	case bytes.HasPrefix(start, []byte("\xff\xd8\xff")):
		config, whole, orient = jpeg.DecodeConfig, jpeg.Decode, jpegOrientation
	default:
		return fmt.Errorf("it is neither a PNG nor a JPEG image: it starts with %q", start)
	}
	file, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	c, err := config(bytes.NewReader(file))
	if err != nil {
		return fmt.Errorf("the image cannot be decoded: %w", err)
	}
	if c.Width < 1 || c.Height < 1 {
		return fmt.Errorf("it has %d x %d pixels", c.Width, c.Height)
	}
	if c.Width > maxPixels/c.Height {
		return fmt.Errorf("its %d x %d pixels are more than the %d that are decoded", c.Width, c.Height, maxPixels)
	}
	if c.Width*c.Height/maxPixelsPerByte > len(file) {
		return fmt.Errorf("its %d bytes cannot hold the %d x %d pixels that they promise", len(file), c.Width, c.Height)
	}
	img, err := whole(bytes.NewReader(file))
	if err != nil {
		return fmt.Errorf("the image cannot be decoded: %w", err)
	}
	at, err := pixels(img)
	if err != nil {
		return err
	}
	stored, o := img.Bounds().Max, orient(file) // what is decoded starts at (0, 0)
	w, h := o.size(stored.X, stored.Y)
	resize(tensor.Data[float32](x), x.Shape(), w, h, func(y int, row [][]float32) {
		for i := range w {
			fromX, fromY := o.from(i, y, stored.X, stored.Y)
			r, g, b := at(fromX, fromY)
			if len(row) == 1 {
				row[0][i] = luma(r, g, b)
				continue
			}
			row[0][i], row[1][i], row[2][i] = unit(r), unit(g), unit(b)
		}
	})
	return nil
}

// unit is a 16-bit value from 0 to 1. For the 257*b that an 8-bit b stands for it is the float32 next to b/255.
func unit(v uint32) float32 { return float32(v) / 0xffff }

// luma is the gray of a colour of 16 bits a channel. Whole numbers keep gray exactly itself, and the result the same on every machine.
func luma(r, g, b uint32) float32 {
	return float32(float64(299*r+587*g+114*b) / (1000 * 0xffff))
}

// pixels is how to read the colours, 16 bits a channel, of an image that the standard library has decoded. That library's own interface would
// turn what is transparent black.
func pixels(img image.Image) (at func(x, y int) (r, g, b uint32), err error) {
	switch m := img.(type) {
	case *image.NRGBA:
		return func(x, y int) (r, g, b uint32) { return straight(m.NRGBAAt(x, y)) }, nil
	case *image.NRGBA64:
		return func(x, y int) (r, g, b uint32) {
			c := m.NRGBA64At(x, y)
			return uint32(c.R), uint32(c.G), uint32(c.B)
		}, nil
	case *image.Paletted:
		var table [256][3]uint32
		for i, c := range m.Palette {
			if n, ok := c.(color.NRGBA); ok {
				table[i][0], table[i][1], table[i][2] = straight(n)
			} else {
				table[i][0], table[i][1], table[i][2], _ = c.RGBA()
			}
		}
		return func(x, y int) (r, g, b uint32) {
			c := &table[m.ColorIndexAt(x, y)]
			return c[0], c[1], c[2]
		}, nil
	case *image.YCbCr: // in 8 bits, as other decoders round it
		return func(x, y int) (r, g, b uint32) {
			c := m.YCbCrAt(x, y)
			red, green, blue := color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
			return straight(color.NRGBA{R: red, G: green, B: blue})
		}, nil
	case image.RGBA64Image: // the others, gray and opaque
		return func(x, y int) (r, g, b uint32) {
			c := m.RGBA64At(x, y)
			return uint32(c.R), uint32(c.G), uint32(c.B)
		}, nil
	}
	return nil, fmt.Errorf("its pixels are of a kind that is not known: %T", img)
}

// straight is a colour without its transparency, widened to 16 bits.
func straight(c color.NRGBA) (r, g, b uint32) {
	return uint32(c.R) * 0x101, uint32(c.G) * 0x101, uint32(c.B) * 0x101
}
