//go:build !amd64 && !arm64

package vec

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

// override leaves the plain loops: there is no assembly for this architecture.
func override(isa.Level, *table[float32]) {}
