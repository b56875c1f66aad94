package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/internal/background"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// LoadModel sets a net to the model of a checkpoint that Fit has written, Report.Best say, and passes over what is the optimizer's. Where the run had
// an optim.EMA the parameters get their averages, since these are what was evaluated. A file that is no checkpoint is all model: LoadModel is
// layers.Net.LoadFile then. What layers.Net.Load says of types and of what does not fit holds here too.
func LoadModel(ctx context.Context, path string, net *layers.Net) error {
	if net == nil {
		return errors.New("train: LoadModel needs a net: of layers.Build")
	}
	p, meta, named, err := readCheckpoint(path)
	if _, ours := meta[metaKey]; err != nil && !ours { // a model, or nothing that can be read
		if err = net.LoadFile(background.Or(ctx), path); err != nil {
			err = fmt.Errorf("train: %w", err)
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	if err := net.Load(background.Or(ctx), modelOf(p, named)); err != nil {
		return fmt.Errorf("train: %s: %w", path, err)
	}
	return nil
}

// modelOf is what a checkpoint has of the net, with averages instead of values where there are some.
func modelOf(p place, named []safetensors.Named) (model []safetensors.Named) {
	known, all := map[string]bool{}, map[string]tensor.Tensor{}
	for _, name := range p.Model {
		known[name] = true
	}
	for _, n := range named {
		all[n.Name] = n.Tensor
	}
	for _, name := range p.Model {
		x, ok := all[name]
		if average := name + ".ema"; !known[average] && !all[average].IsNone() { // as optim.EMA calls it
			x = all[average]
		}
		if ok {
			model = append(model, safetensors.Named{Name: name, Tensor: x})
		}
	}
	return model
}
