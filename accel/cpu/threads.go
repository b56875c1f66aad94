package cpu

import (
	"fmt"
	"os"
	"strconv"

	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// threadsFromEnv is the number of workers: CORTADO_THREADS, or one for each processor that the process may use.
func threadsFromEnv() (int, error) {
	s := os.Getenv("CORTADO_THREADS")
	if s == "" {
		return work.DefaultThreads(), nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxThreads {
		return 0, fmt.Errorf("cpu: CORTADO_THREADS is %q: want a number from 1 to %d", s, maxThreads)
	}
	return n, nil
}
