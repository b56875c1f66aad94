//go:build !race

package contract

const raceDetector = false
