//go:build !linux

package work

import "math"

// quota is no limit where there are no control groups.
func quota() int { return math.MaxInt }

// Memory is unknown there.
func Memory() int64 { return 0 }
