package conv

import "fmt"

// Block is the number of channels that lie side by side for one pixel: 16
// float32 values fill a cache line.
const Block = 16

// Tensor is the shape of a batch of images in the blocked layout
// [blocks][N*H*W + 1][16], where blocks is C/16 rounded up. The pixels of all
// images follow each other, row by row.
//
// Lanes of the last block beyond C are padding: every operation of this package
// leaves zeros there and expects them. The pixel after the last only keeps
// blocks from lying a power of two apart; nobody reads it. Elementwise work may
// run over the whole slice, if f(0, ..., 0) is 0; else ClearPad must follow.
type Tensor struct {
	N, C, H, W int
}

// Blocks is the number of blocks of channels.
func (t Tensor) Blocks() int { return (t.C + Block - 1) / Block }

// Pixels is the number of pixels of all images.
func (t Tensor) Pixels() int { return t.N * t.H * t.W }

// Plane is the distance from one block of channels to the next, in values.
func (t Tensor) Plane() int { return (t.Pixels() + 1) * Block }

// Len is the number of values, padding included.
func (t Tensor) Len() int { return t.Blocks() * t.Plane() }

// String is the shape as N x C x H x W.
func (t Tensor) String() string { return fmt.Sprintf("%dx%dx%dx%d", t.N, t.C, t.H, t.W) }

// ClearPad sets the padding of x to zero: lanes beyond the channels, and the pixel after the last.
func (t Tensor) ClearPad(x []float32) {
	for b := range t.Blocks() {
		clear(x[(b+1)*t.Plane()-Block:][:Block])
		t.clearRegion(b, 1, x[b*t.Plane():], 0, t.Pixels())
	}
}

// clearRegion sets lanes beyond the channels to zero, where 0 x Inf may have left
// NaN: in n pixels of y, which starts with block column and has wide blocks, plane values apart.
func (t Tensor) clearRegion(column, wide int, y []float32, plane, n int) {
	used := t.C % Block
	if used == 0 || column+wide < t.Blocks() {
		return
	}
	y = y[(t.Blocks()-1-column)*plane:][:n*Block]
	for ; len(y) > 0; y = y[Block:] {
		clear(y[used:Block])
	}
}

// bytes is the offset of a pixel in bytes, as the kernels' tables hold it.
func bytes(pixel int) int32 { return int32(4 * Block * pixel) }

// maxPixels is the largest number of pixels of one image: their offsets in bytes are int32.
const maxPixels = 1 << 24

func (t Tensor) check() error {
	switch {
	case t.N < 0 || t.C < 0 || t.H < 0 || t.W < 0:
		return fmt.Errorf("conv: shape %v has a negative size", t)
	case t.H > maxPixels || t.W > maxPixels || t.H*t.W > maxPixels:
		return fmt.Errorf("conv: an image of %dx%d is larger than %d pixels", t.H, t.W, maxPixels)
	}
	return nil
}
