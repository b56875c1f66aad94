package train_test

import (
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// TestNil: what is not there is an error in words, and a writer that is not there is told nothing.
func TestNil(t *testing.T) {
	vars := []*ops.Variable{ops.NewVariable("w", tensor.Scalar[float32](1)), nil}
	if _, err := train.Tensors(t.Context(), vars); err == nil || !strings.Contains(err.Error(), "variable 1 is nil") {
		t.Errorf("Tensors: %v, want an error that names variable 1", err)
	}
	if err := train.Load(t.Context(), nil, vars); err == nil || !strings.Contains(err.Error(), "variable 1 is nil") {
		t.Errorf("Load: %v, want an error that names variable 1", err)
	}
	train.Progress(nil)(train.Step{Step: 1, Epoch: 1, Of: 2})
}
