package train_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/cortado-ml/cortado/train"
)

// disk is a folder with a file system of its own.
func disk(t *testing.T, options string) string {
	t.Helper()
	folder := t.TempDir()
	if err := unix.Mount("none", folder, "tmpfs", 0, options); err != nil {
		t.Skipf("only root can mount a disk: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(folder, unix.MNT_DETACH) })
	return folder
}

// TestDiskFull runs out of space at the second checkpoint: the error says so and names the first one, which is whole. With more space the run
// goes on from there.
func TestDiskFull(t *testing.T) {
	set := squares(t, samples, 1)
	whole := mustFit(t, config(t), set)
	c := config(t)
	c.Checkpoint, c.CheckpointEvery = disk(t, "size=12k"), 2
	r := fit(t.Context(), c, set, nil)
	first := filepath.Join(c.Checkpoint, "step-000000002.safetensors")
	if !errors.Is(r.err, unix.ENOSPC) || !strings.HasPrefix(r.err.Error(), "train: no checkpoint could be written: ") || !strings.HasSuffix(r.err.Error(), "the last good checkpoint is "+first) {
		t.Errorf("the error is %v", r.err)
	}
	if strings.Count(r.err.Error(), "no space") != 1 {
		t.Errorf("it is told more than once: %v", r.err)
	}
	if d := cmp.Diff([]string{filepath.Base(first)}, files(t, c.Checkpoint)); d != "" {
		t.Error(d)
	}
	if err := unix.Mount("none", c.Checkpoint, "", unix.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	c.Optimizer, c.Resume = config(t).Optimizer, true
	r = mustFit(t, c, set)
	if e := last[train.Resumed](r.events); e.Path != first {
		t.Errorf("resumed %+v", e)
	}
	compareReports(t, r.report, whole.report)
}

// TestReadOnly refuses a folder that cannot be written to before the first step.
func TestReadOnly(t *testing.T) {
	folder := disk(t, "size=1m")
	if err := unix.Mount("none", folder, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, resume := range []bool{false, true} {
		c := config(t)
		c.Checkpoint, c.Resume = folder, resume
		r := fit(t.Context(), c, squares(t, samples, 1), nil)
		if !errors.Is(r.err, unix.EROFS) || !strings.Contains(r.err.Error(), folder) || len(r.losses) > 0 {
			t.Errorf("after %d steps the error is %v", len(r.losses), r.err)
		}
	}
}
