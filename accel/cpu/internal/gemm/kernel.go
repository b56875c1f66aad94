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

	// copyPanels copies panels of B: piece j of row p, as wide as the widest tile,
	// goes from src[p*stride+j*width] to dst[j*panel+p*width], in bytes. The generic
	// level has none.
	copyPanels func(dst *byte, panel int, src *byte, stride, panels, k int)
	packs      []pack[T] // by rows, descending; float32 on amd64 only
}

// pack is a kernel that transposes that many rows of k >= 4 values: dst[p*step+i] = src[i*stride+p].
type pack[T Float] struct {
	rows int
	run  func(dst *T, step int, src *T, stride, k int)
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
