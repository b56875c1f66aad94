package gemm

import "unsafe"

var (
	generic32 = genericKernels[float32]()
	generic64 = genericKernels[float64]()
)

func genericKernels[T Float]() *kernels[T] {
	return &kernels[T]{
		heights: []int{4, 1},
		widths:  []int{4},
		tiles:   [][]tile[T]{{tile4x4[T]}, {tile1x4[T]}},
	}
}

// tile4x4 is the tile in plain Go. Products are rounded on their own: some
// compilers would fuse them with the sum, and the result would differ by
// architecture.
func tile4x4[T Float](k int, a *T, aRow, aStep int, b *T, bStep int, c *T, ldc, n int, bias *T, mode int) {
	var s [4][4]T
	if k > 0 {
		rows := unsafe.Slice(a, 3*aRow+(k-1)*aStep+1)
		a0, a1, a2, a3 := rows, rows[aRow:], rows[2*aRow:], rows[3*aRow:]
		bs := unsafe.Slice(b, (k-1)*bStep+4)
		for p := range k {
			y := (*[4]T)(bs[p*bStep:])
			b0, b1, b2, b3 := y[0], y[1], y[2], y[3]
			x := a0[p*aStep]
			s[0][0] += T(x * b0)
			s[0][1] += T(x * b1)
			s[0][2] += T(x * b2)
			s[0][3] += T(x * b3)
			x = a1[p*aStep]
			s[1][0] += T(x * b0)
			s[1][1] += T(x * b1)
			s[1][2] += T(x * b2)
			s[1][3] += T(x * b3)
			x = a2[p*aStep]
			s[2][0] += T(x * b0)
			s[2][1] += T(x * b1)
			s[2][2] += T(x * b2)
			s[2][3] += T(x * b3)
			x = a3[p*aStep]
			s[3][0] += T(x * b0)
			s[3][1] += T(x * b1)
			s[3][2] += T(x * b2)
			s[3][3] += T(x * b3)
		}
	}
	for i := range s {
		finish(s[i][:n], unsafe.Slice(c, 3*ldc+n)[i*ldc:], bias, mode)
	}
}

func tile1x4[T Float](k int, a *T, _, aStep int, b *T, bStep int, c *T, _, n int, bias *T, mode int) {
	var s [4]T
	if k > 0 {
		as, bs := unsafe.Slice(a, (k-1)*aStep+1), unsafe.Slice(b, (k-1)*bStep+4)
		for p := range k {
			x, y := as[p*aStep], (*[4]T)(bs[p*bStep:])
			s[0] += T(x * y[0])
			s[1] += T(x * y[1])
			s[2] += T(x * y[2])
			s[3] += T(x * y[3])
		}
	}
	finish(s[:n], unsafe.Slice(c, n), bias, mode)
}

// finish stores a row of sums as the mode says.
func finish[T Float](sum, c []T, bias *T, mode int) {
	for j, s := range sum {
		if mode&modeAdd != 0 {
			s += c[j]
		}
		if mode&modeBias != 0 {
			s += unsafe.Slice(bias, len(sum))[j]
		}
		if mode&modeReLU != 0 && s < 0 {
			s = 0
		}
		c[j] = s
	}
}
