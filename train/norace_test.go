//go:build !race

package train_test

const raceDetector = false
