//go:build unix

package train_test

import (
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/train"
)

// TestTwoRuns starts a run in the folder of one that is under way. It is refused; afterwards the folder is free again.
func TestTwoRuns(t *testing.T) {
	set := squares(t, samples, 1)
	c, other := config(t), config(t)
	c.Steps, c.Checkpoint = 2, t.TempDir()
	other.Steps, other.Checkpoint = 1, c.Checkpoint
	r := fit(t.Context(), c, set, func(e train.Event) {
		if e, ok := e.(train.Step); !ok || e.Step != 1 {
			return
		}
		if _, err := train.Fit(t.Context(), other, set); err == nil || !strings.Contains(err.Error(), "train: another run is writing to "+c.Checkpoint) {
			t.Errorf("the error is %v", err)
		}
	})
	if r.err != nil {
		t.Fatal(r.err)
	}
	other.Optimizer = config(t).Optimizer
	mustFit(t, other, set)
}
