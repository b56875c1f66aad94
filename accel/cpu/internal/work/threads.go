package work

import "runtime"

// DefaultThreads returns how many threads this process may keep busy: the least
// of GOMAXPROCS, the processors that its affinity allows, and the quota of its
// control group, rounded up. The Go runtime heeds the quota too, but never goes
// below two, and not at all where the user sets GOMAXPROCS.
func DefaultThreads() int {
	return max(1, min(runtime.GOMAXPROCS(0), runtime.NumCPU(), quota()))
}
