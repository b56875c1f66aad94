// Package tensor holds what the whole engine speaks of: element types, comparable shapes, specs and host arrays.
//
// A [Tensor] is a dense row-major array in Go memory. It is a small value: copying it shares the elements, [From] wraps a slice without
// a copy and [Data] gives the slice back. It computes nothing; package ops says what computations mean, and drivers run them.
//
// The package imports the standard library only.
package tensor
