// Package limit measures what the machine gives at most: float32
// multiply-adds from registers and beside loads, and memory bandwidth. A kernel's
// speed is judged as a share of these, measured in the same seconds: on a shared
// host they move by a factor of two.
//
// It imports isa, work and the standard library.
package limit

//go:generate go run -C ../../../../internal/asmgen ./cmd/gen limit
