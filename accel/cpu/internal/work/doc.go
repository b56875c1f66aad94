// Package work runs the parts of a kernel on a pool of persistent goroutines.
// It imports the standard library only.
//
// A kernel cuts its work by shape into n parts, never by the number of workers,
// and each part writes memory of its own; so its result has the same bits at
// any number of threads.
package work
