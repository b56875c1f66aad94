// Package conv computes convolution, pooling and batch-norm of float32 images in
// a layout of its own, where 16 channels of a pixel fill a cache line (Tensor).
//
// Everything that a shape decides is planned once: plans hold tables of
// addresses, so that running packs nothing, tests no border and allocates
// nothing. A plan cuts its work by shape alone, so the result has the same bits
// at any number of threads. Scratch is the caller's.
//
//	Forward, InputGradient, WeightGradient   convolution of any window, stride, padding and number of channels
//	First, FirstWeightGradient               the same for inputs of few channels, read as NCHW
//	Depthwise, DepthwiseWeightGradient       the same where each channel is a group of its own
//	Pool                                     max-pool and average-pool with their gradients
//	Norm, Gradient                           batch-norm; gradients of bias and ReLU
//	Layout                                   to and from NCHW
//
// Convolution is direct: a tile is some pixels of the output x 16 or 32
// channels, and a table names the pixel of the input for each tap. Pixels that
// need the same taps share tiles, so taps that lie in the padding are left out,
// not multiplied by zero: an infinite weight there has no effect.
//
// The float64 functions work on NCHW in plain Go, for checks.
//
// The assembly is generated and proved by internal/asmgen.
package conv
