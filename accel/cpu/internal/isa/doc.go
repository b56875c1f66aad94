// Package isa names the levels of vector instructions that kernels are written
// for, and finds those that this processor has. It imports the standard library
// and cpuid.
package isa
