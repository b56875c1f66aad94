package train_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// engine is a new engine on the processor.
func engine(t testing.TB, opts ...cpu.Option) *sched.Engine {
	t.Helper()
	dev, err := cpu.Open(opts...)
	if err != nil {
		t.Fatal(err)
	}
	eng, err := sched.New(dev)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		eng.Close()
		dev.Close()
	})
	return eng
}

// squares is n gray images of 8 x 8 noisy pixels, brighter in one of three columns, which is the class.
func squares(t testing.TB, n int, seed uint64) data.Dataset {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	x, y := tensor.New(tensor.SpecOf(tensor.F32, n, 1, 8, 8)), tensor.New(tensor.SpecOf(tensor.I64, n))
	for i := range n {
		class := random.IntN(3)
		y.SetInt(i, int64(class))
		for p := range 64 {
			light := random.Float64()
			if p%8/3 == class {
				light += 0.5
			}
			x.Set(64*i+p, light)
		}
	}
	return tensors(t, x, y)
}

func tensors(t testing.TB, x, y tensor.Tensor) data.Dataset {
	t.Helper()
	d, err := data.Tensors(x, y)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// small is a network with everything that has state or draws random numbers.
var small = layers.Sequential{
	layers.Conv2D{Out: 4, Kernel: 3, Padding: layers.Same}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
	layers.Flatten{}, layers.Dropout{P: 0.3}, layers.Linear{Out: 3},
}

// samples and batch make an epoch of stepsEach steps, whose last is short.
const (
	samples, batch, stepsEach = 26, 8, 4
	epochs, steps             = 3, 3 * stepsEach
)

// config trains small for three epochs on an engine of its own, with augmentation, validation and a rate that changes.
func config(t testing.TB) train.Config { return configOn(t, engine(t)) }

func configOn(t testing.TB, eng *sched.Engine) train.Config {
	return train.Config{
		Engine: eng, Model: small, Loss: ops.CrossEntropy, Optimizer: &optim.AdamW{Schedule: optim.Cosine{LR: 1e-2, Steps: steps}},
		Batch: batch, Epochs: epochs, Seed: 5, Transform: data.FlipHorizontal, Metrics: []train.Metric{train.Accuracy()}, Validation: squares(t, 11, 2),
	}
}

// trace is what a run has told and left.
type trace struct {
	events []train.Event
	losses map[int]uint64 // bits, by step
	ends   map[int]train.Epoch
	report *train.Report
	err    error
}

// fit runs Fit. watch may stop it; nil for nobody.
func fit(ctx context.Context, c train.Config, set data.Dataset, watch func(train.Event)) trace {
	return watched(c, watch, func(c train.Config) (*train.Report, error) { return train.Fit(ctx, c, set) })
}

// watched runs Fit or FitBatches.
func watched(c train.Config, watch func(train.Event), run func(train.Config) (*train.Report, error)) trace {
	r := trace{losses: map[int]uint64{}, ends: map[int]train.Epoch{}}
	c.Observe = func(e train.Event) {
		r.events = append(r.events, e)
		switch e := e.(type) {
		case train.Step:
			r.losses[e.Step] = math.Float64bits(e.Loss)
		case train.Epoch:
			r.ends[e.Epoch] = e
		}
		if watch != nil {
			watch(e)
		}
	}
	r.report, r.err = run(c)
	return r
}

// mustFit is fit that must succeed.
func mustFit(t testing.TB, c train.Config, set data.Dataset) trace {
	t.Helper()
	r := fit(t.Context(), c, set, nil)
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r
}

// stopAt is a context, and a watcher that ends it when a step has happened.
func stopAt(t testing.TB, step int) (context.Context, func(train.Event)) {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, func(e train.Event) {
		if s, ok := e.(train.Step); ok && s.Step == step {
			cancel(errStop)
		}
	}
}

var errStop = errors.New("somebody pulled the plug")

// last is the last event of a type, or its zero value.
func last[E train.Event](events []train.Event) (found E) {
	for _, e := range events {
		if e, ok := e.(E); ok {
			found = e
		}
	}
	return found
}

// sameState compares all variables of two nets, bit for bit.
func sameState(t testing.TB, got, want *layers.Net) {
	t.Helper()
	a, b := got.State(), want.State()
	if len(a) != len(b) {
		t.Fatalf("%d variables, want %d", len(a), len(b))
	}
	for _, v := range b {
		i := slices.IndexFunc(a, func(u *ops.Variable) bool { return u.Name() == v.Name() })
		if i < 0 {
			t.Fatalf("there is no %s", v.Name())
		}
		x, err := a[i].Value(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		y, err := v.Value(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !x.Same(y) {
			t.Errorf("%s is %v, want %v", v.Name(), x, y)
		}
	}
}
