//go:build race

package vec

// raced says that the race detector is on: sync.Pool then forgets frames at random, and computing is ten times slower.
const raced = true
