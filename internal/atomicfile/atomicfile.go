package atomicfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Suffix ends the name under which a file is written until it is whole. A file of that name is what a killed program left: the next
// Write of the same path takes it over, and readers of a folder pass over it.
const Suffix = ".partial"

// Write makes path hold what write writes. The bytes go to a second file in the same folder, are flushed to the disk, and take the name
// over in one step; then the folder is flushed too. If anything fails, the second file is removed, path is as before, and the error says
// what failed: an *fs.PathError with write's own error in its chain. A symbolic link is followed; an existing file's permissions are kept.
//
// Writers of one path wait for each other, in one process or several, where the system has file locks: on Unix.
func Write(path string, write func(io.Writer) error) error {
	if err := replace(path, write); err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

func replace(path string, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := os.FileMode(0)
	if old, err := os.Stat(path); err == nil {
		if !old.Mode().IsRegular() { // a folder cannot be replaced, and a device such as /dev/null must not be
			return fmt.Errorf("not a regular file: %v", old.Mode())
		}
		mode = old.Mode().Perm()
	}

	partial := path + Suffix
	f, err := openLocked(partial)
	if err != nil {
		return err
	}
	done := false
	defer func() { // also when write panics
		if done {
			f.Close() // what was written is on the disk already: Sync said so
		} else {
			discard(f)
		}
	}()

	if err := f.Truncate(0); err != nil {
		return err
	}
	if mode != 0 {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := rename(f, path); err != nil {
		return err
	}
	done = true
	return syncFolder(filepath.Dir(path))
}

// openLocked opens the partial file and waits until nobody else writes it.
func openLocked(partial string) (*os.File, error) {
	for {
		f, err := os.OpenFile(partial, os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			return nil, err
		}
		lock(f)
		mine, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		// The one we waited for has renamed or removed the file that we opened: then the name is free, or another's.
		if there, err := os.Stat(partial); err == nil && os.SameFile(mine, there) {
			return f, nil
		}
		f.Close()
	}
}
