// Package goldens reads what PyTorch computed, for tests to compare with: values and gradients of single operations
// ([Ops]), and the losses of small networks over 100 training steps ([Load]).
//
// The files and the script that makes them are in testdata/goldens, whose README.md describes the format. Tests find
// them from any package of this module. The package imports internal/formula and the standard library only.
package goldens
