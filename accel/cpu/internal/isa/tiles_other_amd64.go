//go:build !linux

package isa

// allowTiles is false where nobody has tried AMX.
func allowTiles() bool { return false }
