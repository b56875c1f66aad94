// Package scalar has the real functions of one or two numbers that package math lacks, in float64. The references of package ops and the
// plain loops of the CPU driver share them.
//
// All take NaN to NaN, and an infinity to the limit.
//
// The package imports the standard library only.
package scalar
