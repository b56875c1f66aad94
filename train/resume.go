package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// resume continues from the newest checkpoint that is whole. A damaged one is told of and passed over; if all are, that is an error. A
// checkpoint of another run is an error too: passing over it would lose the work without a word.
func (r *run) resume(ctx context.Context) error {
	list, err := checkpoints(r.Checkpoint)
	if err != nil {
		return fmt.Errorf("train: resume: %w", err)
	}
	var damaged []error
	for _, path := range list {
		p, meta, named, err := readCheckpoint(path)
		if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("train: resume: %w", err)
		}
		if err != nil {
			damaged = append(damaged, err)
			r.tell(Skipped{Path: path, Err: err})
			continue
		}
		note := strings.Join(r.differences(p, meta), "; ")
		if err := r.restore(ctx, path, p, named); err != nil {
			if note != "" {
				err = fmt.Errorf("%w; %s", err, note)
			}
			return fmt.Errorf("train: resume: %s %w", path, err)
		}
		r.tell(Resumed{Path: path, Step: p.Step, Note: note})
		return nil
	}
	if len(damaged) > 0 {
		return fmt.Errorf("train: resume: no checkpoint in %s is whole: %w", r.Checkpoint, errors.Join(damaged...))
	}
	r.tell(Resumed{})
	return nil
}

// readCheckpoint reads a file, after a check that nothing in it has changed since it was written. Every error names the path.
func readCheckpoint(path string) (p place, meta map[string]string, named []safetensors.Named, err error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return p, nil, nil, err
	}
	defer f.Close()
	if err := f.Verify(); err != nil {
		return p, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	meta = f.Metadata()
	text, ok := meta[metaKey]
	if !ok {
		return p, nil, nil, fmt.Errorf("%s: it is a model, not a checkpoint of a run: its metadata lack %s", path, metaKey)
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, nil, nil, fmt.Errorf("%s: metadata %s: %w", path, metaKey, err)
	}
	if named, err = f.Tensors(); err != nil {
		return p, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, meta, named, nil
}

// restore sets every variable and the place in the run. Its errors go on from the file's path.
func (r *run) restore(ctx context.Context, path string, p place, named []safetensors.Named) error {
	switch order := r.order(); {
	case p.Seed != r.Seed:
		return fmt.Errorf("was written with seed %d, not %d: first values and dropout would change", p.Seed, r.Seed)
	case p.DType != r.DType.String():
		return fmt.Errorf("was written in %s, this run is %v: set Config.DType, or start from its model, by LoadModel in Config.Prepare", p.DType, r.DType)
	case p.Order != order:
		return fmt.Errorf("was written for %s; this run has %s: resume with the same, or start anew", p.Order, order)
	}
	if err := load(ctx, named, r.variables()); err != nil {
		return err
	}
	r.tape.SetStep(p.Recorded)
	r.at, r.taken, r.recorded = p.At, p.Taken, p.Recorded
	r.sum, r.weight = math.Float64frombits(p.SumBits), math.Float64frombits(p.WeightBits)
	r.last = math.Float64frombits(p.LastBits)
	r.monitor = monitor{math.Float64frombits(p.BestBits), math.Float64frombits(p.ReferenceBits), p.Waited}
	r.findBest()
	r.report.Steps, r.report.Epochs, r.report.Checkpoint, r.saved = p.Step, p.At.Epoch, path, p.Step
	return nil
}

// differences are what this run has otherwise than the one that wrote a checkpoint, without harm to the state.
func (r *run) differences(p place, meta map[string]string) (list []string) {
	if have := r.levels(); !slices.Equal(have, p.ISA) {
		list = append(list, fmt.Sprintf("it was written at instruction level %v, this is %v: the last bits of what follows will differ", p.ISA, have))
	}
	for _, key := range slices.Sorted(maps.Keys(r.Metadata)) {
		if was, ok := meta[key]; ok && was != r.Metadata[key] {
			list = append(list, fmt.Sprintf("%s was %q, it is %q now", key, was, r.Metadata[key]))
		}
	}
	return list
}

// Load sets variables to the tensors of the same names, in whatever order. All that does not fit is told at once, by a *layers.StateError: names
// that are missing, names that no variable has, shapes and types that differ; then nothing is set.
func Load(ctx context.Context, named []safetensors.Named, vars []*ops.Variable) error {
	if err := load(ctx, named, vars); err != nil {
		return fmt.Errorf("train: the file %w", err)
	}
	return nil
}

// load is Load, with errors that go on from the file's name.
func load(ctx context.Context, named []safetensors.Named, vars []*ops.Variable) error {
	err := layers.Load(ctx, named, vars)
	var differs *layers.StateError
	switch {
	case errors.As(err, &differs):
		return fmt.Errorf("is of another model or optimizer: %w", differs)
	case err != nil:
		return fmt.Errorf("cannot be loaded: %w", err)
	}
	return nil
}
