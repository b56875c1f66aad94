// Package ops is the language of computation: what an operation means, and how a program in it is recorded, replayed and differentiated.
//
// Everything else reads or writes graphs of this package: layers and optimisers write them through the tape, the scheduler cuts them, a
// driver compiles and runs them. One file holds one family of operations, and in it stand next to each other an operation's rule for
// shapes and types, its reference in plain Go, its gradient, its cost, its batch rule and its samples. The type of an operation is its
// name with Op behind it; the builder that users call is a method of [Value] for what chains, a function for the rest:
//
//	y := x.MatMul(w).Add(b).ReLU()
//	loss := ops.CrossEntropy(y, labels)
//
// A user's own operation is a struct that implements [Op], recorded with [Apply].
//
// Building never panics. A [Recorder] keeps the first error of a recording, accessors of shapes stay total on a poisoned graph, and every
// call that returns a result returns the error: an [*OpError] that names operation, scope and call site.
//
// The package imports tensor and the standard library only.
package ops
