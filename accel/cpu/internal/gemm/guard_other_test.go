//go:build !linux

package gemm

import "testing"

// guardedMemory has no guard here.
func guardedMemory[T Float](_ *testing.T, n int) []T { return make([]T, n) }
