// Package cpu is the default driver: it compiles graphs for the processor, with vector kernels and one pool of workers.
//
// [Open] chooses the level of vector instructions once. Compile fuses elementwise chains, and bias, activation and pooling behind matrix
// products and convolutions; it keeps images in a channel-blocked layout from one convolution to the next, and plans all memory of a
// step in one arena. What is left is a flat list of steps, each a kernel of one of the packages below internal:
//
//	gemm  matrix products          vec   elementwise chains, reductions, softmax, movement of data
//	conv  convolution and pooling  work  the pool of workers
//	isa   levels of instructions   limit probes of what the machine can do
//
// Work is split by shape, never by the number of workers: the same program and seed give the same bits at any GOMAXPROCS, on one level.
// bf16 and f16 are storage: they are computed in float32 and rounded after every operation.
//
// The package imports accel, ops, tensor and what lies below it.
package cpu
