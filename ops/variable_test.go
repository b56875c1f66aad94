package ops

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// memory is storage that counts what is not freed.
type memory struct {
	x     tensor.Tensor
	fails error
	freed atomic.Int32
	live  *atomic.Int32
}

func (m *memory) Spec() tensor.Spec          { return m.x.Spec() }
func (m *memory) Wait(context.Context) error { return m.fails }
func (m *memory) Free()                      { m.freed.Add(1); m.live.Add(-1) }
func (m *memory) Download(_ context.Context, t tensor.Tensor) error {
	t.CopyFrom(m.x)
	return m.fails
}

func store(live *atomic.Int32, x ...float64) *memory {
	live.Add(1)
	return &memory{x: farr(d(len(x)), x...), live: live}
}

// read is the variable's value.
func read(t *testing.T, v *Variable) tensor.Tensor {
	t.Helper()
	x, err := v.Value(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestVariable: it copies what it is given and what it gives; Set refuses another spec by name.
func TestVariable(t *testing.T) {
	x := farr(d(2), 1, 2)
	v := NewVariable("w", x)
	x.Set(0, 9)
	check(t, "a copy", read(t, v), 1, 2)
	read(t, v).Set(0, 9)
	check(t, "a copy", read(t, v), 1, 2)
	y := farr(d(2), 3, 4)
	if err := v.Set(t.Context(), y); err != nil {
		t.Fatal(err)
	}
	y.Set(0, 9)
	check(t, "set", read(t, v), 3, 4)
	var shape *tensor.ShapeError
	if err := v.Set(t.Context(), farr(d(1), 1)); !errors.As(err, &shape) {
		t.Errorf("%v", err)
	} else {
		fails(t, err, nil, "ops: variable w", "f64[2]", "f64[1]")
	}
	if v.Name() != "w" || v.Spec() != tensor.SpecOf(tensor.F64, 2) || v.ID() >= NewVariable("w", x).ID() {
		t.Error(v.Name(), v.Spec(), v.ID())
	}
}

// TestVariableHomes: one home, copies of the present version only, and every storage is freed once.
func TestVariableHomes(t *testing.T) {
	var live atomic.Int32
	v := NewVariable("w", farr(d(1), 1))
	a, b := store(&live, 2), store(&live, 3)
	v.Move(a)
	check(t, "home", read(t, v), 2)
	if !v.Host().IsNone() {
		t.Error("the host keeps the value beside its home")
	}
	v.Move(b)
	if a.freed.Load() != 1 || b.freed.Load() != 0 {
		t.Error("the old home is freed, the new is not")
	}
	all := func(Storage) bool { return true }
	c := store(&live, 3)
	v.AddCopy(c)
	if v.Copy(all) != c || v.Copy(func(Storage) bool { return false }) != nil {
		t.Error("a copy of this version is found where asked")
	}
	v.Touch()
	if v.Copy(all) != nil {
		t.Error("a copy of an old version is not found")
	}
	e := store(&live, 4)
	v.AddCopy(e)
	if c.freed.Load() != 1 || v.Copy(all) != e {
		t.Error("an old copy is freed when a new one comes")
	}
	v.Lose(ErrStateLost)
	if _, err := v.Value(t.Context()); !errors.Is(err, ErrStateLost) {
		t.Errorf("%v", err)
	} else {
		fails(t, err, ErrStateLost, "ops: variable w")
	}
	if _, err := v.Home(); !errors.Is(err, ErrStateLost) {
		t.Errorf("%v", err)
	}
	if err := v.Set(t.Context(), farr(d(1), 5)); err != nil {
		t.Fatal(err)
	}
	check(t, "healed", read(t, v), 5)
	if home, err := v.Home(); home != nil || err != nil || live.Load() != 0 || v.Copy(all) != nil {
		t.Errorf("home %v, %v, %d live", home, err, live.Load())
	}
	broken := store(&live, 6)
	broken.fails = errUser
	v.Move(broken)
	if _, err := v.Value(t.Context()); !errors.Is(err, errUser) {
		t.Errorf("%v", err)
	}
}

// TestVariableLock: waiting obeys the context, and readers see whole values.
func TestVariableLock(t *testing.T) {
	v := NewVariable("w", farr(d(2), 0, 0))
	if err := v.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errUser)
	if _, err := v.Value(ctx); !errors.Is(err, errUser) {
		t.Errorf("%v", err)
	}
	if err := v.Set(ctx, farr(d(2), 1, 1)); !errors.Is(err, errUser) {
		t.Errorf("%v", err)
	}
	v.Unlock()
	check(t, "untouched", read(t, v), 0, 0)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				if err := v.Set(t.Context(), farr(d(2), float64(i), float64(i))); err != nil {
					t.Error(err)
				}
				if x, err := v.Value(t.Context()); err != nil || x.At(0) != x.At(1) {
					t.Errorf("%v, %v", x, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestVariableCleanup: a variable that nobody holds frees its storage.
func TestVariableCleanup(t *testing.T) {
	var live atomic.Int32
	func() {
		v := NewVariable("w", farr(d(1), 1))
		v.Move(store(&live, 2))
		v.AddCopy(store(&live, 2))
	}()
	for range 1000 { // the cleanup runs on a goroutine of the runtime's own
		runtime.GC()
		if live.Load() == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d storages live", live.Load())
}

// TestEvent: an event ends once per Reset, for every waiter, with its own error.
func TestEvent(t *testing.T) {
	var e Event
	if !e.Finished() || e.Wait(t.Context()) != nil {
		t.Error("a new event is over")
	}
	e.Reset()
	if e.Finished() {
		t.Error("a reset event is not over")
	}
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errUser)
	if err := e.Wait(cancelled); !errors.Is(err, errUser) || e.Finished() {
		t.Errorf("%v: cancelling abandons the wait only", err)
	}
	var wg sync.WaitGroup
	var waiting sync.WaitGroup
	for range 5 {
		waiting.Add(1)
		wg.Go(func() {
			waiting.Done()
			if err := e.Wait(t.Context()); err != errUser {
				t.Errorf("%v", err)
			}
		})
	}
	waiting.Wait()
	e.Finish(errUser)
	wg.Wait()
	if err := e.Wait(cancelled); err != errUser {
		t.Errorf("%v: what is over is told, whatever the context", err)
	}
	e.Reset()
	e.Finish(nil)
	if err := e.Wait(t.Context()); err != nil {
		t.Errorf("%v: an old error after Reset", err)
	}
	n := testing.AllocsPerRun(100, func() {
		e.Reset()
		e.Finish(nil)
		if e.Wait(context.Background()) != nil {
			t.Fail()
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for a wait that does not block", n)
	}
}

// TestEventLateWaiter: a waiter that wakes after the next Reset still gets the error of its own run.
func TestEventLateWaiter(t *testing.T) {
	var e Event
	for i := range 200 {
		e.Reset()
		want := error(nil)
		if i%2 == 0 {
			want = errUser
		}
		got := make(chan error)
		ready := make(chan bool)
		go func() {
			close(ready)
			got <- e.Wait(t.Context())
		}()
		<-ready
		for e.blocked() == nil {
			runtime.Gosched()
		}
		e.Finish(want)
		e.Reset() // the waiter has not been scheduled yet, perhaps
		if err := <-got; err != want {
			t.Fatalf("round %d: %v, want %v", i, err, want)
		}
		e.Finish(nil)
	}
}

func (e *Event) blocked() *waiter {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.w
}

// TestIndexError: the words name index and limit.
func TestIndexError(t *testing.T) {
	if err := CheckIndex(2, 3); err != nil {
		t.Error(err)
	}
	for _, i := range []int64{-1, 3, math.MinInt64, math.MaxInt64} {
		var e *IndexError
		if err := CheckIndex(i, 3); !errors.As(err, &e) || e.Index != i || e.Limit != 3 {
			t.Errorf("%v", err)
		}
	}
	if CheckIndex(0, 0) == nil {
		t.Error("an empty axis has no index")
	}
}
