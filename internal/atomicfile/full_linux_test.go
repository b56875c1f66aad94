package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cortado-ml/cortado/internal/atomicfile"
)

// TestDiskFull writes to a real file system with too little room.
func TestDiskFull(t *testing.T) {
	folder := t.TempDir()
	if err := unix.Mount("none", folder, "tmpfs", 0, "size=400k"); err != nil {
		t.Skipf("only root can mount a small disk: %v", err)
	}
	defer unix.Unmount(folder, unix.MNT_DETACH)
	path := filepath.Join(folder, "a")
	if err := atomicfile.Write(path, block('o')); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, block('n')); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("the error is %v", err)
	}
	whole(t, path)
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("left in the folder: %v", entries)
	}
}
