//go:build unix

package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock waits for the file's lock, which the system releases when f is closed or the process dies. On a file system without locks it
// does nothing.
func lock(f *os.File) {
	for unix.Flock(int(f.Fd()), unix.LOCK_EX) == unix.EINTR {
	}
}

// rename gives f the name path while its lock is held.
func rename(f *os.File, path string) error { return os.Rename(f.Name(), path) }

// discard removes f while its lock is held, so that it is not the next writer's file that goes.
func discard(f *os.File) {
	os.Remove(f.Name())
	f.Close()
}

// syncFolder makes a rename in the folder outlast a power cut. Some file systems cannot and say so; there is no more to be done there.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
