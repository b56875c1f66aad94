package layers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// StateError lists all that does not fit between the tensors of a file and variables. Nothing was set.
type StateError struct {
	Missing    []string // variables that the file lacks
	Unexpected []string // tensors that no variable is called after
	Misfits    []string // shapes and types that differ, in words
	Conflicts  []string // names of one variable with different values in the file, in words

	near map[string]string // of a missing name, the unexpected one that may be it
}

// Error lists the first of each kind, and how many there are more; for a missing name with the name in the file that it may have there.
func (e *StateError) Error() string {
	const most = 5
	missing := make([]string, len(e.Missing))
	for i, name := range e.Missing {
		missing[i] = name
		if other := e.near[name]; other != "" {
			missing[i] += " (the file has " + other + ")"
		}
	}
	var parts []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"missing", missing}, {"unexpected", e.Unexpected}, {"mis-shaped", e.Misfits}, {"in conflict", e.Conflicts}} {
		if n := len(p.names) - most; n > 0 {
			p.names = append(p.names[:most:most], fmt.Sprintf("and %d more", n))
		}
		if len(p.names) > 0 {
			parts = append(parts, p.what+": "+strings.Join(p.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// Load sets variables to the tensors of the same names, in whatever order. All that does not fit is told at once, by a *StateError: names that are
// missing, names that no variable has, shapes and types that differ; then nothing is set.
func Load(ctx context.Context, named []safetensors.Named, vars []*ops.Variable) error {
	targets := make([]target, len(vars))
	for i, v := range vars {
		if v == nil {
			return fmt.Errorf("layers: variable %d is nil", i)
		}
		targets[i] = target{v: v, names: []string{v.Name()}}
	}
	if err := assign(ctx, named, targets, func(string) bool { return false }, false); err != nil {
		return fmt.Errorf("layers: %w", err)
	}
	return nil
}

// Load sets the parameters and running statistics to the tensors of the same names, as PyTorch's load_state_dict does with strict=True. What does
// not fit is told at once, by a *StateError, and then nothing is set. Beyond equal names and shapes there are three rules:
//
//   - Floats of another type are converted: exactly to a wider one, to the nearest number of a narrower one. A number beyond the range of the narrower
//     type is an error.
//   - num_batches_tracked beside a running mean, which PyTorch's batch-norm counts for a momentum that we do not have, is passed over. PyTorch does
//     not ask for it in our files.
//   - A tied parameter may be there under any of its names, or under several with the same bits; different values are an error.
func (n *Net) Load(ctx context.Context, named []safetensors.Named) error {
	if err := n.load(ctx, named); err != nil {
		return fmt.Errorf("layers: %w", err)
	}
	return nil
}

// load is Load, with errors that do not say where they come from.
func (n *Net) load(ctx context.Context, named []safetensors.Named) error {
	names := map[*ops.Variable][]string{}
	for _, v := range n.state {
		names[v] = []string{v.Name()}
	}
	for name, v := range n.named {
		if name != v.Name() {
			names[v] = append(names[v], name)
		}
	}
	targets := make([]target, len(n.state))
	for i, v := range n.state {
		targets[i] = target{v, names[v]}
	}
	counts := func(name string) bool {
		of, ok := strings.CutSuffix(name, "num_batches_tracked")
		return ok && n.named[of+"running_mean"] != nil
	}
	return assign(ctx, named, targets, counts, true)
}

// LoadFile is Load of a safetensors file. If the file has a checksum, as ours have, it is verified first.
func (n *Net) LoadFile(ctx context.Context, path string) error {
	f, err := safetensors.Open(path)
	if err != nil {
		return fmt.Errorf("layers: %w", err)
	}
	defer f.Close()
	if err := f.Verify(); err != nil && !errors.Is(err, safetensors.ErrNoChecksum) {
		return fmt.Errorf("layers: %s: %w", path, err)
	}
	named, err := f.Tensors()
	if err == nil {
		err = n.load(ctx, named)
	}
	if _, checkpoint := f.Metadata()["cortado.run"]; err != nil && checkpoint {
		err = fmt.Errorf("it is a checkpoint, with an optimizer's state, whose model train.LoadModel loads: %w", err)
	}
	if err != nil {
		return fmt.Errorf("layers: %s: %w", path, err)
	}
	return nil
}

// Tensors reads the parameters and running statistics, frozen ones too, after the steps enqueued so far: what [Net.Load] takes and
// [safetensors.WriteFile] writes.
func (n *Net) Tensors(ctx context.Context) ([]safetensors.Named, error) { return Tensors(ctx, n.state) }

// SaveFile writes Tensors to a safetensors file, with metadata, which may be nil. PyTorch loads it into a model of the same structure by
// load_state_dict(safetensors.torch.load_file(path), strict=True); with tied parameters, which are saved once, by safetensors.torch.load_model.
func (n *Net) SaveFile(ctx context.Context, path string, metadata map[string]string) error {
	named, err := n.Tensors(ctx)
	if err == nil {
		err = safetensors.WriteFile(path, named, metadata)
	}
	if err != nil {
		return fmt.Errorf("layers: %w", err)
	}
	return nil
}

// Tensors reads variables, after the steps enqueued so far.
func Tensors(ctx context.Context, vars []*ops.Variable) ([]safetensors.Named, error) {
	named := make([]safetensors.Named, len(vars))
	for i, v := range vars {
		if v == nil {
			return nil, fmt.Errorf("layers: variable %d is nil", i)
		}
		t, err := v.Value(ctx)
		if err != nil {
			return nil, fmt.Errorf("layers: %w", err)
		}
		named[i] = safetensors.Named{Name: v.Name(), Tensor: t}
	}
	return named, nil
}

// target is a variable with the names that it may have in a file, its own first.
type target struct {
	v     *ops.Variable
	names []string
}

// assign sets the variables, or says what does not fit. Tensors that are passed over need no variable; with convert floats may be of another
// type.
func assign(ctx context.Context, named []safetensors.Named, targets []target, passed func(string) bool, convert bool) error {
	have, e := map[string]tensor.Tensor{}, &StateError{near: map[string]string{}}
	for _, n := range named {
		if _, twice := have[n.Name]; twice {
			e.Conflicts = append(e.Conflicts, n.Name+" is there twice")
		}
		have[n.Name] = n.Tensor
	}
	known, values := map[string]bool{}, make([]tensor.Tensor, len(targets))
	for i, g := range targets {
		from := ""
		for _, name := range g.names {
			known[name] = true
			t, ok := have[name]
			switch {
			case !ok:
			case from == "":
				from = name
				var misfit string
				if values[i], misfit = fit(t, g.v.Spec(), convert); misfit != "" {
					e.Misfits = append(e.Misfits, name+" "+misfit)
				}
			case !t.Same(have[from]):
				e.Conflicts = append(e.Conflicts, fmt.Sprintf("%s and %s are one parameter in the model, and differ in the file", from, name))
			}
		}
		if from == "" {
			e.Missing = append(e.Missing, g.v.Name())
		}
	}
	for _, n := range named {
		if !known[n.Name] && !passed(n.Name) {
			e.Unexpected = append(e.Unexpected, n.Name)
		}
	}
	e.suggest(have, targets)
	if e.Error() != "" {
		return fmt.Errorf("the state is of another model: %w", e)
	}
	for i, g := range targets {
		if err := g.v.Set(ctx, values[i]); err != nil {
			return err
		}
	}
	return nil
}

// suggest finds for missing names unexpected ones of their shapes that are near, each for one: the nearest pairs first.
func (e *StateError) suggest(have map[string]tensor.Tensor, targets []target) {
	shapes := map[tensor.Shape][]string{}
	for _, name := range e.Unexpected {
		s := have[name].Shape()
		shapes[s] = append(shapes[s], name)
	}
	specs := map[string]tensor.Shape{}
	for _, g := range targets {
		specs[g.v.Name()] = g.v.Spec().Shape
	}
	type pair struct {
		missing, other string
		likeness
	}
	var pairs []pair
	for _, name := range e.Missing {
		for _, other := range shapes[specs[name]] {
			if l, ok := alike(name, other); ok {
				pairs = append(pairs, pair{name, other, l})
			}
		}
	}
	slices.SortStableFunc(pairs, func(p, q pair) int { return p.compare(q.likeness) })
	taken := map[string]bool{}
	for _, p := range pairs {
		if e.near[p.missing] == "" && !taken[p.other] {
			e.near[p.missing], taken[p.other] = p.other, true
		}
	}
}

// fit is t as a value of a spec, or why it cannot be.
func fit(t tensor.Tensor, s tensor.Spec, convert bool) (x tensor.Tensor, misfit string) {
	have := t.Spec()
	switch {
	case have == s:
		return t, ""
	case have.Shape != s.Shape || !convert || !have.DType.Float() || !s.DType.Float():
		return x, fmt.Sprintf("is %v in the file, %v in the model", have, s)
	}
	x = tensor.New(s)
	for i := range t.Len() {
		x.Set(i, t.At(i))
		if math.IsInf(x.At(i), 0) && !math.IsInf(t.At(i), 0) {
			return x, fmt.Sprintf("has %v at element %d, which is beyond %v", t.At(i), i, s.DType)
		}
	}
	return x, ""
}
