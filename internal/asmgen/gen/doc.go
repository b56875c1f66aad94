// Package gen describes the vector kernels once and builds them for each
// instruction set with avo. The same ir.File is printed as Go assembly
// (cmd/gen) and executed by the interpreter (package interp).
package gen
