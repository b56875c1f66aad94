package train_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cortado-ml/cortado/tensor/safetensors"
	"github.com/cortado-ml/cortado/train"
)

// TestCheckpointFile reads a checkpoint as another program would.
func TestCheckpointFile(t *testing.T) {
	c := config(t)
	c.Epochs, c.Checkpoint, c.Metadata = 1, t.TempDir(), map[string]string{"who": "me"}
	r := mustFit(t, c, squares(t, samples, 1))
	f, err := safetensors.Open(r.report.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Verify(); err != nil {
		t.Error(err)
	}
	want := []string{
		"0.weight", "0.bias", "1.running_mean", "1.running_var", "1.weight", "1.bias", "6.weight", "6.bias", "optim.step",
		"0.weight.exp_avg", "0.weight.exp_avg_sq", "0.bias.exp_avg", "0.bias.exp_avg_sq", "1.weight.exp_avg", "1.weight.exp_avg_sq",
		"1.bias.exp_avg", "1.bias.exp_avg_sq", "6.weight.exp_avg", "6.weight.exp_avg_sq", "6.bias.exp_avg", "6.bias.exp_avg_sq",
	}
	if d := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(f.Names()))); d != "" {
		t.Error(d)
	}
	if steps, err := f.Tensor("optim.step"); err != nil || steps.Int(0) != stepsEach {
		t.Errorf("optim.step is %v, %v", steps, err)
	}
	if meta := f.Metadata(); meta["who"] != "me" || !strings.Contains(meta["cortado.run"], `"step":4`) {
		t.Errorf("the metadata are %v", meta)
	}
}

// TestKeepsThree removes older checkpoints, and nothing else.
func TestKeepsThree(t *testing.T) {
	c := config(t)
	c.Checkpoint, c.CheckpointEvery = t.TempDir(), 2
	others := []string{"notes.txt", "step-1.safetensors.bak", "step-x.safetensors", "step-.safetensors", "step--1.safetensors", "my.partial"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(c.Checkpoint, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	mustFit(t, c, squares(t, samples, 1))
	want := append(others, "step-000000008.safetensors", "step-000000010.safetensors", "step-000000012.safetensors")
	if d := cmp.Diff(slices.Sorted(slices.Values(want)), files(t, c.Checkpoint)); d != "" {
		t.Error(d)
	}
}

// three is a folder with the checkpoints of steps 8, 10 and 12 of the run of config, and that run.
func three(t *testing.T) (train.Config, trace) {
	t.Helper()
	c := config(t)
	c.Checkpoint, c.CheckpointEvery = t.TempDir(), 2
	r := mustFit(t, c, squares(t, samples, 1))
	c.Optimizer, c.Resume = config(t).Optimizer, true
	return c, r
}

// damage replaces the checkpoint of a step by what change makes of it.
func damage(t *testing.T, folder string, step int, change func([]byte) []byte) string {
	t.Helper()
	path := filepath.Join(folder, fmt.Sprintf("step-%09d.safetensors", step))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(b), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDamaged damages the newest checkpoint in many ways: the one before it is used, that is told, and the run ends as it would have. The
// damaged file is replaced on the way.
func TestDamaged(t *testing.T) {
	cut := func(n func(int) int) func([]byte) []byte { return func(b []byte) []byte { return b[:n(len(b))] } }
	flip := func(at func(int) int) func([]byte) []byte {
		return func(b []byte) []byte { b[at(len(b))] ^= 1; return b }
	}
	set := squares(t, samples, 1)
	c, whole := three(t)
	for what, change := range map[string]func([]byte) []byte{
		"empty":           cut(func(int) int { return 0 }),
		"8 bytes":         cut(func(int) int { return 8 }),
		"half":            cut(func(n int) int { return n / 2 }),
		"a byte short":    cut(func(n int) int { return n - 1 }),
		"last byte":       flip(func(n int) int { return n - 1 }),
		"length":          flip(func(int) int { return 0 }),
		"header":          flip(func(int) int { return 60 }),
		"first number":    flip(func(n int) int { return n * 3 / 4 }),
		"a byte too many": func(b []byte) []byte { return append(b, 0) },
		"zeros":           func(b []byte) []byte { return make([]byte, len(b)) },
	} {
		path := damage(t, c.Checkpoint, 12, change)
		c.Optimizer = config(t).Optimizer
		r := mustFit(t, c, set)
		if e := last[train.Skipped](r.events); e.Path != path || e.Err == nil || !strings.Contains(e.Err.Error(), path) {
			t.Errorf("%s: skipped %+v", what, e)
		}
		if e := last[train.Resumed](r.events); e.Step != 10 {
			t.Errorf("%s: resumed %+v", what, e)
		}
		if len(r.losses) != 2 || r.losses[11] != whole.losses[11] || r.losses[12] != whole.losses[12] {
			t.Errorf("%s: losses %x", what, r.losses)
		}
		compareReports(t, r.report, whole.report)
	}
}

// TestAllDamaged is an error that names all; nothing is trained, and nothing removed.
func TestAllDamaged(t *testing.T) {
	c, _ := three(t)
	half := func(b []byte) []byte { return b[:len(b)/2] }
	paths := []string{damage(t, c.Checkpoint, 8, half), damage(t, c.Checkpoint, 10, half), damage(t, c.Checkpoint, 12, half)}
	r := fit(t.Context(), c, squares(t, samples, 1), nil)
	if r.err == nil || !errors.Is(r.err, safetensors.ErrFormat) || !strings.HasPrefix(r.err.Error(), "train: resume: no checkpoint in "+c.Checkpoint+" is whole: ") {
		t.Fatalf("the error is %v", r.err)
	}
	for _, p := range paths {
		if !strings.Contains(r.err.Error(), p) {
			t.Errorf("%s is not in the error %v", p, r.err)
		}
		if _, err := os.Stat(p); err != nil {
			t.Error(err)
		}
	}
	if len(r.losses) > 0 {
		t.Error("it has trained")
	}
}

// TestDamagedStay goes on from the oldest checkpoint with others behind it that are damaged: they are not counted among the newest three, which
// would remove what has just been written.
func TestDamagedStay(t *testing.T) {
	c, whole := three(t)
	none := func([]byte) []byte { return nil }
	damage(t, c.Checkpoint, 10, none)
	damage(t, c.Checkpoint, 12, none)
	another := filepath.Join(c.Checkpoint, "step-000000014.safetensors")
	if err := os.WriteFile(another, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	c.CheckpointEvery = 1
	ctx, watch := stopAt(t, 9)
	if r := fit(ctx, c, squares(t, samples, 1), watch); !errors.Is(r.err, errStop) || last[train.Resumed](r.events).Step != 8 {
		t.Fatalf("the error is %v", r.err)
	}
	c.Optimizer = config(t).Optimizer
	r := mustFit(t, c, squares(t, samples, 1))
	if e := last[train.Resumed](r.events); e.Step != 9 {
		t.Errorf("resumed %+v", e)
	}
	compareReports(t, r.report, whole.report)
	if d := cmp.Diff([]string{"step-000000010.safetensors", "step-000000011.safetensors", "step-000000012.safetensors", filepath.Base(another)}, files(t, c.Checkpoint)); d != "" {
		t.Error(d)
	}
}

// TestNoCheckpoint takes a model's file, which says nothing of a run, for a damaged checkpoint.
func TestNoCheckpoint(t *testing.T) {
	c := config(t)
	c.Checkpoint, c.Resume = t.TempDir(), true
	path := filepath.Join(c.Checkpoint, "step-000000001.safetensors")
	if err := safetensors.WriteFile(path, nil, map[string]string{"cortado.model": "cnn"}); err != nil {
		t.Fatal(err)
	}
	if r := fit(t.Context(), c, squares(t, samples, 1), nil); r.err == nil || !strings.Contains(r.err.Error(), path+": it is a model, not a checkpoint") {
		t.Errorf("the error is %v", r.err)
	}
	if err := safetensors.WriteFile(path, nil, map[string]string{"cortado.run": "{"}); err != nil {
		t.Fatal(err)
	}
	c.Optimizer = config(t).Optimizer
	if r := fit(t.Context(), c, squares(t, samples, 1), nil); r.err == nil || !strings.Contains(r.err.Error(), path+": metadata cortado.run: unexpected end") {
		t.Errorf("the error is %v", r.err)
	}
}

// TestSetAside starts anew in a folder with checkpoints of an earlier run: they are moved away, and those of the run before that removed.
func TestSetAside(t *testing.T) {
	set := squares(t, samples, 1)
	c := config(t)
	c.Steps, c.Checkpoint = 2, t.TempDir()
	mustFit(t, c, set)
	for run, want := range []string{"step-000000002.safetensors", "step-000000003.safetensors"} {
		c.Optimizer, c.Steps = config(t).Optimizer, 3
		r := mustFit(t, c, set)
		before := filepath.Join(c.Checkpoint, "before")
		if e, ok := r.events[0].(train.SetAside); !ok || e.Folder != before {
			t.Errorf("run %d: the first event is %+v", run+2, r.events[0])
		}
		if len(r.losses) != 3 {
			t.Errorf("run %d: %d steps", run+2, len(r.losses))
		}
		if d := cmp.Diff([]string{want}, files(t, before)); d != "" {
			t.Errorf("run %d: %s", run+2, d)
		}
		if d := cmp.Diff([]string{"before", "step-000000003.safetensors"}, files(t, c.Checkpoint)); d != "" {
			t.Errorf("run %d: %s", run+2, d)
		}
	}
}

// TestStalePartial removes what a killed run has left.
func TestStalePartial(t *testing.T) {
	for _, resume := range []bool{false, true} {
		c := config(t)
		c.Steps, c.Checkpoint, c.Resume = 2, t.TempDir(), resume
		if err := os.WriteFile(filepath.Join(c.Checkpoint, "step-000000007.safetensors.partial"), []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
		mustFit(t, c, squares(t, samples, 1))
		if d := cmp.Diff([]string{"step-000000002.safetensors"}, files(t, c.Checkpoint)); d != "" {
			t.Error(d)
		}
	}
}

// TestNoFolder refuses, before the first step, a folder that cannot be one.
func TestNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{file, filepath.Join(file, "run")} {
		for _, resume := range []bool{false, true} {
			c := config(t)
			c.Checkpoint, c.Resume = folder, resume
			r := fit(t.Context(), c, squares(t, samples, 1), nil)
			var path *fs.PathError
			if !errors.As(r.err, &path) || path.Path != file || len(r.losses) > 0 || !strings.HasPrefix(r.err.Error(), "train: the folder of checkpoints: ") {
				t.Errorf("after %d steps the error is %v", len(r.losses), r.err)
			}
		}
	}
}
