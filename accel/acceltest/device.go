package acceltest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/tensor"
)

// Device is a device for tests: [Reference] or [Hostile]. Beside the contract it counts what it is asked to do, fails on demand, and
// keeps a list of the rules that its caller broke.
type Device struct {
	id      string
	hostile bool
	refused []string // names of operations without a kernel
	queue   *queue

	compiles, runs, uploads, live atomic.Int64

	mu         sync.Mutex
	failRun    injected
	rejectRun  injected
	failUpload injected
	faults     []string
}

// injected is an error that comes at the n-th occasion from now.
type injected struct {
	n   int
	err error
}

// next is the error that this occasion gets, if any.
func (f *injected) next() error {
	if f.n > 0 {
		if f.n--; f.n == 0 {
			return f.err
		}
	}
	return nil
}

// Option is a choice made when a device is opened.
type Option func(*Device)

// Refuse names operations that the device has no kernel for. It still runs them by reference where a node says so.
func Refuse(ops ...string) Option {
	return func(d *Device) { d.refused = append(d.refused, ops...) }
}

// Reference opens a device that runs every operation by its reference, on the caller's goroutine: when Run returns, all is over. Donated
// memory is written in place.
func Reference(id string, opts ...Option) *Device { return open(id, false, opts) }

// Hostile opens a device that gives nothing for free. It works later, on a goroutine of its own; an error is in the event, never in what
// Run returns. New memory is full of NaN, or of numbers that are no index; so is memory that was freed, that was donated, or whose value
// is no longer needed. A donated value moves, so that who kept the old place reads NaN.
func Hostile(id string, opts ...Option) *Device { return open(id, true, opts) }

func open(id string, hostile bool, opts []Option) *Device {
	d := &Device{id: id, hostile: hostile, queue: newQueue(!hostile)}
	for _, o := range opts {
		if o != nil {
			o(d)
		}
	}
	return d
}

// ID names the device.
func (d *Device) ID() string { return d.id }

// Info says that this is no hardware.
func (d *Device) Info() accel.Info {
	if d.hostile {
		return accel.Info{Name: "hostile test device", Simulated: true}
	}
	return accel.Info{Name: "reference test device", Simulated: true}
}

// RunsReference marks the device as one that can run any node by its reference.
func (d *Device) RunsReference() {}

// Supports accepts all operations but those of Refuse.
func (d *Device) Supports(n *accel.Node) error {
	if n.Op != nil && !n.Ref && slices.Contains(d.refused, n.Op.Name()) {
		return fmt.Errorf("%w: %s: %s was told to refuse it", accel.ErrUnsupported, n.Op.Name(), d.id)
	}
	return nil
}

// Upload copies t.
func (d *Device) Upload(ctx context.Context, t tensor.Tensor) (accel.Buffer, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if t.IsNone() {
		return nil, d.fault("an upload of no tensor")
	}
	d.mu.Lock()
	err := d.failUpload.next()
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	b := d.buffer(t.Spec())
	copied := t.Clone()
	if err := d.queue.add(task{do: func() { b.mem = copied }}); err != nil {
		d.live.Add(-1)
		return nil, err
	}
	d.uploads.Add(1)
	return b, nil
}

// Close ends the work in flight. It may be called twice.
func (d *Device) Close() error {
	d.queue.close()
	return nil
}

// FailRun lets the n-th run from now (1 is the next) fail with err, after its last node and before it writes anything donated. It
// replaces an earlier FailRun.
func (d *Device) FailRun(n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failRun = injected{n, err}
}

// RejectRun lets Run itself answer err at the n-th call from now, with nothing enqueued. It replaces an earlier RejectRun.
func (d *Device) RejectRun(n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rejectRun = injected{n, err}
}

// FailUpload lets the n-th upload from now fail with err. It replaces an earlier FailUpload.
func (d *Device) FailUpload(n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failUpload = injected{n, err}
}

// Pause stops the clock of a hostile device: no run starts until Advance or Resume, and what comes behind a run waits for it. A test
// says in this way what is unfinished, instead of sleeping and hoping.
func (d *Device) Pause() { d.queue.allow(0) }

// Advance lets n more runs start on a paused device.
func (d *Device) Advance(n int) { d.queue.permit(n) }

// Resume ends a pause.
func (d *Device) Resume() { d.queue.allow(-1) }

// Compiles is the number of programs made.
func (d *Device) Compiles() int64 { return d.compiles.Load() }

// Runs is the number of runs accepted.
func (d *Device) Runs() int64 { return d.runs.Load() }

// Uploads is the number of buffers made from host memory.
func (d *Device) Uploads() int64 { return d.uploads.Load() }

// Live is the number of buffers that nobody has freed.
func (d *Device) Live() int64 { return d.live.Load() }

// Faults are the rules of the contract that the caller broke, in words: memory used after Free, a buffer freed twice, an argument of
// another device, a graph whose edges or specs do not fit. It is empty for a caller that keeps them.
func (d *Device) Faults() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.faults)
}

// fault notes a broken rule and returns it as an error.
func (d *Device) fault(format string, a ...any) error {
	err := fmt.Errorf("acceltest: broken contract: "+format, a...)
	d.mu.Lock()
	d.faults = append(d.faults, err.Error())
	d.mu.Unlock()
	return err
}
