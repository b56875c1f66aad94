//go:build !amd64 && !arm64

package isa

func detected() Level { return Generic }
