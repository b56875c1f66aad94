//go:build race

package train_test

// raceDetector says that the race detector watches: it makes sync.Pool forget, so that objects are allocated that are not otherwise.
const raceDetector = true
