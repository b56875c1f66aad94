//go:build !unix

package atomicfile

import "os"

// lock does nothing: there is no lock that is released when a process dies.
func lock(*os.File) {}

// rename closes f first: elsewhere than on Unix an open file keeps its name.
func rename(f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// discard removes f.
func discard(f *os.File) {
	f.Close()
	os.Remove(f.Name())
}

// syncFolder does nothing: a folder cannot be opened to be flushed.
func syncFolder(string) error { return nil }
