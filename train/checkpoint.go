package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// A checkpoint is a safetensors file, step-000000123.safetensors, with every variable of the net and the optimiser, and in its metadata the
// place in the run. The newest keepCheckpoints are kept: if the newest turns out damaged, there is one before it.
const keepCheckpoints = 3

// metaKey is the metadata that Fit writes and reads.
const metaKey = "cortado.run"

// progress is the place in a run.
type progress struct {
	Step     int           `json:"step"`
	At       data.Position `json:"at"`
	SumBits  uint64        `json:"sum_bits"` // of the epoch's losses, as the bits of a float64
	Seen     int           `json:"seen"`
	Seed     uint64        `json:"seed"`
	Batch    int           `json:"batch"`
	Samples  int           `json:"samples"`
	Shuffled bool          `json:"shuffled"`
	ISA      []string      `json:"isa"` // level of each device
}

// variables are what a checkpoint holds.
func (r *run) variables() []*ops.Variable {
	return append(slices.Clone(r.net.State()), r.Optimizer.State()...)
}

func checkpointPath(folder string, step int) string {
	return filepath.Join(folder, fmt.Sprintf("step-%09d.safetensors", step))
}

// save writes a checkpoint, unless there is no folder or nothing has happened since the last one.
func (r *run) save(ctx context.Context) error {
	if r.Checkpoint == "" || r.saved == r.report.Steps {
		return nil
	}
	if err := os.MkdirAll(r.Checkpoint, 0o777); err != nil {
		return fmt.Errorf("train: checkpoint: %w", err)
	}
	named, err := Tensors(ctx, r.variables())
	if err != nil {
		return fmt.Errorf("train: checkpoint: %w", err)
	}
	p := progress{
		Step: r.report.Steps, At: r.at, SumBits: math.Float64bits(r.sum), Seen: r.seen, Seed: r.Seed, Batch: r.Batch,
		Samples: r.set.Len(), Shuffled: !r.KeepOrder, ISA: r.levels(),
	}
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("train: checkpoint: %w", err)
	}
	meta := maps.Clone(r.Metadata)
	if meta == nil {
		meta = map[string]string{}
	}
	meta[metaKey] = string(text)
	path := checkpointPath(r.Checkpoint, p.Step)
	if err := safetensors.WriteFile(path, named, meta); err != nil {
		return fmt.Errorf("train: checkpoint: %w", err)
	}
	r.saved, r.report.Checkpoint = p.Step, path
	r.Observe(Saved{Path: path, Step: p.Step})
	return r.prune()
}

// levels are the instruction levels of the devices: other levels, other bits.
func (r *run) levels() (list []string) {
	for _, d := range r.Engine.Devices() {
		list = append(list, d.Info().ISA)
	}
	return list
}

// Tensors reads variables, as they are written to a file.
func Tensors(ctx context.Context, vars []*ops.Variable) ([]safetensors.Named, error) {
	named := make([]safetensors.Named, len(vars))
	for i, v := range vars {
		t, err := v.Value(ctx)
		if err != nil {
			return nil, err
		}
		named[i] = safetensors.Named{Name: v.Name(), Tensor: t}
	}
	return named, nil
}

// checkpoints are the files of a folder, the newest first.
func checkpoints(folder string) ([]string, error) {
	list, err := filepath.Glob(filepath.Join(globEscape(folder), "step-*.safetensors"))
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(p string) bool { return stepOf(p) < 0 })
	slices.SortFunc(list, func(a, b string) int { return stepOf(b) - stepOf(a) })
	return list, nil
}

// globEscape is a folder's name with nothing that Glob would take for a pattern.
func globEscape(s string) string {
	var b []byte
	for i := range len(s) {
		switch s[i] {
		case '*', '?', '[', '\\':
			if filepath.Separator != '\\' || s[i] != '\\' {
				b = append(b, '\\')
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// stepOf is the step in a checkpoint's name, -1 for other files.
func stepOf(path string) int {
	name := filepath.Base(path)
	if len(name) < len("step-.safetensors") {
		return -1
	}
	n, err := strconv.Atoi(name[len("step-") : len(name)-len(".safetensors")])
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// setAside moves the checkpoints of an earlier run to the folder "before", whose own it replaces: a new run starts without them, and nobody
// who forgot to resume has lost them.
func (r *run) setAside() error {
	list, err := checkpoints(r.Checkpoint)
	if err != nil || len(list) == 0 {
		return err
	}
	folder := filepath.Join(r.Checkpoint, "before")
	old, err := checkpoints(folder)
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
	r.Observe(SetAside{Folder: folder})
	return nil
}

// prune removes what is older than the newest few.
func (r *run) prune() error {
	list, err := checkpoints(r.Checkpoint)
	if err != nil {
		return fmt.Errorf("train: checkpoint: %w", err)
	}
	for _, p := range list[min(keepCheckpoints, len(list)):] {
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("train: checkpoint: %w", err)
		}
	}
	return nil
}
