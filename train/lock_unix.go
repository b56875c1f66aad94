//go:build unix

package train

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock makes the folder this run's alone, until release or the end of the process: two runs would take each other's checkpoints for their own.
// On a file system without locks it does nothing.
func lock(folder string) (release func(), err error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, fmt.Errorf("train: the folder of checkpoints: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		return nil, fmt.Errorf("train: another run is writing to %s: give each a folder of its own", folder)
	}
	return func() { f.Close() }, nil
}
