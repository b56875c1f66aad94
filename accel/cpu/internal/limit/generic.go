package limit

import "unsafe"

// generic are the probes in plain Go. There is no non-temporal store in Go.
var generic = kernels{
	chains: 12, lanes: 1, unit: 16,
	fma: fmaGeneric, fmaLoad: fmaLoadGeneric,
	triad: triadGeneric, triadStream: triadGeneric,
	transform: mapGeneric, transformStream: mapGeneric,
}

// fmaGeneric does n times 12 independent multiplications and additions.
func fmaGeneric(n int, x *float32) {
	v := *x
	var s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11 float32
	for range n {
		s0, s1, s2, s3 = s0*v+v, s1*v+v, s2*v+v, s3*v+v
		s4, s5, s6, s7 = s4*v+v, s5*v+v, s6*v+v, s7*v+v
		s8, s9, s10, s11 = s8*v+v, s9*v+v, s10*v+v, s11*v+v
	}
	sink(s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11)
}

// fmaLoadGeneric does the same beside 8 loads.
func fmaLoadGeneric(n int, x *float32) {
	v, y := *x, unsafe.Slice(x, 8)
	var s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11 float32
	for range n {
		s0, s1, s2, s3 = s0*v+y[0], s1*v+y[1], s2*v+y[2], s3*v+y[3]
		s4, s5, s6, s7 = s4*v+y[4], s5*v+y[5], s6*v+y[6], s7*v+y[7]
		s8, s9, s10, s11 = s8*v+v, s9*v+v, s10*v+v, s11*v+v
	}
	sink(s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11)
}

// sink keeps the compiler from leaving out what leads to x.
//
//go:noinline
func sink(float32) {}

func triadGeneric(n int, a, b, c *float32) {
	x, y, z := unsafe.Slice(a, 16*n), unsafe.Slice(b, 16*n), unsafe.Slice(c, 16*n)
	for i := range x {
		x[i] = y[i]*y[i] + z[i]
	}
}

func mapGeneric(n int, a, b, _ *float32) {
	x, y := unsafe.Slice(a, 16*n), unsafe.Slice(b, 16*n)
	for i := range x {
		x[i] = y[i] * y[i]
	}
}
