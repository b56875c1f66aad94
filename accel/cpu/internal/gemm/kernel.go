package gemm

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

// Bits of a tile's mode, as internal/asmgen/gen has them.
const (
	modeAdd = 1 << iota
	modeBias
	modeReLU
)

// tile stores the product of some rows of A and some columns of B in the left n
// columns of a tile of C. Its size is that of its place in the table. The value
// of A in row i at step p is a[i*aRow+p*aStep]; those of B at step p start at
// b[p*bStep]. It reads all columns of B, but only n values of bias, and n of
// each row of C.
type tile[T Float] func(k int, a *T, aRow, aStep int, b *T, bStep int, c *T, ldc, n int, bias *T, mode int)

// kernels is what a level offers.
type kernels[T Float] struct {
	heights []int       // rows of tiles, descending to 1
	widths  []int       // columns of tiles, descending
	tiles   [][]tile[T] // by index of height, index of width

	// pack transposes packRows rows of k >= 4 values: dst[p*step+i] =
	// src[i*stride+p]. Both are zero where the level has none.
	pack     func(dst *T, step int, src *T, stride, k int)
	packRows int
}

// height returns the index of the tallest tile with at most so many rows.
func (k *kernels[T]) height(rows int) int {
	for i, h := range k.heights {
		if h <= rows {
			return i
		}
	}
	return len(k.heights) - 1
}

// width returns the index of the narrowest tile with at least so many columns, or of the widest.
func (k *kernels[T]) width(columns int) int {
	for i := len(k.widths) - 1; i > 0; i-- {
		if k.widths[i] >= columns {
			return i
		}
	}
	return 0
}

// kernelsOf returns the kernels for a type at a level.
func kernelsOf[T Float](level isa.Level) *kernels[T] {
	var k any
	switch any(*new(T)).(type) {
	case float32:
		k = kernels32(level)
	case float64:
		k = kernels64(level)
	}
	return k.(*kernels[T])
}
