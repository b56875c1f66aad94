package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
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
		p, named, err := readCheckpoint(path)
		if err != nil {
			if errors.Is(err, fs.ErrPermission) {
				return fmt.Errorf("train: resume: %w", err)
			}
			damaged = append(damaged, err)
			r.Observe(Skipped{Path: path, Err: err})
			continue
		}
		return r.restore(ctx, path, p, named)
	}
	if len(damaged) > 0 {
		return fmt.Errorf("train: resume: no checkpoint in %s is whole: %w", r.Checkpoint, errors.Join(damaged...))
	}
	return nil
}

// readCheckpoint reads a file, after a check that nothing in it has changed.
func readCheckpoint(path string) (p progress, named []safetensors.Named, err error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return p, nil, err
	}
	defer f.Close()
	if err := f.Verify(); err != nil {
		return p, nil, fmt.Errorf("%s: %w", path, err)
	}
	text, ok := f.Metadata()[metaKey]
	if !ok {
		return p, nil, fmt.Errorf("%s: it is a model, not a checkpoint of a run: its metadata lack %s", path, metaKey)
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, nil, fmt.Errorf("%s: metadata %s: %w", path, metaKey, err)
	}
	for _, name := range f.Names() {
		t, err := f.Tensor(name)
		if err != nil {
			return p, nil, err
		}
		named = append(named, safetensors.Named{Name: name, Tensor: t})
	}
	return p, named, nil
}

// restore sets every variable and the place in the run.
func (r *run) restore(ctx context.Context, path string, p progress, named []safetensors.Named) error {
	switch n := r.set.Len(); {
	case p.Seed != r.Seed:
		return fmt.Errorf("train: resume: %s was written with seed %d, not %d: the order of samples would change", path, p.Seed, r.Seed)
	case p.Batch != r.Batch:
		return fmt.Errorf("train: resume: %s was written with batches of %d samples, not %d: resume with the same, or start anew", path, p.Batch, r.Batch)
	case p.Samples != n:
		return fmt.Errorf("train: resume: %s was written for %d training samples, not %d", path, p.Samples, n)
	case p.Shuffled == r.KeepOrder:
		return fmt.Errorf("train: resume: %s was written with shuffling %v, not %v", path, p.Shuffled, !r.KeepOrder)
	}
	if err := Load(ctx, named, r.variables()); err != nil {
		return fmt.Errorf("train: resume: %s: %w", path, err)
	}
	r.tape.SetStep(int64(p.Step))
	r.at, r.sum, r.seen = p.At, math.Float64frombits(p.SumBits), p.Seen
	r.report.Steps, r.report.Epochs, r.report.Checkpoint, r.saved = p.Step, p.At.Epoch, path, p.Step
	e := Resumed{Path: path, Step: p.Step}
	if have := r.levels(); !slices.Equal(have, p.ISA) {
		e.Note = fmt.Sprintf("it was written at instruction level %v, this is %v: the last bits of what follows will differ", p.ISA, have)
	}
	r.Observe(e)
	return nil
}

// Load sets variables to the tensors of the same names. All that does not fit is listed at once: names that are missing, names that no
// variable has, shapes and types that differ; then nothing is set.
func Load(ctx context.Context, named []safetensors.Named, vars []*ops.Variable) error {
	have := map[string]tensor.Tensor{}
	for _, n := range named {
		have[n.Name] = n.Tensor
	}
	var missing, wrong, extra []string
	known := map[string]bool{}
	for _, v := range vars {
		known[v.Name()] = true
		t, ok := have[v.Name()]
		switch {
		case !ok:
			missing = append(missing, v.Name())
		case t.Spec() != v.Spec():
			wrong = append(wrong, fmt.Sprintf("%s is %v in the file, %v in the model", v.Name(), t.Spec(), v.Spec()))
		}
	}
	for _, n := range named {
		if !known[n.Name] {
			extra = append(extra, n.Name)
		}
	}
	var problems []string
	for what, list := range map[string][]string{"missing": missing, "unexpected": extra, "mis-shaped": wrong} {
		if len(list) > 0 {
			problems = append(problems, what+": "+strings.Join(list, ", "))
		}
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return fmt.Errorf("train: the file is of another model: %s", strings.Join(problems, "; "))
	}
	for _, v := range vars {
		if err := v.Set(ctx, have[v.Name()]); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	return nil
}
