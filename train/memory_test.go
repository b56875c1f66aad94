package train_test

import (
	"runtime"
	"testing"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/train"
)

// usage is what a run takes between two of its steps.
type usage struct {
	heap      int64 // growth of what is in use, in bytes
	allocated int64 // bytes for each step, in use or not
}

// memory trains a perceptron of a width for many short epochs.
func memory(t *testing.T, width, first, last int) usage {
	t.Helper()
	c := config(t)
	c.Model = layers.Sequential{layers.Flatten{}, layers.Linear{Out: width}, layers.ReLU{}, layers.Dropout{P: 0.1}, layers.Linear{Out: 3}}
	c.Epochs, c.Steps, c.Validation = 0, last, nil
	var at [2]runtime.MemStats
	c.Observe = func(e train.Event) {
		if s, ok := e.(train.Step); ok && (s.Step == first || s.Step == last) {
			runtime.GC()
			runtime.ReadMemStats(&at[(s.Step-first)/(last-first)])
		}
	}
	if _, err := train.Fit(t.Context(), c, squares(t, samples, 1)); err != nil {
		t.Fatal(err)
	}
	return usage{int64(at[1].HeapAlloc) - int64(at[0].HeapAlloc), int64(at[1].TotalAlloc-at[0].TotalAlloc) / int64(last-first)}
}

// TestMemory makes sure that a long run takes no more and more memory, and that a step allocates as little for a large model as for a small
// one.
func TestMemory(t *testing.T) {
	small, large := memory(t, 8, 500, 4500), memory(t, 800, 100, 500)
	if small.heap > 100_000 || large.heap > 100_000 {
		t.Errorf("the heap has grown by %d and %d bytes", small.heap, large.heap)
	}
	if !raceDetector && large.allocated > small.allocated+1000 {
		t.Errorf("a step of the large model allocates %d bytes, of the small one %d", large.allocated, small.allocated)
	}
}
