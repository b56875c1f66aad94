package sched

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/internal/background"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// maxPlans bounds the compile cache; the least recently used plan goes first.
const maxPlans = 256

// Stats counts since the engine was made. Compiles stands still after warm-up.
type Stats struct {
	Compiles  int // graphs compiled
	Runs      int // graphs run
	Transfers int // values copied between devices
	Moves     int // variables that changed their home
	Fallbacks int // nodes compiled to run by their reference
}

// Engine runs graphs on devices; the first is the default. It is safe for concurrent use: runs of one engine follow each other.
type Engine struct {
	// Log tells of recompiles and fallbacks; New sets one that discards.
	Log *slog.Logger
	// NoFallback refuses a plan in which a device would run an operation of package ops by its reference. A user's operation without
	// a kernel still runs: its reference is all there is.
	NoFallback bool

	lock  chan struct{} // a step of several pieces holds it for long, so waiting obeys ctx
	devs  []accel.Device
	plans map[uint64][]*Plan
	count int    // of plans
	clock uint64 // orders uses of plans
	stats Stats
	hash  func(*canon) uint64 // tests force collisions
}

// New makes an engine on devices with distinct IDs. The caller closes them after the engine's last run.
func New(devs ...accel.Device) (*Engine, error) {
	if len(devs) == 0 {
		return nil, errors.New("sched: an engine needs a device")
	}
	seen := map[string]bool{}
	for i, d := range devs {
		if d == nil {
			return nil, fmt.Errorf("sched: device %d is nil", i)
		}
		if seen[d.ID()] {
			return nil, fmt.Errorf("sched: two devices are called %s", d.ID())
		}
		seen[d.ID()] = true
	}
	return &Engine{
		Log: slog.New(slog.DiscardHandler), devs: slices.Clone(devs), plans: map[uint64][]*Plan{},
		lock: make(chan struct{}, 1), hash: (*canon).hash,
	}, nil
}

// Devices are the engine's devices; the first is the default.
func (e *Engine) Devices() []accel.Device { return append([]accel.Device(nil), e.devs...) }

// Stats is a snapshot.
func (e *Engine) Stats() (s Stats) {
	e.locked(func() { s = e.stats })
	return s
}

// locked calls f while no graph runs. The zero Engine, which New has not made, has nothing to ask.
func (e *Engine) locked(f func()) {
	if e.lock == nil {
		return
	}
	e.lock <- struct{}{}
	defer func() { <-e.lock }()
	f()
}

// device is the number of the device with an ID; the default for none.
func (e *Engine) device(id string) (int, error) {
	if id == "" {
		return 0, nil
	}
	for i, d := range e.devs {
		if d.ID() == id {
			return i, nil
		}
	}
	var have []string
	for _, d := range e.devs {
		have = append(have, d.ID())
	}
	return 0, fmt.Errorf("sched: no device %q: the engine has %q", id, have)
}

// binding is what one recorded graph adds to a shared plan. The graph keeps it.
type binding struct {
	*Plan
	e       *Engine
	vars    []*ops.Variable // per parameter
	feeds   []int           // per parameter
	origin  []*ops.Node     // per canonical node: call sites of *this* recording
	locks   []*ops.Variable // in order of ID
	explain func(error) error
	last    *piece // the piece that an error comes from
}

// bind finds or makes the plan of g.
func (e *Engine) bind(ctx context.Context, g *ops.Graph) (*binding, error) {
	e.clock++
	if b, ok := g.Bound.(*binding); ok && b.e == e && !b.evicted {
		b.used = e.clock
		return b, nil
	}
	c, b, err := canonical(g, e.device)
	if err != nil {
		return nil, err
	}
	b.e, b.explain = e, b.place
	h := e.hash(c)
	for _, p := range e.plans[h] {
		if p.canon.equal(c) {
			b.Plan = p
		}
	}
	if b.Plan == nil {
		why := e.differs(b, c)
		if b.Plan, err = e.compile(ctx, c); err != nil {
			var ne *accel.NodeError
			if errors.As(err, &ne) && ne.Node < len(b.origin) {
				err = b.origin[ne.Node].Place(ne.Err)
			}
			return nil, err
		}
		b.places = placesOf(b.origin)
		if why != "" {
			e.Log.Info("sched: compiled again", "differs", why)
		}
		e.remember(h, b.Plan)
	}
	b.used = e.clock
	if len(b.pieces) == 1 {
		b.last = b.pieces[0]
	}
	g.Bound = b
	return b, nil
}

// remember adds a plan to the cache, and evicts the least recently used one when it is full.
func (e *Engine) remember(h uint64, p *Plan) {
	if e.count == maxPlans {
		var oldest *Plan
		var at uint64
		for k, list := range e.plans {
			for _, q := range list {
				if oldest == nil || q.used < oldest.used {
					oldest, at = q, k
				}
			}
		}
		e.plans[at] = slices.DeleteFunc(e.plans[at], func(q *Plan) bool { return q == oldest })
		if len(e.plans[at]) == 0 {
			delete(e.plans, at)
		}
		oldest.close()
		e.count--
	}
	e.count++
	e.plans[h] = append(e.plans[h], p)
}

// Close closes the compiled programs. Devices stay open: they are the caller's.
func (e *Engine) Close() error {
	var errs []error
	e.locked(func() {
		for _, list := range e.plans {
			for _, p := range list {
				errs = append(errs, p.close())
			}
		}
		clear(e.plans)
		e.count = 0
	})
	return errors.Join(errs...)
}

// Run runs g once; it satisfies autograd.Runner. With one piece it returns when the work is enqueued, and a later error is in res.Done;
// with several it returns when all is over. On an error no variable has changed, unless the error is ops.ErrStateLost.
func (e *Engine) Run(ctx context.Context, g *ops.Graph, feeds []tensor.Tensor, rng tensor.Tensor, res *ops.Results) error {
	ctx = background.Or(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch {
	case e.lock == nil:
		return errors.New("sched: the zero Engine has no device: use New")
	case g == nil || res == nil:
		return errors.New("sched: there is no graph to run, or nowhere to put its results")
	}
	if err := ops.Acquire(ctx, e.lock); err != nil {
		return err
	}
	defer func() { <-e.lock }()
	b, err := e.bind(ctx, g)
	if err != nil {
		return err
	}
	if len(b.feeds) > 0 && slices.Max(b.feeds) >= len(feeds) {
		return fmt.Errorf("sched: the graph has more inputs than the %d that it is given", len(feeds))
	}
	e.stats.Runs++
	held := 0
	defer func() {
		for _, v := range b.locks[:held] {
			v.Unlock()
		}
	}()
	for _, v := range b.locks {
		if err := v.Lock(ctx); err != nil {
			return err
		}
		held++
	}
	r := run{Engine: e, binding: b, feeds: feeds, rng: rng, res: res}
	r.prepare()
	if len(b.pieces) == 1 {
		return r.one(ctx)
	}
	return r.several(ctx)
}
