package contract

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// TestChaos: goroutines with tapes on shared engines count variables up, together, on devices that change; some steps fail, some are cancelled,
// plans are closed, results are read late. Whenever the variables are read together they are equal, and in the end they count the steps that
// succeeded.
func TestChaos(t *testing.T) {
	onEach(t, 2, func(r *rig) {
		vars := make([]*ops.Variable, 3)
		for i := range vars {
			vars[i] = ops.NewVariable(fmt.Sprint("v", i), f64(0))
		}
		engines := []*sched.Engine{r.eng, r.engine()}
		var succeeded atomic.Int64
		var all sync.WaitGroup
		for k := range 6 {
			all.Go(func() {
				c := &chaos{rig: r, Rand: rand.New(rand.NewPCG(uint64(k), 1)), vars: vars, engines: engines, succeeded: &succeeded}
				c.tape = autograd.New(engines[k%2])
				for range 60 {
					c.act()
				}
				for _, res := range c.late {
					c.settle(res)
				}
				if err := c.tape.Wait(ctx); err != nil {
					r.Errorf("an error that nobody had heard of: %v", err)
				}
			})
		}
		all.Wait()
		for _, v := range vars {
			if got := r.value(v)[0]; got != float64(succeeded.Load()) {
				r.Errorf("%s is %v after %d steps that succeeded", v.Name(), got, succeeded.Load())
			}
		}
	})
}

// chaos is one goroutine of TestChaos.
type chaos struct {
	*rig
	*rand.Rand
	tape      *autograd.Tape
	vars      []*ops.Variable
	engines   []*sched.Engine
	succeeded *atomic.Int64
	late      []autograd.Result
}

// act does something.
func (c *chaos) act() {
	switch c.IntN(12) {
	case 0:
		c.engines[c.IntN(2)].Close()
	case 1:
		if _, err := c.vars[c.IntN(3)].Value(ctx); err != nil {
			c.Error(err)
		}
	case 2, 3:
		c.look()
	default:
		c.count()
	}
}

// look reads all variables together.
func (c *chaos) look() {
	var vs []ops.Value
	c.place(func(i int) { vs = append(vs, c.tape.Var(c.vars[i]).Scale(2)) })
	out, err := c.tape.Eval(ctx, vs...)
	c.tape.Discard()
	if err != nil {
		c.Error(err)
		return
	}
	for _, x := range out[1:] {
		if x.At(0) != out[0].At(0) {
			c.Errorf("read together: %v and %v", out[0], x)
		}
	}
}

// place calls f for each variable, each time on some device.
func (c *chaos) place(f func(i int)) {
	for i := range c.vars {
		c.tape.On(c.devs[c.IntN(2)].ID(), func() { f(i) })
	}
}

// count is a step that adds one to each variable.
func (c *chaos) count() {
	fails := c.IntN(4) == 0
	trap := newHook(func(tensor.Tensor) error {
		if fails {
			return errBoom
		}
		return nil
	})
	c.place(func(i int) {
		x := c.tape.Var(c.vars[i]).Shift(1)
		if i == 1 {
			x = ops.Apply(trap, x)
		}
		c.tape.Assign(c.vars[i], x)
	})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.IntN(4) == 0 {
		if c.IntN(2) == 0 {
			cancel()
		} else {
			go cancel()
		}
	}
	res, err := c.tape.Step(ctx, c.tape.Var(c.vars[0]))
	switch {
	case err == nil && c.IntN(3) == 0:
		c.late = append(c.late, res)
	case err == nil:
		c.settle(res)
	default:
		c.expected(err)
	}
	if len(c.late) > 3 {
		c.settle(c.late[0])
		c.late = slices.Delete(c.late, 0, 1)
	}
}

// settle counts a step if it succeeded.
func (c *chaos) settle(res autograd.Result) {
	if err := res.Wait(ctx); err != nil {
		c.expected(err)
	} else {
		c.succeeded.Add(1)
	}
	res.Release()
}

// expected wants the errors that this test makes.
func (c *chaos) expected(err error) {
	if !errors.Is(err, errBoom) && !errors.Is(err, context.Canceled) {
		c.Error(err)
	}
}
