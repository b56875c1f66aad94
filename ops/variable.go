package ops

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/cortado-ml/cortado/internal/background"
	"github.com/cortado-ml/cortado/tensor"
)

// Storage is where a value lives; accel.Buffer satisfies it.
type Storage interface {
	Spec() tensor.Spec
	Wait(ctx context.Context) error
	Download(ctx context.Context, t tensor.Tensor) error
	Free()
}

// variables counts the ones made: their order is the order of locking.
var variables atomic.Uint64

// Variable is state that outlives a step: a parameter, a moment of an optimiser, a running mean. It knows its places itself: one home,
// where it is assigned, and copies of a version elsewhere. Engines that share it need not know of each other, and nothing but the
// program's own references keeps it alive. It is safe for concurrent use.
type Variable struct {
	name string
	id   uint64
	spec tensor.Spec
	lock chan struct{}
	p    *places // apart, for the cleanup
}

type places struct {
	host   tensor.Tensor // the value while home is nil
	home   Storage
	copies []copied
	ver    uint64 // counts the assignments enqueued
	lost   error
}

type copied struct {
	at  Storage
	ver uint64
}

func (p *places) free() {
	if p.home != nil {
		p.home.Free()
	}
	for _, c := range p.copies {
		c.at.Free()
	}
	p.home, p.copies = nil, nil
}

// NewVariable makes a variable that holds a copy of x. The name is for errors and checkpoints.
func NewVariable(name string, x tensor.Tensor) *Variable {
	v := &Variable{name: name, id: variables.Add(1), spec: x.Spec(), lock: make(chan struct{}, 1), p: &places{host: x.Clone()}}
	runtime.AddCleanup(v, (*places).free, v.p)
	return v
}

// Name is the variable's name.
func (v *Variable) Name() string { return v.name }

// Spec is fixed for ever.
func (v *Variable) Spec() tensor.Spec { return v.spec }

// String is the name and the spec; [Variable.Value] reads the elements.
func (v *Variable) String() string { return fmt.Sprintf("%s %v", v.name, v.spec) }

// Value reads the variable, after all steps enqueued so far.
func (v *Variable) Value(ctx context.Context) (tensor.Tensor, error) {
	if err := v.Lock(ctx); err != nil {
		return tensor.Tensor{}, err
	}
	defer v.Unlock()
	if v.p.lost != nil {
		return tensor.Tensor{}, fmt.Errorf("ops: variable %s: %w", v.name, v.p.lost)
	}
	if v.p.home == nil {
		return v.p.host.Clone(), nil
	}
	t := tensor.New(v.spec)
	if err := v.p.home.Download(background.Or(ctx), t); err != nil {
		return tensor.Tensor{}, fmt.Errorf("ops: variable %s: %w", v.name, err)
	}
	return t, nil
}

// Set writes the variable from the host and heals a lost one.
func (v *Variable) Set(ctx context.Context, x tensor.Tensor) error {
	if err := v.made(); err != nil {
		return err
	}
	if x.Spec() != v.spec {
		return fmt.Errorf("ops: variable %s: %w", v.name, &tensor.ShapeError{Msg: fmt.Sprintf("it is %v and cannot hold the value", v.spec), In: []tensor.Spec{x.Spec()}})
	}
	if err := v.Lock(ctx); err != nil {
		return err
	}
	defer v.Unlock()
	v.p.free()
	v.p.lost, v.p.host = nil, x.Clone()
	v.p.ver++
	return nil
}

// What follows is for engines.

// ID orders variables for locking.
func (v *Variable) ID() uint64 { return v.id }

// Lock takes the variable for a step, which may hold it for long: waiting obeys ctx. The methods below are called under it.
func (v *Variable) Lock(ctx context.Context) error {
	if err := v.made(); err != nil {
		return err
	}
	return Acquire(ctx, v.lock)
}

// made refuses nil and the zero Variable, whose lock nobody can take.
func (v *Variable) made() error {
	if v == nil || v.lock == nil {
		return fmt.Errorf("ops: %w: a variable that NewVariable has not made", ErrMisuse)
	}
	return nil
}

// Unlock ends Lock.
func (v *Variable) Unlock() { <-v.lock }

// Acquire takes a lock that is a channel of capacity one.
func Acquire(ctx context.Context, lock chan struct{}) error {
	select {
	case lock <- struct{}{}:
		return nil
	default:
	}
	select {
	case lock <- struct{}{}:
		return nil
	case <-background.Or(ctx).Done():
		return context.Cause(ctx)
	}
}

// Home is where the value lives, nil for the host, or why it is lost.
func (v *Variable) Home() (Storage, error) { return v.p.home, v.p.lost }

// Host is the value while Home is nil.
func (v *Variable) Host() tensor.Tensor { return v.p.host }

// Move records a new home; the old one is freed.
func (v *Variable) Move(s Storage) {
	if v.p.home != nil {
		v.p.home.Free()
	}
	v.p.home, v.p.host = s, tensor.Tensor{}
}

// Copy finds a copy of the present version.
func (v *Variable) Copy(at func(Storage) bool) Storage {
	for _, c := range v.p.copies {
		if at(c.at) && c.ver == v.p.ver {
			return c.at
		}
	}
	return nil
}

// AddCopy records a copy of the present version; older copies are freed.
func (v *Variable) AddCopy(s Storage) {
	keep := v.p.copies[:0]
	for _, c := range v.p.copies {
		if c.ver == v.p.ver {
			keep = append(keep, c)
		} else {
			c.at.Free()
		}
	}
	v.p.copies = append(keep, copied{s, v.p.ver})
}

// Touch makes copies old: a step that assigns v is enqueued.
func (v *Variable) Touch() { v.p.ver++ }

// Lose marks the value as gone until Set.
func (v *Variable) Lose(err error) { v.p.lost = err }
