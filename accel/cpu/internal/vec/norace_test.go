//go:build !race

package vec

const raced = false
