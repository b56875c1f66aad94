package train_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// ignored is the label of padding.
const ignored = -100

// words is n sequences of 1 to 9 pairs of numbers; the label of each pair is whether the first is the larger one. Every seventh sequence has no
// labels that count.
func words(t testing.TB, n int, seed uint64) data.Sequences {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	var xs, ys []tensor.Tensor
	for i := range n {
		length := 1 + random.IntN(9)
		x, y := tensor.New(tensor.SpecOf(tensor.F32, length, 2)), tensor.New(tensor.SpecOf(tensor.I64, length))
		for k := range length {
			a, b := random.Float64(), random.Float64()
			x.Set(2*k, a)
			x.Set(2*k+1, b)
			switch {
			case i%7 == 6:
				y.SetInt(k, ignored)
			case a > b:
				y.SetInt(k, 1)
			}
		}
		xs, ys = append(xs, x), append(ys, y)
	}
	s, err := data.Ragged(xs, ys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func buckets(t testing.TB, n, batch int, seed uint64) data.Buckets {
	return data.Buckets{Data: words(t, n, seed), Bounds: []int{3, 6, 9}, Padding: data.Padding{Y: ignored}, Batch: batch, Shuffle: true, Seed: 4}
}

// tokenLoss is the cross-entropy of the labels that count.
var tokenLoss = train.CrossEntropy(ops.ClassLoss{Ignore: true, Ignored: ignored})

// river is a source of the samples of a data set. It may be opened once for each epoch and resumption.
type river struct {
	data.Dataset
	at int
}

func (r *river) Next(x, y tensor.Tensor) error {
	if r.at == r.Len() {
		return io.EOF
	}
	r.at++
	return r.Sample(r.at-1, x, y)
}

func (r *river) Close() error { return nil }

func stream(set data.Dataset) data.Stream {
	return data.Stream{Open: func(int) (data.Source, error) { return &river{set, 0}, nil }, Batch: batch, Shuffle: 10, Seed: 3, Transform: data.FlipHorizontal}
}

// kind is a way to train.
type kind struct {
	name     string
	steps    int // of three epochs
	compiles int // graphs compiled
	run      func(t testing.TB, c train.Config, watch func(train.Event), ctx context.Context) trace
}

// byFit is a kind of Fit with some other configuration.
func byFit(name string, steps, compiles int, change func(*train.Config)) kind {
	return kind{name, steps, compiles, func(t testing.TB, c train.Config, watch func(train.Event), ctx context.Context) trace {
		change(&c)
		return fit(ctx, c, squares(t, samples, 1), watch)
	}}
}

// byBatches is a kind of FitBatches.
func byBatches(name string, steps, compiles int, batches func(testing.TB) data.Batches, change func(testing.TB, *train.Config)) kind {
	return kind{name, steps, compiles, func(t testing.TB, c train.Config, watch func(train.Event), ctx context.Context) trace {
		c.Transform, c.Batch = nil, 4
		change(t, &c)
		return watched(c, watch, func(c train.Config) (*train.Report, error) { return train.FitBatches(ctx, c, batches(t)) })
	}}
}

func ofTokens(t testing.TB, c *train.Config) {
	c.Model = layers.Sequential{layers.Linear{Out: 8}, layers.ReLU{}, layers.Dropout{P: 0.1}, layers.Linear{Out: 2}}
	c.Loss, c.Validation, c.ValidationBatches = tokenLoss, nil, buckets(t, 20, 5, 9)
	c.Metrics = []train.Metric{train.Accuracy(ignored), train.Perplexity(tokenLoss), train.F1(2, train.Binary, ignored), train.Confusion(2, ignored)}
}

func unchanged(testing.TB, *train.Config) {}

var kinds = []kind{
	byBatches("loader", 3*5, 2, func(t testing.TB) data.Batches {
		return data.Loader{Data: squares(t, samples, 1), Batch: 5, Shuffle: true, Seed: 8, DropLast: true}
	}, func(t testing.TB, c *train.Config) {
		c.ValidationBatches, c.Validation = data.Loader{Data: c.Validation, Batch: 11}, nil
	}),
	byBatches("buckets", 3*7, 10, func(t testing.TB) data.Batches { return buckets(t, 30, 5, 1) }, ofTokens),
	byBatches("buckets accumulated", 3*4, 12, func(t testing.TB) data.Batches {
		b := buckets(t, 30, 5, 1)
		b.Shuffle = false // another order of shapes makes other pairs of them, each a graph of its own
		return b
	}, func(t testing.TB, c *train.Config) {
		ofTokens(t, c)
		c.Accumulate = 2
	}),
	byBatches("stream", 3*4, 4, func(t testing.TB) data.Batches { return stream(squares(t, samples, 1)) }, unchanged),
	byFit("accumulated", 3*2, 6, func(c *train.Config) { c.Batch, c.Accumulate = 4, 4 }),
	byFit("accumulated, clipped, averaged and scaled", 3*2, 6, func(c *train.Config) {
		c.Batch, c.Accumulate = 4, 4
		c.Optimizer = &optim.LossScale{Every: 2, Optimizer: &optim.EMA{Decay: 0.5, Optimizer: &optim.Clip{Norm: 1, Optimizer: c.Optimizer}}}
	}),
	byFit("limited", 3*2, 2, func(c *train.Config) { c.LimitBatches, c.LimitValidation = 2, 1 }),
	byFit("limited and accumulated", 3*2, 4, func(c *train.Config) { c.LimitBatches, c.LimitValidation, c.Accumulate = 3, 1, 2 }),
	byFit("overfitting", 3*2, 3, func(c *train.Config) { c.OverfitBatches = 2 }),
}

// TestKinds trains in many ways. Each compiles all its graphs in the first epoch, and stopped anywhere and resumed has the bits of a run that was not.
func TestKinds(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			c := config(t)
			compiles := map[int]int{}
			whole := k.run(t, c, func(e train.Event) {
				if e, ok := e.(train.Epoch); ok {
					compiles[e.Epoch] = c.Engine.Stats().Compiles
				}
			}, t.Context())
			if whole.err != nil {
				t.Fatal(whole.err)
			}
			if whole.report.Steps != k.steps || len(whole.losses) != k.steps || len(whole.ends) != epochs {
				t.Fatalf("%d steps and %d epochs, want %d and %d", len(whole.losses), len(whole.ends), k.steps, epochs)
			}
			if compiles[1] != k.compiles || compiles[epochs] != compiles[1] {
				t.Errorf("graphs compiled until the end of each epoch: %v, want %d", compiles, k.compiles)
			}
			if first, last := whole.ends[1].Loss, whole.ends[epochs].Loss; !(last < first) {
				t.Errorf("the loss goes from %v to %v", first, last)
			}
			stops := []int{1, k.steps/3 - 1, k.steps / 3, k.steps/3 + 1, k.steps - 1, k.steps}
			if testing.Short() {
				stops = stops[2:4]
			}
			for _, stop := range stops {
				for _, every := range []int{0, 2} {
					resumed(t, k, whole, max(1, stop), every)
				}
			}
		})
	}
}

// resumed stops a run after a step, goes on with another, and compares with one that was not stopped.
func resumed(t *testing.T, k kind, whole trace, stop, every int) {
	t.Helper()
	c := config(t)
	c.Checkpoint, c.CheckpointEvery = t.TempDir(), every
	ctx, watch := stopAt(t, stop)
	first := k.run(t, c, watch, ctx)
	if !errors.Is(first.err, errStop) {
		t.Fatalf("stopped after %d: %v", stop, first.err)
	}
	c.Engine, c.Optimizer, c.Resume = engine(t), config(t).Optimizer, true
	second := k.run(t, c, nil, t.Context())
	if second.err != nil {
		t.Fatalf("resumed after %d: %v", stop, second.err)
	}
	if at := last[train.Resumed](second.events).Step; at != stop {
		t.Errorf("stopped after %d, resumed after %d", stop, at)
	}
	for step, loss := range whole.losses {
		from := first
		if step > stop {
			from = second
		}
		if from.losses[step] != loss {
			t.Errorf("stopped after %d: step %d has the loss %x, want %x", stop, step, from.losses[step], loss)
		}
	}
	for e, end := range second.ends {
		first.ends[e] = end
	}
	if d := cmp.Diff(whole.ends, first.ends, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("stopped after %d: the epochs differ:\n%s", stop, d)
	}
	compareReports(t, second.report, whole.report)
}

// TestKindsRefused: a checkpoint of one way to train is not resumed in another.
func TestKindsRefused(t *testing.T) {
	folder := t.TempDir()
	written := config(t)
	written.Checkpoint, written.Steps = folder, 1
	mustFit(t, written, squares(t, samples, 1))
	for _, k := range kinds {
		if k.name == "buckets" || k.name == "buckets accumulated" {
			continue // of another model too
		}
		c := config(t)
		c.Checkpoint, c.Resume = folder, true
		r := k.run(t, c, nil, t.Context())
		if r.err == nil || len(r.losses) > 0 {
			t.Errorf("%s: %d steps, %v", k.name, len(r.losses), r.err)
		}
	}
}

// TestPipe reads a source that can be opened once: its first batch is not lost though the model is built by it.
func TestPipe(t *testing.T) {
	set := squares(t, samples, 1)
	opened := 0
	pipe := stream(set)
	pipe.Open = func(int) (data.Source, error) {
		if opened++; opened > 1 {
			return nil, errors.New("a pipe can be read once")
		}
		return &river{set, 0}, nil
	}
	c := config(t)
	c.Transform, c.Epochs = nil, 1
	got := watched(c, nil, func(c train.Config) (*train.Report, error) { return train.FitBatches(t.Context(), c, pipe) })
	if got.err != nil || opened != 1 || len(got.losses) != stepsEach {
		t.Fatalf("opened %d times, %d steps: %v", opened, len(got.losses), got.err)
	}
	for _, e := range got.events {
		if s, ok := e.(train.Step); ok && s.Of != 0 {
			t.Errorf("step %d is one of %d, which nobody knows", s.Step, s.Of)
		}
	}
}

// TestSourceFaults: what a source says reaches the caller, wherever it says so; what is read is closed.
func TestSourceFaults(t *testing.T) {
	set := squares(t, samples, 1)
	fault := errors.New("the disk is gone")
	for at, want := range map[int]string{
		0:  "train: the first batch: data: sample 0: the disk is gone",
		20: "train: step 1: data: sample 20: the disk is gone", // ten samples wait, and a batch or two are ahead
	} {
		s := stream(set)
		s.Open = func(int) (data.Source, error) { return &failing{river{set, 0}, at, fault}, nil }
		c := config(t)
		c.Transform = nil
		_, err := train.FitBatches(t.Context(), c, s)
		if !errors.Is(err, fault) || at == 0 && err.Error() != want {
			t.Errorf("a fault at sample %d: %v, want %s", at, err, want)
		}
	}
	unlabelled := tensors(t, tensor.New(tensor.SpecOf(tensor.F32, 4, 1, 8, 8)), tensor.Tensor{})
	for want, b := range map[string]data.Batches{
		"train: the training data are empty":                                     nil,
		"train: the training data have no targets":                               data.Loader{Data: unlabelled, Batch: 2},
		"train: the training data: data: a batch of 0 samples":                   data.Loader{Data: set},
		"train: the first batch: data: the source of epoch 0 is empty":           stream(squares(t, 0, 1)),
		"train: the training data: data: the buckets have no data":               data.Buckets{},
		"train: the training data: data: nothing is left: DropLast leaves out":   data.Loader{Data: set, Batch: 100, DropLast: true},
		"train: step 4: the batches of an epoch have ended without one that say": endless{data.Loader{Data: set, Batch: 8}},
	} {
		c := config(t)
		c.Transform = nil
		_, err := train.FitBatches(t.Context(), c, b)
		if err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	c := config(t)
	if _, err := train.FitBatches(t.Context(), c, stream(set)); err == nil || err.Error() != "train: Config.KeepOrder and Config.Transform are for Fit: the batches have an order and a Transform of their own" {
		t.Errorf("with a Transform: %v", err)
	}
}

// failing is a source whose sample failAt cannot be read.
type failing struct {
	river
	failAt int
	err    error
}

func (f *failing) Next(x, y tensor.Tensor) error {
	if f.at == f.failAt {
		return f.err
	}
	return f.river.Next(x, y)
}

// endless is batches of which none is the last.
type endless struct{ data.Loader }

func (e endless) Batches(ctx context.Context, from data.Position) iter.Seq2[data.Batch, error] {
	return func(yield func(data.Batch, error) bool) {
		for b, err := range e.Loader.Batches(ctx, from) {
			if b.Next.Epoch != from.Epoch {
				return
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// TestNothingOutlives runs many loops that end early, by a limit, an error or a stop: no goroutine is left.
func TestNothingOutlives(t *testing.T) {
	set := squares(t, samples, 1)
	eng := engine(t)
	mustFit(t, configOn(t, eng), set) // the engine's own goroutines are there
	before := runtime.NumGoroutine()
	for i := range 60 {
		c := configOn(t, eng)
		c.Epochs, c.Validation = 1, nil
		ctx, watch := t.Context(), func(train.Event) {}
		var err error
		switch i % 4 {
		case 0:
			c.LimitBatches = 1
			err = fit(ctx, c, set, watch).err
		case 1:
			ctx, watch = stopAt(t, 1)
			if err = fit(ctx, c, set, watch).err; errors.Is(err, errStop) {
				err = nil
			}
		case 2:
			if r := fit(ctx, c, broken{set, 13}, watch); r.err == nil {
				err = errors.New("no error of the broken sample")
			}
		case 3:
			c.Transform, c.Steps = nil, 1
			_, err = train.FitBatches(ctx, c, stream(set))
		}
		if err != nil {
			t.Fatalf("loop %d: %v", i, err)
		}
	}
	for wait := 0; runtime.NumGoroutine() > before; wait++ {
		if wait == 100 {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(10 * time.Millisecond) // contexts' own goroutines end by themselves
	}
}

// TestStepsOfUnknownLength: a stream's run knows its length where Config.Steps says so.
func TestStepsOfUnknownLength(t *testing.T) {
	c := config(t)
	c.Transform, c.Epochs, c.Steps = nil, 0, 6
	r := watched(c, nil, func(c train.Config) (*train.Report, error) {
		return train.FitBatches(t.Context(), c, stream(squares(t, samples, 1)))
	})
	if s := last[train.Step](r.events); r.err != nil || s.Step != 6 || s.Of != 6 || s.Epoch != 2 {
		t.Errorf("the last step is %+v, %v", s, r.err)
	}
}

// TestIgnoredBatch: a batch whose targets are all ignored moves nothing by its gradient, and has no part in the epoch's mean.
func TestIgnoredBatch(t *testing.T) {
	x, y := tensor.New(tensor.SpecOf(tensor.F32, 6, 2)), tensor.New(tensor.SpecOf(tensor.I64, 6))
	for i := range 6 {
		x.Set(2*i, float64(i))
		y.SetInt(i, int64(i%2))
	}
	y.SetInt(2, ignored) // the second batch of two
	y.SetInt(3, ignored)
	y.SetInt(4, ignored) // half of the third
	for _, accumulate := range []int{1, 2, 3} {
		c := train.Config{
			Engine: engine(t), Model: layers.Linear{Out: 2}, Loss: tokenLoss, Optimizer: &optim.SGD{LR: 1e-300}, Batch: 2, Epochs: 1, KeepOrder: true,
			Accumulate: accumulate, Validation: tensors(t, x, y), Metrics: []train.Metric{train.Accuracy(ignored)},
		}
		r := mustFit(t, c, tensors(t, x, y))
		var weights []float64
		for _, e := range r.events {
			if s, ok := e.(train.Step); ok {
				weights = append(weights, s.Weight)
			}
		}
		want := [][]float64{{2, 0, 1}, {2, 1}, {3}}[accumulate-1]
		if d := cmp.Diff(want, weights); d != "" {
			t.Errorf("%d a step: weights %s", accumulate, d)
		}
		if math.Abs(r.report.Loss-r.report.Validation["loss"]) > 1e-7 || math.IsNaN(r.report.Loss) {
			t.Errorf("%d a step: the mean is %v in training, %v in validation", accumulate, r.report.Loss, r.report.Validation["loss"])
		}
	}
	none := tensors(t, x, tensor.Full(y.Spec(), ignored))
	c := train.Config{Engine: engine(t), Model: layers.Linear{Out: 2}, Loss: tokenLoss, Optimizer: &optim.Adam{}, Batch: 2, Epochs: 2, Validation: none}
	before := mustFit(t, train.Config{Engine: engine(t), Model: layers.Linear{Out: 2}, Loss: tokenLoss, Optimizer: &optim.SGD{LR: 1e-300}, Batch: 6, Epochs: 1}, none)
	r := mustFit(t, c, none)
	sameState(t, r.report.Net, before.report.Net)
	if !math.IsNaN(r.report.Loss) || !math.IsNaN(r.report.Validation["loss"]) || last[train.Step](r.events).Loss != 0 {
		t.Errorf("the mean of nothing is %v, in validation %v", r.report.Loss, r.report.Validation)
	}
}

// TestLengths: what samples are padded with changes nothing where the model heeds their lengths, in training and in validation, in Buckets and in a
// Loader of data.Pad.
func TestLengths(t *testing.T) {
	meanOfSteps := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		if c.Lengths.IsNone() { // while the net is built
			return x.Mean(1)
		}
		step := ops.Iota(x.Recorder(), tensor.SpecOf(tensor.I64, x.Dim(1)), 0)
		inside := step.Less(c.Lengths.Unsqueeze(1)).Unsqueeze(2)
		return ops.Where(inside, x, ops.Zeros(x.Recorder(), tensor.SpecOf(tensor.F32))).Sum(1)
	})
	var xs, ys []tensor.Tensor
	for i := range 20 {
		xs = append(xs, tensor.Full(tensor.SpecOf(tensor.F32, 1+i%5, 2), float64(i)/10))
		ys = append(ys, tensor.Scalar(int64(i%2)))
	}
	set, err := data.Ragged(xs, ys)
	if err != nil {
		t.Fatal(err)
	}
	var want []map[int]uint64
	for _, fill := range []float64{0, 7} {
		padded, err := data.Pad(set, 6, data.Padding{X: fill})
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range []data.Batches{
			data.Buckets{Data: set, Bounds: []int{2, 5}, Padding: data.Padding{X: fill}, Batch: 3, Shuffle: true},
			data.Loader{Data: padded, Batch: 3, Shuffle: true},
		} {
			c := config(t)
			c.Model, c.Transform, c.Validation, c.ValidationBatches = layers.Sequential{meanOfSteps, layers.Linear{Out: 2}}, nil, nil, b
			r := watched(c, nil, func(c train.Config) (*train.Report, error) { return train.FitBatches(t.Context(), c, b) })
			if r.err != nil {
				t.Fatal(r.err)
			}
			r.losses[-1] = math.Float64bits(r.report.Validation["loss"])
			if fill == 0 {
				want = append(want, r.losses)
			} else if d := cmp.Diff(want[i], r.losses); d != "" {
				t.Errorf("%T: the padding changes the losses: %s", b, d)
			}
		}
	}
}

// TestForgottenMean refuses a loss of each sample, for batches of any size: one of two samples is no MeanOf.
func TestForgottenMean(t *testing.T) {
	for _, size := range []int{2, 3} {
		c := config(t)
		c.Batch, c.Loss = size, func(p, y ops.Value) ops.Value { return p.Max(-1) }
		if r := fit(t.Context(), c, squares(t, samples, 1), nil); r.err == nil || !strings.Contains(r.err.Error(), "want one number, the mean over the samples") {
			t.Errorf("batches of %d: %v", size, r.err)
		}
	}
}
