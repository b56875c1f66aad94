package gemm

import "unsafe"

var (
	generic32 = genericKernels[float32]()
	generic64 = genericKernels[float64]()
)

func genericKernels[T Float]() *kernels[T] {
	return &kernels[T]{
		heights: []int{2, 1},
		widths:  []int{4},
		tiles:   [][]tile[T]{{tile2x4[T]}, {tile1x4[T]}},
	}
}

// tile2x4 is the tile in plain Go: eight sums and their operands fill the
// registers of amd64. Products are rounded on their own: some compilers would
// fuse them with the sum, and the result would differ by architecture.
func tile2x4[T Float](k int, a *T, aRow, aStep int, b *T, bStep int, c *T, ldc, n int, bias *T, mode int) {
	var s0, s1, s2, s3, t0, t1, t2, t3 T
	if k > 0 {
		as, bs := unsafe.Slice(a, aRow+(k-1)*aStep+1), unsafe.Slice(b, (k-1)*bStep+4)
		for p := range k {
			x, y, z := as[p*aStep], as[p*aStep+aRow], (*[4]T)(bs[p*bStep:])
			s0 += T(x * z[0])
			t0 += T(y * z[0])
			s1 += T(x * z[1])
			t1 += T(y * z[1])
			s2 += T(x * z[2])
			t2 += T(y * z[2])
			s3 += T(x * z[3])
			t3 += T(y * z[3])
		}
	}
	cs := unsafe.Slice(c, ldc+n)
	finish([4]T{s0, s1, s2, s3}, cs[:n], bias, mode)
	finish([4]T{t0, t1, t2, t3}, cs[ldc:], bias, mode)
}

func tile1x4[T Float](k int, a *T, _, aStep int, b *T, bStep int, c *T, _, n int, bias *T, mode int) {
	var s0, s1, s2, s3 T
	if k > 0 {
		as, bs := unsafe.Slice(a, (k-1)*aStep+1), unsafe.Slice(b, (k-1)*bStep+4)
		for p := range k {
			x, z := as[p*aStep], (*[4]T)(bs[p*bStep:])
			s0 += T(x * z[0])
			s1 += T(x * z[1])
			s2 += T(x * z[2])
			s3 += T(x * z[3])
		}
	}
	finish([4]T{s0, s1, s2, s3}, unsafe.Slice(c, n), bias, mode)
}

// finish stores a row of C as the mode says.
func finish[T Float](sums [4]T, c []T, bias *T, mode int) {
	for j, s := range sums[:len(c)] {
		if mode&modeAdd != 0 {
			s += c[j]
		}
		if mode&modeBias != 0 {
			s += unsafe.Slice(bias, len(c))[j]
		}
		if mode&modeReLU != 0 && s < 0 {
			s = 0
		}
		c[j] = s
	}
}
