// Package exact computes in plain Go what vector kernels compute, operation by
// operation in the kernels' order, so that all bits must agree. It is the bridge
// between two proofs: tests beside the kernels compare the processor with it,
// and internal/asmgen compares its interpreter with it, for levels that the
// processor lacks.
//
// It is slow, imports the standard library only, and serves tests.
package exact
