// Package sched is the engine: it turns recorded graphs into programs and runs them on devices.
//
// A graph is first made canonical: dead code is dropped, common subexpressions are merged, constants folded. The canonical graph is the
// key of a bounded compile cache. A graph that the cache does not know is cut into pieces, one after another where devices differ, and
// each piece is compiled by its device's driver. A run brings variables to where they are needed, hands buffers from piece to piece, and
// commits: no variable changes before every node that can fail has finished on every device.
//
// Nodes are placed by pins alone (Tape.On); without a pin a node runs on the first device. A [Plan] prints what was decided.
//
// The package imports ops, tensor and accel; it names no driver, and knows the tape only as the caller of [Engine.Run].
package sched
