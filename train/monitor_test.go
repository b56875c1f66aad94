package train_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor/safetensors"
	"github.com/cortado-ml/cortado/train"
)

var nan, inf = math.NaN(), math.Inf(1)

// scripted is a configuration whose number "script" is, after each epoch, what the list says.
func scripted(t testing.TB, list []float64) (c train.Config, watch func(train.Event)) {
	c = config(t)
	epoch := 0
	sums := func(p, _ ops.Value) ops.Value { return p.Sum() }
	c.Metrics = []train.Metric{{Name: "script", Sums: sums, Of: func([]float64) float64 { return list[epoch-1] }}}
	c.Epochs, c.LimitBatches, c.LimitValidation, c.Monitor = len(list), 1, 1, "script"
	return c, func(e train.Event) {
		switch e := e.(type) {
		case train.Step:
			epoch = e.Epoch
		case train.Resumed:
			epoch = e.Step // there is one step in an epoch
		}
	}
}

// earlyStops are cases of early stopping: the epoch after which the run ends.
var earlyStops = []struct {
	list     []float64
	patience int
	delta    float64
	maximize bool
	want     int
	best     int // the epoch whose checkpoint is the best, 0 for none
}{
	{[]float64{1, nan, nan, nan, 0.9}, 2, 0, false, 3, 1},
	{[]float64{1, nan, 0.9, nan, 0.8}, 2, 0, false, 5, 5},
	{[]float64{nan, nan, 3, 2}, 2, 0, false, 4, 4},
	{[]float64{nan, nan, 3, 2}, 1, 0, false, 2, 0},
	{[]float64{1, 2, 3, 4}, 1, 0, false, 2, 1},
	{[]float64{1, 2, 3, 4}, 2, 0, false, 3, 1},
	{[]float64{1, 1, 1, 1}, 2, 0, false, 3, 1},
	{[]float64{1, 1, 1, 1}, 1, 0, false, 2, 1},
	{[]float64{5}, 1, 0, false, 1, 1},
	{[]float64{5, 4, 3, 2}, 1, 0, false, 4, 4},
	{[]float64{5, 4.95, 4.9, 4.85, 4.8}, 2, 0.2, false, 3, 3}, // better each time, never by more than 0.2 in two epochs
	{[]float64{5, 4.875, 4.75, 4.625, 4.5}, 2, 0.25, false, 3, 3},
	{[]float64{5, 4.875, 4.6875, 4.5, 4.25}, 2, 0.25, false, 5, 5},
	{[]float64{0.5, 0.75, 0.625, 0.625}, 2, 0, true, 4, 2},
	{[]float64{0.5, 0.25, 0.125}, 1, 0, true, 2, 1},
	{[]float64{1, inf, -inf, 0.5}, 3, 0, false, 4, 4},
	{[]float64{1, inf, inf, 5}, 2, 0, true, 3, 1},
}

// TestStoppedStays: a run that has stopped early, or whose callback failed just then, comes to the same end when it is resumed, wherever its checkpoints
// are written.
func TestStoppedStays(t *testing.T) {
	set, broken := squares(t, samples, 1), errors.New("broken")
	for _, every := range []int{0, 2, 100} {
		for _, fails := range []bool{false, true} {
			setup := func() (train.Config, func(train.Event)) {
				c, watch := scripted(t, []float64{2, 1, 3, 0.5})
				c.EarlyStopping, c.CheckpointEvery, c.KeepBest = &train.EarlyStopping{Patience: 1}, every, true
				return c, watch
			}
			folder := t.TempDir()
			c, watch := setup()
			c.Checkpoint = folder
			if fails {
				c.Callbacks = []func(train.Event) error{func(e train.Event) error {
					if e, ok := e.(train.Epoch); ok && e.Epoch == 3 {
						return broken
					}
					return nil
				}}
			}
			first := fit(t.Context(), c, set, watch)
			if fails != errors.Is(first.err, broken) || first.report.Stopped == "" || first.report.Steps != 3 {
				t.Fatalf("%d steps, stopped %q: %v", first.report.Steps, first.report.Stopped, first.err)
			}
			for range 2 {
				c, watch = setup()
				c.Checkpoint, c.Resume = folder, true
				again := fit(t.Context(), c, set, watch)
				if again.err != nil || len(again.losses) != 0 {
					t.Fatalf("every %d: resumed, it takes %d steps more: %v", every, len(again.losses), again.err)
				}
				compareReports(t, again.report, first.report)
			}
		}
	}
}

// TestEarlyStopping: what is no number is no improvement, patience p ends the run after p epochs without a strict one, and a run that is killed at any
// epoch and resumed ends where it would have, since the checkpoint knows how long it has waited.
func TestEarlyStopping(t *testing.T) {
	set := squares(t, samples, 1)
	for _, test := range earlyStops {
		name := fmt.Sprintf("%v patience %d delta %v", test.list, test.patience, test.delta)
		setup := func(folder string) (train.Config, func(train.Event)) {
			c, watch := scripted(t, test.list)
			c.Checkpoint, c.KeepBest, c.Metrics[0].Maximize = folder, true, test.maximize
			c.EarlyStopping = &train.EarlyStopping{Patience: test.patience, MinDelta: test.delta}
			return c, watch
		}
		check := func(how string, r trace, folder string) {
			t.Helper()
			if r.err != nil || r.report.Epochs != test.want {
				t.Errorf("%s%s: %d epochs, want %d: %v", name, how, r.report.Epochs, test.want, r.err)
				return
			}
			if stopped := r.report.Stopped != ""; stopped != (test.want < len(test.list)) && !(stopped && test.want == len(test.list)) {
				t.Errorf("%s%s: stopped early: %q", name, how, r.report.Stopped)
			}
			best := filepath.Join(folder, "best.safetensors")
			f, err := safetensors.Open(best)
			switch {
			case test.best == 0:
				if err == nil || r.report.Best != "" {
					t.Errorf("%s%s: there is a best checkpoint", name, how)
				}
			case err != nil || r.report.Best != best || !strings.Contains(f.Metadata()["cortado.run"], fmt.Sprintf(`"step":%d,`, test.best)):
				t.Errorf("%s%s: the best checkpoint is %q of %v, want that of step %d, %v", name, how, r.report.Best, f.Metadata(), test.best, err)
			}
			if err == nil {
				f.Close()
			}
		}
		folder := t.TempDir()
		c, watch := setup(folder)
		whole := fit(t.Context(), c, set, watch)
		check("", whole, folder)
		for stop := 1; stop <= test.want && (!testing.Short() || stop < 3); stop++ {
			folder := t.TempDir()
			c, watch := setup(folder)
			ctx, end := stopAt(t, stop)
			fit(ctx, c, set, func(e train.Event) { watch(e); end(e) })
			c, watch = setup(folder)
			c.Resume = true
			r := fit(t.Context(), c, set, watch)
			check(fmt.Sprintf(", resumed after %d", stop), r, folder)
			if r.err == nil {
				sameState(t, r.report.Net, whole.report.Net)
			}
		}
	}
}

// TestStopsAgain resumes a run that has stopped early: it has nothing left to do, unless its patience has grown.
func TestStopsAgain(t *testing.T) {
	set := squares(t, samples, 1)
	folder := t.TempDir()
	for i, want := range []struct{ patience, epochs, steps int }{{1, 2, 2}, {1, 2, 0}, {2, 3, 1}, {9, 5, 2}} {
		c, watch := scripted(t, []float64{1, 2, 3, 4, 5})
		c.Checkpoint, c.Resume, c.EarlyStopping = folder, i > 0, &train.EarlyStopping{Patience: want.patience}
		r := fit(t.Context(), c, set, watch)
		if r.err != nil || r.report.Epochs != want.epochs || len(r.losses) != want.steps {
			t.Errorf("patience %d: %d epochs, %d steps, want %+v: %v", want.patience, r.report.Epochs, len(r.losses), want, r.err)
		}
		if stopped := last[train.Ended](r.events).Stopped; stopped != r.report.Stopped || (stopped == "") != (i == 3) {
			t.Errorf("patience %d: stopped: %q, in the report %q", want.patience, stopped, r.report.Stopped)
		}
	}
}

// TestTrainingLoss is monitored where nothing is validated.
func TestTrainingLoss(t *testing.T) {
	c := config(t)
	c.Validation, c.Metrics, c.Epochs = nil, nil, 9
	c.EarlyStopping = &train.EarlyStopping{Patience: 2, MinDelta: 9}
	r := mustFit(t, c, squares(t, samples, 1))
	if r.report.Epochs == 9 || r.ends[1].Loss <= r.ends[2].Loss {
		t.Errorf("%d epochs, losses %v", r.report.Epochs, r.ends)
	}
}

// TestKeeps keeps as many checkpoints as it is told, and the best, which pruning does not touch.
func TestKeeps(t *testing.T) {
	set := squares(t, samples, 1)
	for keep, want := range map[int][]string{
		1: {"best.safetensors", "step-000000005.safetensors"},
		2: {"best.safetensors", "step-000000004.safetensors", "step-000000005.safetensors"},
		9: {"best.safetensors", "step-000000001.safetensors", "step-000000002.safetensors", "step-000000003.safetensors", "step-000000004.safetensors", "step-000000005.safetensors"},
	} {
		c, watch := scripted(t, []float64{5, 1, 2, 3, 4})
		c.Checkpoint, c.Keep, c.KeepBest = t.TempDir(), keep, true
		r := fit(t.Context(), c, set, watch)
		if r.err != nil {
			t.Fatal(r.err)
		}
		if d := cmp.Diff(want, files(t, c.Checkpoint)); d != "" {
			t.Errorf("keep %d: %s", keep, d)
		}
		var best []int
		for _, e := range r.events {
			if e, ok := e.(train.SavedBest); ok {
				best = append(best, e.Step)
			}
		}
		if !slices.Equal(best, []int{1, 2}) || last[train.SavedBest](r.events) != (train.SavedBest{Path: r.report.Best, Step: 2, Name: "script", Value: 1}) {
			t.Errorf("the best were %v", best)
		}
		c2, watch := scripted(t, []float64{5, 1})
		c2.Checkpoint = c.Checkpoint
		if err := fit(t.Context(), c2, set, watch).err; err != nil {
			t.Fatal(err)
		}
		before := files(t, filepath.Join(c.Checkpoint, "before"))
		if d := cmp.Diff(want, before); d != "" {
			t.Errorf("set aside: %s", d)
		}
		if _, err := os.Stat(filepath.Join(c.Checkpoint, "best.safetensors")); err == nil {
			t.Error("the best checkpoint of the run before is still there")
		}
	}
}

// TestCallbacks end a run: by an error, which Fit returns, or by ErrStop as its last step would; both leave a checkpoint.
func TestCallbacks(t *testing.T) {
	set := squares(t, samples, 1)
	whole := mustFit(t, config(t), set)
	fault := errors.New("no more disk")
	for _, stop := range []int{2, stepsEach, stepsEach + 1} {
		for _, err := range []error{fault, train.ErrStop, fmt.Errorf("enough: %w", train.ErrStop)} {
			c := config(t)
			c.Checkpoint = t.TempDir()
			told := 0
			c.Callbacks = []func(train.Event) error{
				func(train.Event) error { told++; return nil },
				func(e train.Event) error {
					if s, ok := e.(train.Step); ok && s.Step == stop {
						return err
					}
					return nil
				},
			}
			r := fit(t.Context(), c, set, nil)
			if errors.Is(err, train.ErrStop) {
				if r.err != nil || r.report.Stopped != "a callback has asked for it" || r.report.Validation == nil {
					t.Errorf("%v at %d: %v, %+v", err, stop, r.err, r.report)
				}
			} else if !errors.Is(r.err, fault) || !strings.HasPrefix(r.err.Error(), "train: a callback: no more disk; resume from ") {
				t.Errorf("%v at %d: %v", err, stop, r.err)
			}
			if r.report.Steps != stop || stepIn(r.report.Checkpoint) != stop || told != len(r.events) {
				t.Errorf("%v at %d: %d steps, checkpoint %s, told %d events of %d", err, stop, r.report.Steps, r.report.Checkpoint, told, len(r.events))
			}
			c.Callbacks, c.Resume, c.Optimizer = nil, true, config(t).Optimizer
			second := mustFit(t, c, set)
			compareReports(t, second.report, whole.report)
		}
	}
	c := config(t)
	c.Callbacks = []func(train.Event) error{func(e train.Event) error {
		if _, ok := e.(train.Ended); ok {
			return fault
		}
		return nil
	}}
	if r := fit(t.Context(), c, set, nil); !errors.Is(r.err, fault) || r.report.Steps != steps {
		t.Errorf("at the end: %v", r.err)
	}
}

// stepIn is the step in the name of a checkpoint.
func stepIn(path string) (step int) {
	fmt.Sscanf(filepath.Base(path), "step-%d.safetensors", &step)
	return step
}

// TestMonitorMistakes are refused before anything is done.
func TestMonitorMistakes(t *testing.T) {
	for want, change := range map[string]func(*train.Config){
		"train: Config.EarlyStopping has a Patience of 0: 1 epoch at least": func(c *train.Config) { c.EarlyStopping = &train.EarlyStopping{} },
		"train: Config.EarlyStopping has a MinDelta of NaN":                 func(c *train.Config) { c.EarlyStopping = &train.EarlyStopping{Patience: 1, MinDelta: nan} },
		"train: Config.EarlyStopping has a MinDelta of -1":                  func(c *train.Config) { c.EarlyStopping = &train.EarlyStopping{Patience: 1, MinDelta: -1} },
		`train: Config.Monitor is "f1": there are ["loss" "accuracy"]`:      func(c *train.Config) { c.Monitor = "f1" },
		`train: Config.Monitor is "accuracy": there are ["loss"]`:           func(c *train.Config) { c.Monitor, c.Validation = "accuracy", nil },
		"train: Config.Checkpoint is needed: the folder to keep the best":   func(c *train.Config) { c.KeepBest = true },
		"train: Config.Keep is -1":                                          func(c *train.Config) { c.Keep = -1 },
		"train: Config.Accumulate is -1":                                    func(c *train.Config) { c.Accumulate = -1 },
		"train: Config.LimitBatches is -1":                                  func(c *train.Config) { c.LimitBatches = -1 },
		"train: Config has both LimitBatches and OverfitBatches":            func(c *train.Config) { c.LimitBatches, c.OverfitBatches = 1, 1 },
		"train: Config.Callbacks[0] is nil":                                 func(c *train.Config) { c.Callbacks = make([]func(train.Event) error, 1) },
		"train: Config has both Validation and ValidationBatches":           func(c *train.Config) { c.ValidationBatches = buckets(t, 3, 1, 1) },
	} {
		c := config(t)
		change(&c)
		if r := fit(t.Context(), c, squares(t, samples, 1), nil); r.err == nil || !strings.HasPrefix(r.err.Error(), want) || r.report != nil {
			t.Errorf("%v, want %s", r.err, want)
		}
	}
}

// TestDirections: what is built in knows whether more is better, so that an accuracy that grows is the best.
func TestDirections(t *testing.T) {
	for _, m := range []train.Metric{train.Accuracy(), train.TopK(2), train.F1(3, train.Macro), train.Confusion(3)} {
		if !m.Maximize {
			t.Errorf("%s: less is better", m.Name)
		}
	}
	for _, m := range []train.Metric{train.MSE(), train.MAE(), train.Perplexity(ops.CrossEntropy), train.Mean("mean", ops.CrossEntropy)} {
		if m.Maximize {
			t.Errorf("%s: more is better", m.Name)
		}
	}
	c, watch := scripted(t, []float64{0.2, 0.5, 0.4})
	script := c.Metrics[0].Of
	c.Metrics = []train.Metric{train.Accuracy()}
	c.Metrics[0].Of = script
	c.Monitor, c.Checkpoint, c.KeepBest = "accuracy", t.TempDir(), true
	r := fit(t.Context(), c, squares(t, samples, 1), watch)
	if best := last[train.SavedBest](r.events); r.err != nil || best.Value != 0.5 {
		t.Errorf("the best is %+v, %v", best, r.err)
	}
}
