package exact

import "math"

// Gemm is a matmul tile: the sum over k steps of a[i*aRow+p*aStep] *
// b[p*bStep+j] for every row i < m and column j < n, stored at c[i*ldc+j]. Bits
// of mode, in this order: 1 adds what c holds, 2 adds bias[j], 4 replaces values
// below zero by zero.
func Gemm[T float32 | float64](k int, a []T, aRow, aStep int, b []T, bStep int, c []T, ldc, m, n int, bias []T, mode int) {
	for i := range m {
		for j := range n {
			var s T
			for p := range k {
				s = fma(a[i*aRow+p*aStep], b[p*bStep+j], s)
			}
			if mode&1 != 0 {
				s += c[i*ldc+j]
			}
			if mode&2 != 0 {
				s += bias[j]
			}
			if mode&4 != 0 && s < 0 {
				s = 0
			}
			c[i*ldc+j] = s
		}
	}
}

func fma[T float32 | float64](a, b, c T) T {
	switch x := any(a).(type) {
	case float32:
		return T(FMA(x, float32(b), float32(c)))
	default:
		return T(math.FMA(float64(a), float64(b), float64(c)))
	}
}
