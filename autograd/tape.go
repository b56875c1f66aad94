package autograd

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/cortado-ml/cortado/internal/background"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Runner runs a graph; sched.Engine is one. It has read feeds and rng when it returns, and leaves its results in res.
type Runner interface {
	Run(ctx context.Context, g *ops.Graph, feeds []tensor.Tensor, rng tensor.Tensor, res *ops.Results) error
}

// RunAhead is how many steps may be unfinished: Step k first settles step k-RunAhead and reports its error if nobody has.
const RunAhead = 2

// Tape records steps. One goroutine at a time; Results may be read from others.
type Tape struct {
	r       *ops.Recorder
	run     Runner
	step    int64
	rng     tensor.Tensor
	scalars []tensor.Tensor // storage of this recording's scalars, re-used
	nscalar int

	watching bool // a watch function runs

	mu   sync.Mutex
	free []*slot
	ring [RunAhead]*slot // the steps that may be unfinished
	turn int             // the place of the next step in the ring
	lost int             // accepted runs that are known to have failed
}

// Option is a choice made when a tape is made.
type Option func(*Tape)

// Seed sets the seed of all random operations; 0 without it.
func Seed(seed int64) Option { return func(t *Tape) { t.rng.SetInt(0, seed) } }

// New makes a tape whose steps run runs. Without a runner, nil, a tape only records: shapes and errors are known, and Step refuses.
func New(run Runner, opts ...Option) *Tape {
	t := &Tape{r: ops.NewRecorder(), run: run, rng: tensor.New(ops.RNGSpec)}
	for _, o := range opts {
		if o != nil {
			o(t)
		}
	}
	return t
}

// InputOption says more of an input.
type InputOption struct{ batch int }

// BatchAxis says which axis of an input counts samples: data parallelism cuts there.
func BatchAxis(axis int) InputOption { return InputOption{axis} }

// Input records an input and its value for this step; x is read before Eval or Step returns. A name is used once in a step.
func (t *Tape) Input(name string, x tensor.Tensor, opts ...InputOption) ops.Value {
	batch := -1
	for _, o := range opts {
		batch = o.batch
	}
	return t.r.Input(name, x, batch)
}

// Scalar records a number of rank 0 that may change from step to step, such as a learning rate: a feed, never part of the cache key.
func (t *Tape) Scalar(name string, dt tensor.DType, x float64) ops.Value {
	spec := tensor.Spec{DType: dt}
	if spec.Check() != nil {
		return t.r.Scalar(name, tensor.Tensor{}) // which fails, and says so
	}
	for t.nscalar < len(t.scalars) && t.scalars[t.nscalar].DType() != dt {
		t.scalars = append(t.scalars[:t.nscalar], t.scalars[t.nscalar+1:]...)
	}
	if t.nscalar == len(t.scalars) {
		t.scalars = append(t.scalars, tensor.New(spec))
	}
	s := t.scalars[t.nscalar]
	t.nscalar++
	s.Set(0, x)
	return t.r.Scalar(name, s)
}

// Var is v's latest value in this recording: what the variable holds, or what was assigned since.
func (t *Tape) Var(v *ops.Variable) ops.Value { return t.r.Var(v) }

// Assign makes x v's next value, when the Step succeeds.
func (t *Tape) Assign(v *ops.Variable, x ops.Value) { t.r.Assign(v, x) }

// Grad gives the gradients of a loss of one element. The slice is the tape's until the next Step. There is no error result: a poisoned
// recording tells at Eval or Step. A variable that the loss does not depend on has gradient zero; one that it depends on through
// integers only is an error that names the cut.
func (t *Tape) Grad(loss ops.Value, wrt ...ops.Value) []ops.Value {
	return t.r.Grad(loss, ops.Value{}, wrt...)
}

// VJP gives the vector-Jacobian products of y: the gradients of the sum of y*dy. dy has y's spec.
func (t *Tape) VJP(y, dy ops.Value, wrt ...ops.Value) []ops.Value { return t.r.VJP(y, dy, wrt...) }

// On pins what f records to a device.
func (t *Tape) On(device string, f func()) { t.r.On(device, f) }

// Scope names what f records, in errors, plans and random streams.
func (t *Tape) Scope(name string, f func()) { t.r.Scope(name, f) }

// Checkpoint recomputes in the backward pass what f records, instead of keeping it.
func (t *Tape) Checkpoint(f func() ops.Value) (v ops.Value) {
	if f == nil {
		t.r.Segment(nil) // which fails, and says so
		return v
	}
	t.r.Segment(func() { v = f() })
	return v
}

// Watch calls f with x's value before the Step returns, on the caller's goroutine, if the Step succeeds. f may not call Step.
func (t *Tape) Watch(x ops.Value, f func(tensor.Tensor)) { t.r.Watch(x, f) }

// Recorder is the recording head, for builders without inputs.
func (t *Tape) Recorder() *ops.Recorder { return t.r }

// Err is the first error of this recording.
func (t *Tape) Err() error { return t.r.Err() }

// Len is the number of nodes recorded so far in this step.
func (t *Tape) Len() int { return t.r.Len() }

// Misses counts nodes that were not replayed since the tape was made.
func (t *Tape) Misses() int { return t.r.Misses() }

// StepCount is the number of the step being recorded, from 0. It is an input of random operations.
func (t *Tape) StepCount() int64 { return t.step }

// Failures counts the accepted runs that are known to have failed so far. Whoever counts steps on the host asks the device again when it
// grows.
func (t *Tape) Failures() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// SetStep continues at another step, as after loading a checkpoint.
func (t *Tape) SetStep(step int64) { t.step = step }

// Discard drops the recording without running it.
func (t *Tape) Discard() {
	t.r.Begin()
	t.nscalar = 0
}

// execute runs the recording with vs as results.
func (t *Tape) execute(ctx context.Context, step bool, vs []ops.Value) (*slot, error) {
	g, err := t.r.Graph(step, vs...)
	if err != nil {
		return nil, &StepError{t.step, err}
	}
	if t.run == nil {
		return nil, &StepError{t.step, fmt.Errorf("%w: the tape has no engine to run on: autograd.New(engine)", ops.ErrMisuse)}
	}
	t.rng.SetInt(1, t.step)
	s := t.get()
	if err := t.run.Run(ctx, g, t.r.Feeds(), t.rng, s.res); err != nil {
		t.put(s)
		return nil, &StepError{t.step, err}
	}
	return s, nil
}

// Eval computes vs: no assignment, no watch, no step advance. The recording goes on, so a Step may follow.
func (t *Tape) Eval(ctx context.Context, vs ...ops.Value) ([]tensor.Tensor, error) {
	ctx = background.Or(ctx)
	s, err := t.execute(ctx, false, vs)
	if err != nil {
		return nil, err
	}
	defer t.put(s)
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	out := make([]tensor.Tensor, len(vs))
	for i, b := range s.res.Bufs {
		out[i] = tensor.New(b.Spec())
		if err := b.Download(ctx, out[i]); err != nil {
			return nil, fmt.Errorf("autograd: %w", err)
		}
	}
	return out, nil
}

// Step runs the recording with its effects and starts the next recording, whatever happens. The step number advances if the run was
// accepted. An error that is found while the step runs, an index out of range say, may come later: from the Result when it is read, and at
// the latest from the Step RunAhead later. After the last step [Tape.Wait] asks for what is outstanding.
func (t *Tape) Step(ctx context.Context, vs ...ops.Value) (Result, error) {
	if t.watching {
		return Result{}, &StepError{t.step, fmt.Errorf("%w: a Step within a function that watches the step before", ops.ErrMisuse)}
	}
	ctx = background.Or(ctx)
	defer t.Discard()
	if err := t.settle(ctx, t.turn); err != nil {
		return Result{}, err
	}
	s, err := t.execute(ctx, true, vs)
	if err != nil {
		return Result{}, err
	}
	t.mu.Lock()
	s.refs++ // the ring's
	t.ring[t.turn] = s
	gen := s.gen
	t.mu.Unlock()
	t.step, t.turn = t.step+1, (t.turn+1)%RunAhead
	if err := t.watch(ctx, s); err != nil {
		t.put(s)
		return Result{}, err
	}
	return Result{s, gen, len(vs)}, nil
}

// watch calls the step's watch functions once it has succeeded.
func (t *Tape) watch(ctx context.Context, s *slot) error {
	if len(t.r.Watches()) == 0 {
		return nil
	}
	watches := slices.Clone(t.r.Watches()) // one of them may discard the recording
	t.watching = true
	defer func() { t.watching = false }()
	if err := s.wait(ctx); err != nil {
		return err
	}
	first := len(s.res.Bufs) - len(watches)
	for i, f := range watches {
		b := s.res.Bufs[first+i]
		x := tensor.New(b.Spec())
		if err := b.Download(ctx, x); err != nil {
			return fmt.Errorf("autograd: watch: %w", err)
		}
		f(x)
	}
	return nil
}

// settle waits for the step in place i of the ring, and returns its error if nobody was told.
func (t *Tape) settle(ctx context.Context, i int) error {
	s := t.ring[i]
	if s == nil {
		return nil
	}
	t.mu.Lock()
	seen := s.seen
	t.mu.Unlock()
	err := s.wait(ctx)
	if ctx.Err() != nil && !s.res.Done.Finished() {
		return err
	}
	t.ring[i] = nil
	t.put(s)
	if seen {
		return nil
	}
	return err
}

// Wait settles all steps and returns the first error that nobody has seen.
func (t *Tape) Wait(ctx context.Context) (err error) {
	ctx = background.Or(ctx)
	for i := range RunAhead {
		if e := t.settle(ctx, (t.turn+i)%RunAhead); err == nil {
			err = e
		}
	}
	return err
}
