// Package philox is the engine's source of random numbers: the counter-based generator Philox4x32-10.
//
// A value is a pure function of four numbers: a seed, a stream (which operation asks), a step (which run of the program) and the index of the
// element. There is no state. So a value does not depend on how work is split, on which device computes it, or on what else a program
// draws; and a gradient draws the mask of its forward operation again instead of keeping it.
//
// Source: J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11.
//
// The package imports the standard library only.
package philox
