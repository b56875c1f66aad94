package train_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	compare "github.com/google/go-cmp/cmp"

	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/train"
	"github.com/cortado-ml/cortado/train/jsonl"
	"github.com/cortado-ml/cortado/train/tensorboard"
)

// lines are a log without its times, which differ from run to run.
func lines(t *testing.T, path string) (list []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for e, err := range jsonl.Read(f) {
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := e.Values["seconds"]; !ok || s < 0 {
			t.Errorf("step %d took %v s", e.Step, s)
		}
		delete(e.Values, "seconds")
		delete(e.Values, "samples_per_second")
		list = append(list, fmt.Sprint(e.Step, e.Values))
	}
	return list
}

// charts are the scalars of a folder of event files, as TensorBoard takes them: a restart makes void what was said of its step and later ones.
func charts(t *testing.T, folder string) map[string][]string {
	t.Helper()
	type point struct {
		step  int64
		value float32
	}
	all := map[string][]point{}
	for _, name := range files(t, folder) {
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for e, err := range tensorboard.Read(f) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Restart {
				for tag, list := range all {
					all[tag] = slices.DeleteFunc(list, func(p point) bool { return p.step >= e.Step })
				}
			}
			for _, v := range e.Values {
				all[v.Tag] = append(all[v.Tag], point{e.Step, *v.Scalar})
			}
		}
	}
	text := map[string][]string{}
	for tag, list := range all {
		for _, p := range list {
			if strings.HasSuffix(tag, "seconds") || strings.HasSuffix(tag, "samples_per_second") {
				continue
			}
			text[tag] = append(text[tag], fmt.Sprint(p.step, " ", p.value))
		}
	}
	return text
}

// logged is a configuration with both logs in a folder, and a rate that changes.
func logged(t testing.TB, folder string) train.Config {
	c := config(t)
	c.Log, c.TensorBoard = filepath.Join(folder, "log.jsonl"), filepath.Join(folder, "events")
	return c
}

// TestLogs compares both logs with the events of the run.
func TestLogs(t *testing.T) {
	set := squares(t, samples, 1)
	c := logged(t, t.TempDir())
	r := mustFit(t, c, set)
	var want []string
	board := map[string][]string{}
	for _, e := range r.events {
		switch e := e.(type) {
		case train.Step:
			if rate := (optim.Cosine{LR: 1e-2, Steps: steps}).Rate(e.Step - 1); e.Rate != rate {
				t.Errorf("step %d has the rate %v, want %v", e.Step, e.Rate, rate)
			}
			want = append(want, fmt.Sprint(e.Step, map[string]float64{"loss": e.Loss, "rate": e.Rate}))
			board["train/loss"] = append(board["train/loss"], fmt.Sprint(e.Step, " ", float32(e.Loss)))
			board["train/rate"] = append(board["train/rate"], fmt.Sprint(e.Step, " ", float32(e.Rate)))
		case train.Epoch:
			want = append(want, fmt.Sprint(e.Step, map[string]float64{
				"epoch": float64(e.Epoch), "loss": e.Loss, "validation_loss": e.Validation["loss"], "validation_accuracy": e.Validation["accuracy"],
			}))
			for tag, x := range map[string]float64{
				"epoch/epoch": float64(e.Epoch), "epoch/loss": e.Loss, "validation/loss": e.Validation["loss"], "validation/accuracy": e.Validation["accuracy"],
			} {
				board[tag] = append(board[tag], fmt.Sprint(e.Step, " ", float32(x)))
			}
		}
	}
	if d := compare.Diff(want, lines(t, c.Log)); d != "" {
		t.Error(d)
	}
	if d := compare.Diff(board, charts(t, c.TensorBoard)); d != "" {
		t.Error(d)
	}
}

// TestLogsResumed stops runs anywhere and resumes them: no step is there twice, and none is missing.
func TestLogsResumed(t *testing.T) {
	set := squares(t, samples, 1)
	whole := logged(t, t.TempDir())
	mustFit(t, whole, set)
	wantLines, wantCharts := lines(t, whole.Log), charts(t, whole.TensorBoard)
	for _, every := range []int{0, 3} {
		for _, stop := range []int{1, stepsEach - 1, stepsEach, stepsEach + 1, 2 * stepsEach, steps} {
			for _, lost := range []bool{false, true} {
				folder := t.TempDir()
				c := logged(t, folder)
				c.Checkpoint, c.CheckpointEvery = filepath.Join(folder, "run"), every
				ctx, watch := stopAt(t, stop)
				first := fit(ctx, c, set, watch)
				if lost { // the process died before its last checkpoint
					if err := os.Remove(first.report.Checkpoint); err != nil {
						t.Fatal(err)
					}
				}
				c.Engine, c.Optimizer, c.Resume = engine(t), config(t).Optimizer, true
				mustFit(t, c, set)
				what := fmt.Sprintf("every %d, stopped after %d, lost %v", every, stop, lost)
				if d := compare.Diff(wantLines, lines(t, c.Log)); d != "" {
					t.Errorf("%s: %s", what, d)
				}
				got := charts(t, c.TensorBoard)
				rates := got["train/rate"]
				got["train/rate"] = wantCharts["train/rate"]
				if d := compare.Diff(wantCharts, got); d != "" {
					t.Errorf("%s: %s", what, d)
				}
				if len(rates) < steps-1 { // that of the last step of an epoch may be gone
					t.Errorf("%s: %d rates", what, len(rates))
				}
			}
		}
	}
}

// TestLogsInTensorBoard has TensorBoard's own reader read a resumed run. It is skipped where that is not installed.
func TestLogsInTensorBoard(t *testing.T) {
	python := cmp.Or(os.Getenv("CORTADO_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import tensorboard").Run(); err != nil {
		t.Skipf("%s has no package tensorboard", python)
	}
	set := squares(t, samples, 1)
	folder := t.TempDir()
	c := logged(t, folder)
	c.Checkpoint = filepath.Join(folder, "run")
	ctx, watch := stopAt(t, stepsEach+2)
	first := fit(ctx, c, set, watch)
	if err := os.Remove(first.report.Checkpoint); err != nil { // so that the first epoch is judged twice
		t.Fatal(err)
	}
	c.Optimizer, c.Resume = config(t).Optimizer, true
	second := mustFit(t, c, set)
	out, err := exec.Command(python, filepath.Join("tensorboard", "testdata", "read.py"), c.TensorBoard).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Scalars map[string][][2]float64 }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	var losses, validation [][2]float64
	for step := 1; step <= steps; step++ {
		bits, ok := second.losses[step]
		if !ok {
			bits = first.losses[step]
		}
		losses = append(losses, [2]float64{float64(step), float64(float32(math.Float64frombits(bits)))})
	}
	for e := 1; e <= epochs; e++ {
		validation = append(validation, [2]float64{float64(e * stepsEach), float64(float32(second.ends[e].Validation["loss"]))})
	}
	if d := compare.Diff(losses, got.Scalars["train/loss"]); d != "" {
		t.Error(d)
	}
	if d := compare.Diff(validation, got.Scalars["validation/loss"]); d != "" {
		t.Error(d)
	}
}

// TestLogFaults: a log that cannot be written ends the run, with a checkpoint.
func TestLogFaults(t *testing.T) {
	set := squares(t, samples, 1)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*train.Config){
		func(c *train.Config) { c.Log = filepath.Join(file, "log") },
		func(c *train.Config) { c.TensorBoard = file },
	} {
		c := config(t)
		change(&c)
		r := fit(t.Context(), c, set, nil)
		var path *os.PathError
		if !errors.As(r.err, &path) || !strings.HasPrefix(r.err.Error(), "train: ") || len(r.losses) > 0 {
			t.Errorf("after %d steps: %v", len(r.losses), r.err)
		}
	}
	c := config(t)
	c.Metrics = append([]train.Metric{}, c.Metrics...)
	c.Metrics[0].Name = "\xff" // no name in JSON
	c.Log, c.Checkpoint = filepath.Join(t.TempDir(), "log.jsonl"), t.TempDir()
	r := fit(t.Context(), c, set, nil)
	if r.err == nil || !strings.HasPrefix(r.err.Error(), "train: jsonl: a number cannot have the name") || r.report.Steps != stepsEach || r.report.Checkpoint == "" {
		t.Errorf("%v, %+v", r.err, r.report)
	}
}

// TestAveraged evaluates with the averages of optim.EMA, and trains on with the weights themselves.
func TestAveraged(t *testing.T) {
	set := squares(t, samples, 1)
	plain := mustFit(t, config(t), set)
	c := config(t)
	e := &optim.EMA{Optimizer: config(t).Optimizer, Decay: 0.9}
	c.Optimizer = &optim.LossScale{Optimizer: &optim.Clip{Optimizer: e, Norm: 1e9}, Scale: 1, Static: true}
	r := mustFit(t, c, set)
	if d := compare.Diff(plain.losses, r.losses); d != "" {
		t.Errorf("the averages change the training: %s", d)
	}
	sameState(t, r.report.Net, plain.report.Net)
	for n, end := range r.ends {
		if end.Validation["loss"] == plain.ends[n].Validation["loss"] {
			t.Errorf("epoch %d is evaluated without the averages: %v", n, end.Validation)
		}
	}
	if err := e.With(t.Context(), func() error {
		v, err := train.Evaluate(t.Context(), c.Engine, r.report.Net, c.Validation, c.Batch, c.Loss)
		if v["loss"] != r.report.Validation["loss"] {
			t.Errorf("the loss of the averages is %v, in the report %v", v["loss"], r.report.Validation["loss"])
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if last[train.Step](r.events).Rate != last[train.Step](plain.events).Rate {
		t.Errorf("the rate is %v", last[train.Step](r.events).Rate)
	}
	if optim.RateOf(nil) != 0 || optim.RateOf(&optim.Clip{}) != 0 || optim.RateOf(optim.Groups{}) != 0 || optim.AverageOf(&optim.Clip{}) != nil || optim.AverageOf(nil) != nil {
		t.Error("what is not there has a rate or averages")
	}
}
