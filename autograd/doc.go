// Package autograd is the tape: it records lazily what a Go program computes, replays what it has seen, differentiates, and hands whole
// graphs to a runner.
//
// Nothing runs while a step is recorded. [Tape.Step] runs the whole step - forward, backward, optimiser - as one graph; then all of its
// assignments happen, or none. A step recorded like an earlier one is recognised while it is being recorded, so plain Go loops and
// branches cost comparisons only.
//
// The package imports ops and tensor. It knows the engine through [Runner] alone.
package autograd
