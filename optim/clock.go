package optim

import (
	"context"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// clock counts updates. The device's count is exact: an update that fails or is skipped does not count. The host's, of which schedules are a
// function, counts what was asked for, since asking the device would wait for it.
type clock struct {
	count   *ops.Variable // i64: the updates that have happened
	skipped *ops.Variable // i64: those that a LossScale skipped; nil without one
	made    int           // variables that optimisers with this clock have made

	asked  int64          // count and skipped, as the host knows them while a step is recorded
	tape   *autograd.Tape // where and at which step the last update was recorded
	step   int64
	failed int       // the tape's failures by then
	next   ops.Value // count's next value in that recording
}

func newClock(name string, skipped *ops.Variable) *clock {
	return &clock{count: ops.NewVariable(name, tensor.Scalar[int64](0)), skipped: skipped}
}

const stepName = "optim.step" // what counts the updates of optimisers

// timed is an optimiser that takes the clock of one around it, so that all that update together count together.
type timed interface{ keepTime(c *clock) }

// share gives an optimiser a clock.
func share(o Optimizer, c *clock) {
	if t, ok := o.(timed); ok && !missing(o) {
		t.keepTime(c)
	}
}

// before is the number of updates asked for before the one that is being recorded. The variables tell after they were loaded, before the
// first step, and when a step that had been accepted failed; in between the host counts. A recording that was dropped or refused has not
// moved the tape on and does not count.
func (c *clock) before(t *autograd.Tape) int64 {
	switch {
	case onHost(c.count) || c.tape == t && c.failed != t.Failures():
		c.asked = read(c.count) + read(c.skipped)
	case c.tape != t || c.step != t.StepCount():
		c.asked++
	}
	c.tape, c.step, c.failed = t, t.StepCount(), t.Failures()
	return c.asked
}

// onHost reports whether no device has had a variable since it was made or set.
func onHost(v *ops.Variable) bool {
	if v.Lock(context.Background()) != nil {
		return false
	}
	defer v.Unlock()
	home, err := v.Home()
	return home == nil && err == nil
}

// read is a count. A variable that is lost makes the step fail by itself.
func read(v *ops.Variable) int64 {
	if v == nil {
		return 0
	}
	x, err := v.Value(context.Background())
	if err != nil {
		return 0
	}
	return x.Int(0)
}

// tick records that an update happens, once in a recording.
func (c *clock) tick(t *autograd.Tape) {
	if c.next.Recorder() != t.Recorder() || c.next.Spec() == (tensor.Spec{}) { // none, or of an earlier recording
		c.next = t.Var(c.count).Add(ops.Full(t.Recorder(), c.count.Spec(), 1))
		t.Assign(c.count, c.next)
	}
}

// now is the number of the update that is being recorded, counted from 1, as a float64 on the device.
func (c *clock) now(t *autograd.Tape) ops.Value {
	c.tick(t)
	return c.next.Cast(tensor.F64)
}

// number is a number that changes from step to step, in each type that asks for it.
type number struct{ f64, f32 ops.Value }

// fed is a number that the host computes.
func fed(t *autograd.Tape, name string, x float64) number {
	return number{f64: t.Scalar(name, tensor.F64, x)}
}

// in is the number in the type of v.
func (n *number) in(v ops.Value) ops.Value {
	if v.DType() == tensor.F64 {
		return n.f64
	}
	if n.f32.IsNone() {
		n.f32 = n.f64.Cast(tensor.F32)
	}
	return n.f32
}

// scalar is a float64 constant.
func scalar(t *autograd.Tape, x float64) ops.Value {
	return ops.Full(t.Recorder(), tensor.Spec{DType: tensor.F64}, x)
}
