//go:build race

package acceltest

// RaceDetector says that the race detector watches, ten times slower: tests in which nothing runs beside anything else have nothing to
// show it.
const RaceDetector = true
