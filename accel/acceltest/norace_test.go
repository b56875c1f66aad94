//go:build !race

package acceltest

// RaceDetector says that the race detector watches.
const RaceDetector = false
