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
// What chains is listed by "go doc ops.Value": arithmetic and comparisons, functions of each element, MatMul, reductions, axes and shapes, indexing, sorting,
// Cast. The functions are
//
//   - of layers: [Linear], [Conv2D] and its kin, [LSTM], [GRU], [Attention], [LayerNorm] and other norms, pools, [Resize], [Embedding], [Dropout];
//   - losses: [CrossEntropy], [CrossEntropyWith] of a [ClassLoss], [BCEWithLogits], [MSE], [L1], [Huber], [KLDivergence], [CTCLoss];
//   - of several values: [Where], [Concat], [Stack];
//   - constants, which have no input and so ask for the Recorder, Tape.Recorder or Value.Recorder: [Full], [Zeros], [Iota]. An array that never changes is a
//     [Variable] that nobody assigns, made once by [NewVariable] and read by Tape.Var or [Recorder.Var];
//   - random numbers: [Uniform], [Normal].
//
// A user's own operation is a struct that implements [Op], recorded with [Apply].
//
// Building never panics. A [Recorder] keeps the first error of a recording, accessors of shapes stay total on a poisoned graph, and every
// call that returns a result returns the error: an [*OpError] that names operation, scope and call site.
//
// The package imports tensor and the standard library only.
package ops
