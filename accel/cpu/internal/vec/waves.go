package vec

import "unsafe"

// waveLimit is how far from 0 the kernels of sine and cosine know π well enough.
const waveLimit = 1 << 16

// within is a kernel that leaves what lies beyond waveLimit to f. An element's bits do not depend on its neighbours'.
func within(kernel func(dst, a *float32, n int), f func(float64) float64) func(dst, a *float32, n int) {
	return func(dst, a *float32, n int) {
		far := false
		for _, x := range unsafe.Slice(a, n) {
			far = far || x > waveLimit || x < -waveLimit
		}
		if !far {
			kernel(dst, a, n)
			return
		}
		for i := range n { // dst may be a
			if x := *at(a, i); x > waveLimit || x < -waveLimit {
				*at(dst, i) = float32(f(float64(x)))
			} else {
				kernel(at(dst, i), at(a, i), 1)
			}
		}
	}
}
