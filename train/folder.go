package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Checkpoints are called step-000000123.safetensors. The newest Config.Keep are kept: if the newest turns out damaged, there is one
// before it.
const (
	defaultKeep    = 3
	prefix, suffix = "step-", ".safetensors"
)

// setAsideName is the folder, within that of the checkpoints, for those of an earlier run.
const setAsideName = "before"

func checkpointPath(folder string, step int) string {
	return filepath.Join(folder, fmt.Sprintf("%s%09d%s", prefix, step, suffix))
}

// stepOf is the step in the name of a checkpoint, and whether it is one.
func stepOf(name string) (step int, ok bool) {
	digits, ours := strings.CutPrefix(name, prefix)
	digits, whole := strings.CutSuffix(digits, suffix)
	step, err := strconv.Atoi(digits)
	return step, ours && whole && err == nil && step >= 0
}

// stepIn is the step in the path of a checkpoint.
func stepIn(path string) int {
	step, _ := stepOf(filepath.Base(path))
	return step
}

// checkpoints are the files of a folder, the newest first; none if there is no folder.
func checkpoints(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		if _, ok := stepOf(e.Name()); ok {
			list = append(list, filepath.Join(folder, e.Name()))
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(stepIn(b), stepIn(a)) })
	return list, nil
}

// openFolder makes the folder ready: it is this run's alone, it can be written to, and it holds either the checkpoint that the run has gone
// on from or none.
func (r *run) openFolder(ctx context.Context) (release func(), err error) {
	if err := os.MkdirAll(r.Checkpoint, 0o777); err != nil {
		return nil, fmt.Errorf("train: the folder of checkpoints: %w", err)
	}
	release, err = lock(r.Checkpoint)
	if err != nil {
		return nil, err
	}
	if err := r.prepareFolder(ctx); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

func (r *run) prepareFolder(ctx context.Context) error {
	if err := tryWriting(r.Checkpoint); err != nil {
		return fmt.Errorf("train: the folder of checkpoints: %w", err)
	}
	if r.Resume {
		return r.resume(ctx)
	}
	if err := r.setAside(); err != nil {
		return fmt.Errorf("train: setting the checkpoints of an earlier run aside: %w", err)
	}
	return nil
}

// tryWriting finds out now, not when the first checkpoint is due, that a folder cannot be written to. It also removes what killed runs left.
func tryWriting(folder string) error {
	f, err := os.CreateTemp(folder, "try-writing-*")
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, partial := strings.CutSuffix(e.Name(), ".partial") // as safetensors.WriteFile calls a file that it has not finished
		if _, ours := stepOf(name); !partial || !ours && name != bestName {
			continue
		}
		if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// setAside moves the checkpoints of an earlier run to a folder for them, whose own it replaces: a new run starts without them, and nobody who
// forgot to resume has lost them.
func (r *run) setAside() error {
	list, err := withBest(r.Checkpoint)
	if err != nil || len(list) == 0 {
		return err
	}
	folder := filepath.Join(r.Checkpoint, setAsideName)
	old, err := withBest(folder)
	if err != nil {
		return err
	}
	for _, p := range old {
		if err := os.Remove(p); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for _, p := range list {
		if err := os.Rename(p, filepath.Join(folder, filepath.Base(p))); err != nil {
			return err
		}
	}
	r.tell(SetAside{Folder: folder})
	return nil
}

// withBest are the checkpoints of a folder, the best one too.
func withBest(folder string) ([]string, error) {
	list, err := checkpoints(folder)
	if err != nil {
		return nil, err
	}
	best := filepath.Join(folder, bestName)
	switch _, err := os.Lstat(best); {
	case err == nil:
		list = append(list, best)
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	return list, nil
}

// prune removes this run's checkpoints but the newest few. Those of later steps do not count: they are damaged, or the run would have gone on
// from there, and it will replace them.
func (r *run) prune() error {
	list, err := checkpoints(r.Checkpoint)
	if err != nil {
		return err
	}
	kept := 0
	for _, p := range list {
		if stepIn(p) <= r.report.Steps {
			kept++
		}
		if kept <= cmp.Or(r.Keep, defaultKeep) {
			continue
		}
		if err := os.Remove(p); err != nil {
			return err
		}
	}
	return nil
}
