// Package proof has no code but tests: each runs every kernel of one package, at
// every level, in the interpreter, and compares all bits with package exact.
//
// program(t, pkg, isa, name) loads a kernel and demands at the end that each of
// its instructions was executed. run executes it and demands that each byte
// that it may write was written.
package proof
