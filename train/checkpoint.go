package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// A checkpoint is a safetensors file with every variable of the net and the optimiser, and in its metadata the place in the run.

// metaKey is the metadata that Fit writes and reads, a place as JSON.
const metaKey = "cortado.run"

// place is where in a run a checkpoint was written, and what the run must have in common with the one that goes on from there.
type place struct {
	Step       int           `json:"step"`
	At         data.Position `json:"at"`
	Taken      int           `json:"taken"`       // batches of the epoch
	SumBits    uint64        `json:"sum_bits"`    // of the epoch's losses, as the bits of a float64
	WeightBits uint64        `json:"weight_bits"` // of these losses
	LastBits   uint64        `json:"last_bits"`   // the loss of the step
	Recorded   int64         `json:"recorded"`    // steps of the tape
	Seed       uint64        `json:"seed"`
	Order      string        `json:"order"` // what decides which samples make which step
	ISA        []string      `json:"isa"`   // level of each device
	DType      string        `json:"dtype"` // of the parameters
	Model      []string      `json:"model"` // the names of the net's variables, which are not the optimizer's

	// The monitor's, before this epoch was judged.
	BestBits      uint64 `json:"best_bits"`
	ReferenceBits uint64 `json:"reference_bits"`
	Waited        int    `json:"waited"`
}

func (r *run) place() place {
	return place{
		Step: r.report.Steps, At: r.at, Taken: r.taken, SumBits: math.Float64bits(r.sum), WeightBits: math.Float64bits(r.weight), LastBits: math.Float64bits(r.last), Recorded: r.recorded,
		Seed: r.Seed, Order: r.order(), ISA: r.levels(), DType: r.DType.String(), Model: namesOf(r.net.State()),
		BestBits: math.Float64bits(r.best), ReferenceBits: math.Float64bits(r.reference), Waited: r.waited,
	}
}

// namesOf are the names of variables.
func namesOf(vars []*ops.Variable) (names []string) {
	for _, v := range vars {
		names = append(names, v.Name())
	}
	return names
}

// order says in words which samples make which step.
func (r *run) order() string {
	s := r.layout.Order
	if r.LimitBatches > 0 {
		s += fmt.Sprintf(", the first %d batches of each epoch", r.LimitBatches)
	}
	if r.OverfitBatches > 0 {
		s += fmt.Sprintf(", the first %d batches over and over", r.OverfitBatches)
	}
	if r.window() > 1 {
		s += fmt.Sprintf(", %d batches a step", r.window())
	}
	return s
}

// levels are the instruction levels of the devices: other levels, other last bits.
func (r *run) levels() (list []string) {
	for _, d := range r.Engine.Devices() {
		list = append(list, d.Info().ISA)
	}
	return list
}

// variables are what a checkpoint holds.
func (r *run) variables() []*ops.Variable {
	return append(slices.Clone(r.net.State()), r.Optimizer.State()...)
}

// due writes a checkpoint when it is time for one. It comes before validation, so that a run that is killed there has lost nothing.
func (r *run) due(ctx context.Context) error {
	if r.finished() || r.CheckpointEvery > 0 && r.report.Steps%r.CheckpointEvery == 0 || r.CheckpointEvery == 0 && r.at.Sample == 0 {
		return r.save(ctx)
	}
	return nil
}

// save writes a checkpoint, whole even if ctx is done, unless there is no folder or nothing has happened since the last one.
func (r *run) save(ctx context.Context) error {
	if r.Checkpoint == "" || r.saved == r.report.Steps {
		return nil
	}
	path := checkpointPath(r.Checkpoint, r.report.Steps)
	err := r.write(context.WithoutCancel(ctx), path)
	if err == nil {
		err = r.prune()
	}
	if err != nil {
		return r.notSaved(err)
	}
	r.saved, r.report.Checkpoint = r.report.Steps, path
	r.tell(Saved{Path: path, Step: r.report.Steps})
	return nil
}

// notSaved is the error of a checkpoint that was not written.
func (r *run) notSaved(err error) error {
	var ruined *NotFiniteError
	if errors.As(err, &ruined) {
		return err
	}
	return &saveError{err, r.report.Checkpoint}
}

// write writes the checkpoint at path.
func (r *run) write(ctx context.Context, path string) error {
	named, err := r.state(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(r.place())
	if err != nil {
		return err
	}
	meta := map[string]string{}
	maps.Copy(meta, r.Metadata)
	meta[metaKey] = string(text)
	return safetensors.WriteFile(path, named, meta)
}

// state reads all variables, and makes sure that they are numbers: the loss tells of a ruined parameter one step too late.
func (r *run) state(ctx context.Context) ([]safetensors.Named, error) {
	named, err := Tensors(ctx, r.variables())
	if err != nil {
		return nil, err
	}
	trained := map[string]bool{}
	for _, p := range r.net.Params() {
		trained[p.Name()] = true
	}
	for _, n := range named {
		if !sound(n.Tensor, !trained[n.Name]) {
			return nil, &NotFiniteError{Step: r.report.Steps, Loss: r.last, Variable: n.Name, Last: r.report.Checkpoint}
		}
	}
	return named, nil
}

// Tensors reads variables, after the steps enqueued so far, as safetensors.WriteFile wants them.
func Tensors(ctx context.Context, vars []*ops.Variable) ([]safetensors.Named, error) {
	named, err := layers.Tensors(ctx, vars)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return named, nil
}
