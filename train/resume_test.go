package train_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
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

// TestResumeAnywhere stops a run after each of its steps, at an epoch's last one too, where validation is under way, and goes on in a new
// net: losses, validation, report and model have the same bits as without the stop.
func TestResumeAnywhere(t *testing.T) {
	set := squares(t, samples, 1)
	whole := mustFit(t, config(t), set)
	if len(whole.losses) != steps || len(whole.ends) != epochs {
		t.Fatalf("%d steps and %d epochs, want %d and %d", len(whole.losses), len(whole.ends), steps, epochs)
	}
	for _, every := range []int{0, 3} {
		for stop := 1; stop <= steps; stop++ {
			t.Run(fmt.Sprintf("every %d stop %d", every, stop), func(t *testing.T) {
				c := config(t)
				c.Checkpoint, c.CheckpointEvery = filepath.Join(t.TempDir(), "new", "run"), every
				ctx, watch := stopAt(t, stop)
				first := fit(ctx, c, set, watch)
				at := filepath.Join(c.Checkpoint, fmt.Sprintf("step-%09d.safetensors", stop))
				if first.err == nil || !errors.Is(first.err, errStop) || !errors.Is(first.err, context.Canceled) || !strings.Contains(first.err.Error(), at) {
					t.Fatalf("the error is %v", first.err)
				}
				if first.report.Steps != stop || first.report.Checkpoint != at {
					t.Fatalf("%d steps, checkpoint %s", first.report.Steps, first.report.Checkpoint)
				}

				c.Engine, c.Optimizer, c.Resume = engine(t), config(t).Optimizer, true
				second := mustFit(t, c, set)
				if r := last[train.Resumed](second.events); r != (train.Resumed{Path: at, Step: stop}) {
					t.Errorf("resumed %+v", r)
				}
				for step := 1; step <= steps; step++ {
					from := first
					if step > stop {
						from = second
					}
					if from.losses[step] != whole.losses[step] {
						t.Errorf("step %d: loss %x, want %x", step, from.losses[step], whole.losses[step])
					}
				}
				if len(first.losses)+len(second.losses) != steps {
					t.Errorf("%d and %d steps", len(first.losses), len(second.losses))
				}
				for e, end := range second.ends {
					if _, twice := first.ends[e]; twice {
						t.Errorf("epoch %d ended twice", e)
					}
					first.ends[e] = end
				}
				if d := cmp.Diff(whole.ends, first.ends); d != "" {
					t.Errorf("the epochs differ:\n%s", d)
				}
				compareReports(t, second.report, whole.report)
			})
		}
	}
}

// compareReports compares all but the checkpoints.
func compareReports(t *testing.T, got, want *train.Report) {
	t.Helper()
	sameState(t, got.Net, want.Net)
	a, b := *got, *want
	a.Net, b.Net, a.Checkpoint, b.Checkpoint = nil, nil, "", ""
	if d := cmp.Diff(b, a); d != "" {
		t.Errorf("the reports differ:\n%s", d)
	}
}

// TestResumeFinished resumes runs that had reached their end, in the middle of an epoch or at the end of one: nothing is left to do, and the
// report is the same again.
func TestResumeFinished(t *testing.T) {
	set := squares(t, samples, 1)
	for _, steps := range []int{stepsEach, stepsEach + 1} {
		c := config(t)
		c.Steps, c.Checkpoint, c.CheckpointEvery = steps, t.TempDir(), 3
		first := mustFit(t, c, set)
		if first.report.Validation == nil || first.report.Loss == 0 {
			t.Fatalf("the report is %+v", first.report)
		}
		c.Engine, c.Optimizer, c.Resume = engine(t), config(t).Optimizer, true
		second := mustFit(t, c, set)
		if len(second.losses) != 0 {
			t.Errorf("%d steps more", len(second.losses))
		}
		compareReports(t, second.report, first.report)
	}
}

// TestResumeLonger goes on after the end with more epochs.
func TestResumeLonger(t *testing.T) {
	set := squares(t, samples, 1)
	whole := mustFit(t, config(t), set)
	c := config(t)
	c.Epochs, c.Checkpoint = 1, t.TempDir()
	mustFit(t, c, set)
	longer := config(t)
	longer.Checkpoint, longer.Resume = c.Checkpoint, true
	compareReports(t, mustFit(t, longer, set).report, whole.report)
}

// TestNothingToResume starts anew, and says so.
func TestNothingToResume(t *testing.T) {
	c := config(t)
	c.Epochs, c.Checkpoint, c.Resume = 1, filepath.Join(t.TempDir(), "none"), true
	r := mustFit(t, c, squares(t, samples, 1))
	if e, ok := r.events[0].(train.Resumed); !ok || e != (train.Resumed{}) {
		t.Errorf("the first event is %+v", r.events[0])
	}
	if len(r.losses) != stepsEach {
		t.Errorf("%d steps", len(r.losses))
	}
}

// draws is a run whose batches are written down as they reach the network: the number of each sample, and what the Transform drew for it.
func draws(t *testing.T, folder string, seed uint64, stop int) [][2]float32 {
	t.Helper()
	const n = 103
	x, y := tensor.New(tensor.SpecOf(tensor.F32, n, 2)), tensor.New(tensor.SpecOf(tensor.I64, n))
	for i := range n {
		x.Set(2*i, float64(i)/n)
		y.SetInt(i, int64(i%2))
	}
	var seen [][2]float32
	look := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		if c.Mode == layers.Train {
			c.Tape.Watch(x, func(x tensor.Tensor) {
				for i := range x.Shape().Dim(0) {
					row := tensor.Data[float32](x.Row(i))
					seen = append(seen, [2]float32{row[0] * n, row[1]})
				}
			})
		}
		return x
	})
	c := train.Config{
		Engine: engine(t), Model: layers.Sequential{look, layers.Linear{Out: 2}}, Loss: ops.CrossEntropy, Optimizer: &optim.SGD{}, Batch: 8, Epochs: 4, Seed: seed,
		Transform: func(random *rand.Rand, x tensor.Tensor) error {
			x.Set(1, random.Float64())
			return nil
		},
		Checkpoint: folder, Resume: folder != "",
	}
	ctx, watch := stopAt(t, stop)
	if r := fit(ctx, c, tensors(t, x, y), watch); r.err != nil && !errors.Is(r.err, errStop) {
		t.Fatal(r.err)
	}
	return seen
}

// TestOrderAndAugmentation writes down which samples a run sees and what is drawn for each, over four epochs: each epoch sees each sample once,
// in an order of its own and with draws of its own, which are the same with any number of goroutines that prepare batches, and when the run
// is stopped anywhere in the third epoch.
func TestOrderAndAugmentation(t *testing.T) {
	const n, perEpoch = 103, 13
	whole := draws(t, "", 1, -1)
	if len(whole) != 4*n {
		t.Fatalf("%d samples", len(whole))
	}
	drawn := map[float32]bool{}
	var orders [][]int
	for e := range 4 {
		var order []int
		for _, s := range whole[e*n : (e+1)*n] {
			order = append(order, int(s[0]+0.5))
			drawn[s[1]] = true
		}
		for _, before := range orders {
			if slices.Equal(before, order) {
				t.Error("two epochs have the same order")
			}
		}
		orders = append(orders, slices.Clone(order))
		slices.Sort(order)
		if len(slices.Compact(order)) != n {
			t.Errorf("epoch %d has not seen each sample once", e+1)
		}
	}
	if len(drawn) != 4*n {
		t.Errorf("%d different draws of %d", len(drawn), 4*n)
	}
	if other := draws(t, "", 2, -1); slices.Equal(other[:n], whole[:n]) {
		t.Error("the seed changes nothing")
	}
	for _, procs := range []int{1, 2, 8, 32} { // half of them prepare batches, 8 at most
		old := runtime.GOMAXPROCS(procs)
		got := draws(t, "", 1, -1)
		runtime.GOMAXPROCS(old)
		if !slices.Equal(got, whole) {
			t.Errorf("GOMAXPROCS %d changes the samples", procs)
		}
	}
	for _, stop := range []int{2*perEpoch + 5, 3*perEpoch - 1, 3 * perEpoch, 3*perEpoch + 1} {
		folder := t.TempDir()
		got := draws(t, folder, 1, stop)
		if len(got) >= len(whole) {
			t.Fatalf("stopped after %d samples", len(got))
		}
		if got = append(got, draws(t, folder, 1, -1)...); !slices.Equal(got, whole) {
			t.Errorf("a stop after step %d changes the samples", stop)
		}
	}
}

// TestRefusedCheckpoints resumes with what would make it another run: an error says what differs, and the checkpoint stays.
func TestRefusedCheckpoints(t *testing.T) {
	set := squares(t, samples, 1)
	c := config(t)
	c.Epochs, c.Checkpoint = 1, t.TempDir()
	path := mustFit(t, c, set).report.Checkpoint
	for what, test := range map[string]struct {
		change func(*train.Config)
		set    data.Dataset
		want   []string
	}{
		"seed":  {func(c *train.Config) { c.Seed = 6 }, set, []string{"seed 5, not 6"}},
		"batch": {func(c *train.Config) { c.Batch = 7 }, set, []string{"26 samples in batches of 8, shuffled with seed 5; this run has 26 samples in batches of 7,"}},
		"data":  {func(*train.Config) {}, squares(t, samples+1, 1), []string{"26 samples in batches of 8", "this run has 27 samples"}},
		"order": {func(c *train.Config) { c.KeepOrder = true }, set, []string{"in batches of 8, shuffled with seed 5; this run has 26 samples in batches of 8, in their own order"}},
		"optimizer": {func(c *train.Config) { c.Optimizer = &optim.SGD{Momentum: 0.9} }, set, []string{
			"missing: 0.weight.momentum_buffer, 0.bias.momentum_buffer", "unexpected: 0.weight.exp_avg, 0.weight.exp_avg_sq",
		}},
		"model": {func(c *train.Config) {
			m := slices.Clone(small)
			m[0], m[1], m[6] = layers.Conv2D{Out: 5, Kernel: 3, Padding: layers.Same, NoBias: true}, layers.ReLU{}, layers.Sequential{layers.Linear{Out: 3}}
			c.Model, c.Optimizer = m, &optim.SGD{}
		}, set, []string{
			".safetensors is of another model or optimizer: missing: 6.0.weight, 6.0.bias (the file has 6.bias);", "unexpected: 0.bias, 1.weight, 1.bias, 1.running_mean, 1.running_var, and 14 more",
			"mis-shaped: 0.weight is f32[4 1 3 3] in the file, f32[5 1 3 3] in the model",
		}},
		"type": {func(c *train.Config) {
			cast := layers.Func(func(_ *layers.Context, x ops.Value) ops.Value { return x.Cast(tensor.F64) })
			c.Model, c.DType = append(layers.Sequential{}, small...), tensor.F64
			c.Model.(layers.Sequential)[2] = layers.ReLU{}
			c.Model = layers.Func(func(lc *layers.Context, x ops.Value) ops.Value { return small.Forward(lc, cast(lc, x)) })
		}, set, []string{"was written in f32, this run is f64"}},
	} {
		t.Run(what, func(t *testing.T) {
			again := config(t)
			again.Checkpoint, again.Resume = c.Checkpoint, true
			test.change(&again)
			r := fit(t.Context(), again, test.set, nil)
			if r.err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(test.want, "train: ", path) {
				if !strings.Contains(r.err.Error(), want) {
					t.Errorf("the error is %v\nwant %q in it", r.err, want)
				}
			}
			if len(r.losses) > 0 {
				t.Error("it has trained")
			}
		})
	}
	c.Optimizer, c.Resume = config(t).Optimizer, true
	if r := mustFit(t, c, set); r.report.Checkpoint != path {
		t.Errorf("afterwards the checkpoint is %s", r.report.Checkpoint)
	}
}

// TestStateByName builds two layers of one shape in another order: the file's names decide, not its order.
func TestStateByName(t *testing.T) {
	set := squares(t, samples, 1)
	sum := func(first, second string) layers.Module {
		return layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
			x = x.Flatten()
			return c.Run(first, layers.Linear{Out: 3}, x).Add(c.Run(second, layers.Linear{Out: 3}, x))
		})
	}
	c := config(t)
	c.Model = sum("a", "b")
	whole := mustFit(t, c, set)

	c.Optimizer, c.Epochs, c.Checkpoint = config(t).Optimizer, 1, t.TempDir()
	mustFit(t, c, set)
	c.Model, c.Optimizer, c.Epochs, c.Resume = sum("b", "a"), config(t).Optimizer, epochs, true
	swapped := mustFit(t, c, set)
	for step := stepsEach + 1; step <= steps; step++ {
		if swapped.losses[step] != whole.losses[step] {
			t.Errorf("step %d: loss %x, want %x", step, swapped.losses[step], whole.losses[step])
		}
	}
	compareReports(t, swapped.report, whole.report)
}

// TestNotes tells of metadata that differ.
func TestNotes(t *testing.T) {
	set := squares(t, samples, 1)
	c := config(t)
	c.Epochs, c.Checkpoint, c.Metadata = 1, t.TempDir(), map[string]string{"rate": "0.1", "gone": "x"}
	mustFit(t, c, set)
	c.Optimizer, c.Resume, c.Metadata = config(t).Optimizer, true, map[string]string{"rate": "0.2", "new": "y"}
	if note := last[train.Resumed](mustFit(t, c, set).events).Note; note != `rate was "0.1", it is "0.2" now` {
		t.Errorf("the note is %s", note)
	}
}

// TestOtherLevel resumes at another level of instructions, which is allowed and told.
func TestOtherLevel(t *testing.T) {
	set := squares(t, samples, 1)
	c := config(t)
	if c.Engine.Devices()[0].Info().ISA == "generic" {
		t.Skip("this processor has one level only")
	}
	c.Epochs, c.Checkpoint = 1, t.TempDir()
	mustFit(t, c, set)
	c.Engine, c.Optimizer, c.Resume = engine(t, cpu.Level("generic")), config(t).Optimizer, true
	if note := last[train.Resumed](mustFit(t, c, set).events).Note; !strings.Contains(note, "this is [generic]") {
		t.Errorf("the note is %q", note)
	}
}
