package train_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// TestEvents runs two epochs and reads everything that is told, in order.
func TestEvents(t *testing.T) {
	c := config(t)
	c.Epochs, c.Checkpoint, c.CheckpointEvery = 2, t.TempDir(), 3
	r := mustFit(t, c, squares(t, samples, 1))
	var got []string
	for _, e := range r.events {
		switch e := e.(type) {
		case train.Step:
			got = append(got, fmt.Sprintf("step %d/%d of epoch %d, %d samples", e.Step, e.Of, e.Epoch, e.Size))
		case train.Epoch:
			got = append(got, fmt.Sprintf("epoch %d/%d at step %d, %d validations", e.Epoch, e.Epochs, e.Step, len(e.Validation)))
		case train.Saved:
			got = append(got, fmt.Sprintf("saved at %d", e.Step))
		case train.Ended:
			got = append(got, fmt.Sprintf("ended: %v", e.Err))
		default:
			got = append(got, fmt.Sprintf("%T", e))
		}
	}
	want := []string{
		"step 1/8 of epoch 1, 8 samples", "step 2/8 of epoch 1, 8 samples", "step 3/8 of epoch 1, 8 samples", "saved at 3", "step 4/8 of epoch 1, 2 samples",
		"epoch 1/2 at step 4, 2 validations",
		"step 5/8 of epoch 2, 8 samples", "step 6/8 of epoch 2, 8 samples", "saved at 6", "step 7/8 of epoch 2, 8 samples", "step 8/8 of epoch 2, 2 samples", "saved at 8",
		"epoch 2/2 at step 8, 2 validations", "ended: <nil>",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	end := last[train.Epoch](r.events)
	mean := 0.0
	for step := 5; step <= 8; step++ {
		size := 8.0
		if step == 8 {
			size = 2
		}
		mean += size * math.Float64frombits(r.losses[step])
	}
	if mean /= samples; end.Loss != mean || r.report.Loss != mean {
		t.Errorf("the epoch's loss is %v and %v, want %v", end.Loss, r.report.Loss, mean)
	}
	if r.report.Steps != 8 || r.report.Epochs != 2 || len(r.report.Validation) != 2 {
		t.Errorf("the report is %+v", r.report)
	}
}

// TestSteps ends a run in the middle of an epoch: the report is of that point.
func TestSteps(t *testing.T) {
	set := squares(t, samples, 1)
	c := config(t)
	c.Epochs, c.Steps = 0, stepsEach+1
	r := mustFit(t, c, set)
	if r.report.Steps != stepsEach+1 || r.report.Epochs != 1 || r.report.Loss != math.Float64frombits(r.losses[stepsEach+1]) {
		t.Errorf("the report is %+v", r.report)
	}
	v, err := train.Evaluate(t.Context(), c.Engine, r.report.Net, c.Validation, 4, c.Loss, c.Metrics...)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.report.Validation; math.Abs(got["loss"]-v["loss"]) > 1e-6 || got["accuracy"] != v["accuracy"] {
		t.Errorf("validation is %v, want %v", got, v)
	}
	if cmp.Equal(r.ends[1].Validation, r.report.Validation) {
		t.Error("validation is that of the first epoch")
	}
}

// TestSameBits trains at several numbers of processors and threads.
func TestSameBits(t *testing.T) {
	set := squares(t, samples, 1)
	whole := mustFit(t, config(t), set)
	for _, n := range []int{1, 2, 7} {
		old := runtime.GOMAXPROCS(n)
		c := config(t)
		c.Engine = engine(t, cpu.Threads(n))
		r := mustFit(t, c, set)
		runtime.GOMAXPROCS(old)
		if d := cmp.Diff(whole.losses, r.losses); d != "" {
			t.Errorf("%d threads: %s", n, d)
		}
		compareReports(t, r.report, whole.report)
	}
}

// TestCompiles makes sure that what changes from step to step compiles nothing: rate, dropout, a short last batch, validation.
func TestCompiles(t *testing.T) {
	c := config(t)
	after := map[int]int{}
	set := squares(t, samples, 1)
	r := fit(t.Context(), c, set, func(e train.Event) {
		if e, ok := e.(train.Epoch); ok {
			after[e.Epoch] = c.Engine.Stats().Compiles
		}
	})
	if r.err != nil {
		t.Fatal(r.err)
	}
	if after[1] != 4 || after[epochs] != 4 { // training and validation, full and short batches
		t.Errorf("graphs compiled until the end of each epoch: %v", after)
	}
}

// TestShortBatch trains with a batch larger than the data, which is one short batch an epoch, even if it is as large as can be.
func TestShortBatch(t *testing.T) {
	for _, size := range []int{samples + 1, 100_000, math.MaxInt} {
		c := config(t)
		c.Batch = size
		r := mustFit(t, c, squares(t, samples, 1))
		if r.report.Steps != epochs || r.ends[epochs].Loss >= r.ends[1].Loss {
			t.Errorf("batch %d: %d steps, losses from %v to %v", size, r.report.Steps, r.ends[1].Loss, r.ends[epochs].Loss)
		}
	}
}

// TestEndless is a run that only its context ends.
func TestEndless(t *testing.T) {
	c := config(t)
	c.Epochs = math.MaxInt
	ctx, watch := stopAt(t, 2)
	r := fit(ctx, c, squares(t, samples, 1), watch)
	if want := "train: stopped after step 2: somebody pulled the plug"; r.err == nil || r.err.Error() != want {
		t.Errorf("the error is %v, want %s", r.err, want)
	}
	if of := last[train.Step](r.events).Of; of != math.MaxInt {
		t.Errorf("it expected %d steps", of)
	}
	if e := last[train.Ended](r.events); e.Err != r.err {
		t.Errorf("the last event is %+v", e)
	}
}

// TestCancelledBefore does nothing, and writes nothing.
func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := config(t)
	c.Checkpoint = t.TempDir()
	r := fit(ctx, c, squares(t, samples, 1), nil)
	if !errors.Is(r.err, context.Canceled) || len(r.losses) != 0 {
		t.Errorf("%d steps, error %v", len(r.losses), r.err)
	}
	if names := files(t, c.Checkpoint); len(names) != 0 {
		t.Errorf("it left %v", names)
	}
}

// files are the names in a folder.
func files(t testing.TB, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestConfig refuses what is missing or makes no sense, in words, before anything is done.
func TestConfig(t *testing.T) {
	set := squares(t, samples, 1)
	unlabelled := tensors(t, tensor.New(tensor.SpecOf(tensor.F32, 4, 1, 8, 8)), tensor.Tensor{})
	for want, change := range map[string]func(*train.Config, *data.Dataset){
		"Config.Engine is needed":                 func(c *train.Config, _ *data.Dataset) { c.Engine = nil },
		"Config.Model is needed":                  func(c *train.Config, _ *data.Dataset) { c.Model = nil },
		"Config.Loss is needed":                   func(c *train.Config, _ *data.Dataset) { c.Loss = nil },
		"Config.Optimizer is needed":              func(c *train.Config, _ *data.Dataset) { c.Optimizer = nil },
		"Config.Batch is 0":                       func(c *train.Config, _ *data.Dataset) { c.Batch = 0 },
		"Config.Epochs is -1":                     func(c *train.Config, _ *data.Dataset) { c.Epochs = -1 },
		"Config.Steps is -2":                      func(c *train.Config, _ *data.Dataset) { c.Steps = -2 },
		"Config.CheckpointEvery is -3":            func(c *train.Config, _ *data.Dataset) { c.CheckpointEvery = -3 },
		"Config.Epochs or Config.Steps is needed": func(c *train.Config, _ *data.Dataset) { c.Epochs = 0 },
		"Config.Checkpoint is needed":             func(c *train.Config, _ *data.Dataset) { c.Resume = true },
		"the training data are empty":             func(_ *train.Config, d *data.Dataset) { *d = nil },
		"the training data have no targets":       func(_ *train.Config, d *data.Dataset) { *d = unlabelled },
		"the validation data have no targets":     func(c *train.Config, _ *data.Dataset) { c.Validation = unlabelled },
		"the validation data are empty":           func(c *train.Config, _ *data.Dataset) { c.Validation = squares(t, 0, 1) },
		`two metrics are called "loss"`:           func(c *train.Config, _ *data.Dataset) { c.Metrics[0].Name = "loss" },
		`two metrics are called "accuracy"`:       func(c *train.Config, _ *data.Dataset) { c.Metrics = append(c.Metrics, c.Metrics[0]) },
		`metric 0, "accuracy", needs`:             func(c *train.Config, _ *data.Dataset) { c.Metrics[0].Sums = nil },
		"this input wants [4 2 3 3]: the net was built for inputs of another size": func(c *train.Config, _ *data.Dataset) { c.Validation = wide(t) }, // a convolution of rows
		"parameters are floats, not i32":                                           func(c *train.Config, _ *data.Dataset) { c.DType = tensor.I32 },
		"in scope 0":                                                               func(c *train.Config, d *data.Dataset) { *d, c.Validation = wide(t), nil }, // a convolution of rows
		"the accuracy of a batch of 8 samples: it is f32[8": func(c *train.Config, _ *data.Dataset) {
			c.Metrics[0] = train.Mean("accuracy", func(p, _ ops.Value) ops.Value { return p })
		},
		"the accuracy of a batch of 8 samples: sum: there is no axis 7": func(c *train.Config, _ *data.Dataset) {
			c.Metrics[0] = train.Mean("accuracy", func(p, _ ops.Value) ops.Value { return p.Sum(7) })
		},
		"the loss of a batch of 8 samples: it is f32[8": func(c *train.Config, _ *data.Dataset) {
			c.Loss = func(p, _ ops.Value) ops.Value { return p }
		},
	} {
		c := config(t)
		c.Metrics = append([]train.Metric{}, c.Metrics...)
		d := set
		change(&c, &d)
		report, err := train.Fit(t.Context(), c, d)
		if err == nil || report != nil || !strings.HasPrefix(err.Error(), "train: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v\nwant %s in it", err, want)
		}
	}
}

// wide is samples that are no images.
func wide(t testing.TB) data.Dataset {
	return tensors(t, tensor.New(tensor.SpecOf(tensor.F32, 4, 2)), tensor.New(tensor.SpecOf(tensor.I64, 4)))
}

// TestLastBatchOfOne finds before the first step that a batch-norm cannot take the last batch of an epoch.
func TestLastBatchOfOne(t *testing.T) {
	c := config(t)
	c.Model = layers.Sequential{layers.Flatten{}, layers.Linear{Out: 4}, layers.BatchNorm2D{}, layers.Linear{Out: 3}}
	c.Batch = 5 // 26 samples leave one
	r := fit(t.Context(), c, squares(t, samples, 1), nil)
	if r.err == nil || !strings.Contains(r.err.Error(), "train: a batch of 1 samples: ") || len(r.losses) > 0 {
		t.Errorf("after %d steps the error is %v", len(r.losses), r.err)
	}
	c.Batch = 13
	if r := fit(t.Context(), c, squares(t, samples, 1), nil); r.err != nil {
		t.Errorf("full batches: %v", r.err)
	}
}

// TestUsedOptimizer refuses one that keeps the state of another net: updates of a second one would count from the first one's.
func TestUsedOptimizer(t *testing.T) {
	c := config(t)
	c.Epochs = 1
	mustFit(t, c, squares(t, samples, 1))
	_, err := train.Fit(t.Context(), c, squares(t, samples, 1))
	if err == nil || !strings.Contains(err.Error(), "two variables are called 0.weight.exp_avg") {
		t.Errorf("the error is %v", err)
	}
}

// poisoned is squares with one sample that is not finite.
func poisoned(t testing.TB, at int, x float64) data.Dataset {
	set := squares(t, samples, 1)
	img, label := tensor.New(tensor.SpecOf(tensor.F32, samples, 1, 8, 8)), tensor.New(tensor.SpecOf(tensor.I64, samples))
	for i := range samples {
		if err := set.Sample(i, img.Row(i), label.Row(i)); err != nil {
			t.Fatal(err)
		}
	}
	img.Row(at).Set(7, x)
	return tensors(t, img, label)
}

// TestNotFinite trains on data with a NaN or an infinite number: the error names the step and the last good checkpoint, which stays the newest.
func TestNotFinite(t *testing.T) {
	c := config(t)
	c.KeepOrder, c.Checkpoint = true, t.TempDir() // with none due before the end of the epoch
	r := fit(t.Context(), c, poisoned(t, 17, math.NaN()), nil)
	want := "train: the loss is NaN at step 3: lower the learning rate, or look for such values in the data; Config.DetectAnomaly finds the operation"
	if r.err == nil || r.err.Error() != want || len(files(t, c.Checkpoint)) > 0 {
		t.Errorf("it left %v; the error is %v", files(t, c.Checkpoint), r.err)
	}
	for _, x := range []float64{math.NaN(), math.Inf(1)} {
		c := config(t)
		c.KeepOrder, c.Checkpoint, c.CheckpointEvery = true, t.TempDir(), 1
		r := fit(t.Context(), c, poisoned(t, 17, x), nil)
		var bad *train.NotFiniteError
		if !errors.As(r.err, &bad) {
			t.Fatalf("%v: the error is %v", x, r.err)
		}
		if bad.Step != 3 || !math.IsNaN(bad.Loss) || !strings.HasSuffix(bad.Last, "step-000000002.safetensors") || bad.Variable != "" {
			t.Errorf("%v: the error is %+v", x, bad)
		}
		if !strings.Contains(r.err.Error(), "NaN at step 3") || !strings.Contains(r.err.Error(), bad.Last) {
			t.Errorf("%v: the error is %v", x, r.err)
		}
		if d := cmp.Diff([]string{"step-000000001.safetensors", "step-000000002.safetensors"}, files(t, c.Checkpoint)); d != "" {
			t.Error(d)
		}
	}
}

// TestRuinedModel has a loss that is 0 and a gradient that is NaN: the loss looks good when the model is ruined already, and no checkpoint is
// written of that, whenever it would be due.
func TestRuinedModel(t *testing.T) {
	for what, every := range map[string]int{"each step": 1, "each epoch": 0, "no folder": -1} {
		c := config(t)
		c.Loss = func(p, _ ops.Value) ops.Value { return p.Sub(p).Sqrt().Mean() }
		c.Steps, c.Validation = 1, nil
		if every >= 0 {
			c.Checkpoint, c.CheckpointEvery = t.TempDir(), every
		}
		r := fit(t.Context(), c, squares(t, samples, 1), nil)
		var bad *train.NotFiniteError
		if !errors.As(r.err, &bad) || bad.Variable == "" || bad.Step != 1 || bad.Loss != 0 || bad.Last != "" {
			t.Errorf("%s: the error is %v", what, r.err)
		}
		if r.err != nil && !strings.Contains(r.err.Error(), "after step 1, whose loss was 0, there are values in 0.weight ") {
			t.Errorf("%s: the error is %v", what, r.err)
		}
		if every >= 0 && len(files(t, c.Checkpoint)) > 0 {
			t.Errorf("%s: it left %v", what, files(t, c.Checkpoint))
		}
	}
}

// broken is a data set with one sample that cannot be read.
type broken struct {
	data.Dataset
	at int
}

var errBroken = errors.New("cats/17.png: unexpected end")

func (b broken) Sample(i int, x, y tensor.Tensor) error {
	if i == b.at {
		return errBroken
	}
	return b.Dataset.Sample(i, x, y)
}

// TestBrokenSample ends a run in its third step, with what it has reached saved; in validation too. When the sample is mended, the run goes
// on.
func TestBrokenSample(t *testing.T) {
	set := squares(t, samples, 1)
	keep := func(c *train.Config) { c.KeepOrder = true }
	whole := config(t)
	keep(&whole)
	want := mustFit(t, whole, set)

	c := config(t)
	keep(&c)
	c.Checkpoint = t.TempDir()
	r := fit(t.Context(), c, broken{set, 17}, nil)
	at := last[train.Saved](r.events)
	if !errors.Is(r.err, errBroken) || !strings.Contains(r.err.Error(), "train: step 3: ") || at.Step != 2 || !strings.Contains(r.err.Error(), at.Path) {
		t.Fatalf("saved %+v, error %v", at, r.err)
	}

	c.Optimizer, c.Resume, c.Validation = config(t).Optimizer, true, broken{whole.Validation, 10}
	r = fit(t.Context(), c, set, nil)
	at = last[train.Saved](r.events)
	if !errors.Is(r.err, errBroken) || !strings.Contains(r.err.Error(), "train: evaluation: ") || at.Step != stepsEach {
		t.Fatalf("saved %+v, error %v", at, r.err)
	}

	c.Optimizer, c.Validation = config(t).Optimizer, whole.Validation
	r = mustFit(t, c, set)
	if d := cmp.Diff(want.ends, r.ends); d != "" {
		t.Error(d)
	}
	compareReports(t, r.report, want.report)
}

// TestCancelledWithin cancels while a step is being recorded: it happens whole nevertheless.
func TestCancelledWithin(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	seen := 0
	c := config(t)
	c.Checkpoint = t.TempDir()
	c.Model = append(layers.Sequential{layers.Func(func(lc *layers.Context, x ops.Value) ops.Value {
		if x.Dim(0) == batch && lc.Mode == layers.Train {
			if seen++; seen == 1+3 { // the first was the rehearsal
				cancel(errStop)
			}
		}
		return x
	})}, small...)
	r := fit(ctx, c, squares(t, samples, 1), nil)
	if !errors.Is(r.err, errStop) || r.report.Steps != 3 || last[train.Saved](r.events).Step != 3 {
		t.Errorf("after %d steps the error is %v", r.report.Steps, r.err)
	}

	c.Model, c.Optimizer, c.Resume = append(layers.Sequential{layers.ReLU{}}, small...), config(t).Optimizer, true
	if r := fit(ctx, c, squares(t, samples, 1), nil); !errors.Is(r.err, errStop) || len(r.events) != 2 {
		t.Errorf("resumed and stopped at once, it told %v; the error is %v", r.events, r.err)
	}
}

// TestSeedOfDropout trains twice with everything equal but the seed, from the same weights and in the same order.
func TestSeedOfDropout(t *testing.T) {
	var losses [2]float64
	for i := range losses {
		c := config(t)
		c.Model = layers.Sequential{layers.Flatten{}, layers.Dropout{P: 0.5}, layers.Linear{Out: 3, BiasInit: layers.Zeros, Init: func(w tensor.Tensor, _ layers.Draw) {
			for i := range w.Len() {
				w.Set(i, float64(i%7)/10)
			}
		}}}
		c.Seed, c.Steps, c.KeepOrder, c.Transform = uint64(i), 1, true, nil
		losses[i] = mustFit(t, c, squares(t, samples, 1)).report.Loss
	}
	if losses[0] == losses[1] {
		t.Errorf("both losses are %v", losses[0])
	}
}

// TestWrongLabel is a label beyond the classes: the step fails, named, and the model is as before.
func TestWrongLabel(t *testing.T) {
	c := config(t)
	c.Model, c.Checkpoint = layers.Sequential{layers.Flatten{}, layers.Linear{Out: 2}}, t.TempDir() // of three classes
	r := fit(t.Context(), c, squares(t, samples, 1), nil)
	var index *ops.IndexError
	if !errors.As(r.err, &index) || !strings.Contains(r.err.Error(), "train: step 1: ") {
		t.Errorf("the error is %v", r.err)
	}
	if names := files(t, c.Checkpoint); len(names) != 0 {
		t.Errorf("it left %v", names)
	}
}

// TestOptimizerMistake is told as the optimiser words it.
func TestOptimizerMistake(t *testing.T) {
	c := config(t)
	c.Optimizer = &optim.Adam{Beta1: 2}
	if r := fit(t.Context(), c, squares(t, samples, 1), nil); r.err == nil || !strings.Contains(r.err.Error(), "Beta1 is 2") {
		t.Errorf("the error is %v", r.err)
	}
}

// TestNoGoroutines ends runs in many ways: no goroutine is left of any.
func TestNoGoroutines(t *testing.T) {
	set := squares(t, samples, 1)
	eng := engine(t)
	before := runtime.NumGoroutine()
	for i := range 40 {
		c := configOn(t, eng)
		c.Epochs = 1
		d := set
		if i%4 == 3 {
			d = broken{set, i % samples}
		}
		ctx, watch := stopAt(t, i%4)
		fit(ctx, c, d, watch)
	}
	after := 0
	for range 1000 { // one that has done its last work may still be on its way out
		if after = runtime.NumGoroutine(); after <= before {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d goroutines, before %d", after, before)
}
