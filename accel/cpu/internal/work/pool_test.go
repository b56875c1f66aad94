package work_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// task makes a function a Task.
type task func(i int)

func (f task) Do(i int) { f(i) }

// TestOnce checks that each part is done exactly once.
func TestOnce(t *testing.T) {
	for _, threads := range []int{0, 1, 2, 3, 8} {
		p := work.New(threads)
		if p.Threads() != max(threads, 1) {
			t.Errorf("New(%d).Threads() = %d", threads, p.Threads())
		}
		for n := range 70 {
			done := make([]atomic.Int32, n)
			p.Run(n, task(func(i int) { done[i].Add(1) }))
			for i := range done {
				if done[i].Load() != 1 {
					t.Fatalf("%d threads: part %d of %d was done %d times", threads, i, n, done[i].Load())
				}
			}
		}
		p.Close()
	}
}

// TestNested runs tasks that run tasks, three deep, from many goroutines.
func TestNested(t *testing.T) {
	for _, procs := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			p := work.New(4)
			defer p.Close()
			const goroutines, runs = 8, 20
			var parts atomic.Int64
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() {
					for range runs {
						p.Run(5, task(func(int) {
							p.Run(4, task(func(int) {
								p.Run(3, task(func(int) { parts.Add(1) }))
							}))
						}))
					}
				})
			}
			wg.Wait()
			if want := int64(goroutines * runs * 60); parts.Load() != want {
				t.Errorf("%d parts, want %d", parts.Load(), want)
			}
		})
	}
}

// TestManyCallers starts 1024 Runs at once.
func TestManyCallers(t *testing.T) {
	p := work.New(4)
	defer p.Close()
	var parts atomic.Int64
	var wg sync.WaitGroup
	for range 1024 {
		wg.Go(func() {
			for range 10 {
				p.Run(8, task(func(int) { parts.Add(1) }))
			}
		})
	}
	wg.Wait()
	if parts.Load() != 1024*10*8 {
		t.Errorf("%d parts, want %d", parts.Load(), 1024*10*8)
	}
}

// TestAlone checks that Run needs no worker: here, the only one is busy.
func TestAlone(t *testing.T) {
	p := work.New(2)
	defer p.Close()
	busy, release, finished := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
	go func() {
		p.Run(2, task(func(int) { busy <- struct{}{}; <-release }))
		close(finished)
	}()
	<-busy
	<-busy
	n := 0
	p.Run(10, task(func(int) { n++ }))
	if n != 10 {
		t.Errorf("%d parts, want 10", n)
	}
	close(release)
	<-finished
}

// TestTogether checks that the threads do work at the same time: each part waits for all the others.
func TestTogether(t *testing.T) {
	const threads = 4
	p := work.New(threads)
	defer p.Close()
	for range 100 {
		var all sync.WaitGroup
		all.Add(threads)
		p.Run(threads, task(func(int) { all.Done(); all.Wait() }))
	}
}

func TestPanic(t *testing.T) {
	cause := errors.New("bad part")
	for _, threads := range []int{1, 2, 4} {
		p := work.New(threads)
		for bad := range 6 {
			func() {
				defer func() {
					err, ok := recover().(*work.Panic)
					if !ok || !errors.Is(err, cause) || !strings.Contains(string(err.Stack), "TestPanic") {
						t.Errorf("%d threads, part %d: Run panics with %v", threads, bad, err)
					}
				}()
				p.Run(6, task(func(i int) {
					if i == bad {
						p.Run(2, task(func(i int) { panic(cause) })) // a nested Run passes it on
					}
				}))
				t.Error("Run returned")
			}()
		}
		n := 0
		p.Run(1, task(func(int) { n++ }))
		if n != 1 {
			t.Error("the pool does not work after a panic")
		}
		p.Close()
	}
}

func TestGoexit(t *testing.T) {
	p := work.New(1)
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		p.Run(1, task(func(int) { runtime.Goexit() }))
	}()
	if v := <-done; v != nil {
		t.Errorf("the caller itself exits, but Run panicked with %v", v)
	}
}

// TestClosed checks that a closed pool ends its goroutines and still completes a Run.
func TestClosed(t *testing.T) {
	before := runtime.NumGoroutine()
	p := work.New(8)
	p.Close()
	for runtime.NumGoroutine() > before {
		time.Sleep(time.Millisecond) // a worker that never ends fails by the test's time limit
	}
	n := 0
	p.Run(9, task(func(int) { n++ }))
	if n != 9 {
		t.Errorf("%d parts, want 9", n)
	}
}

// count is a Task that allocates nothing.
type count struct{ n atomic.Int64 }

func (c *count) Do(int) { c.n.Add(1) }

// TestAllocs counts the heap objects of all goroutines, which testing.AllocsPerRun would not.
func TestAllocs(t *testing.T) {
	p := work.New(4)
	defer p.Close()
	objects := func() uint64 {
		var m runtime.MemStats // exact, unlike runtime/metrics, which sees what spans were refilled for
		runtime.ReadMemStats(&m)
		return m.Mallocs
	}
	var c count
	for range 100 {
		p.Run(8, &c)
	}
	const runs = 2000
	before := objects()
	for range runs {
		p.Run(8, &c)
	}
	// The runtime itself makes some objects, such as the thread of a processor that wakes.
	if n := objects() - before; n > runs/10 {
		t.Errorf("%d heap objects in %d runs", n, runs)
	}
}

func TestDefaultThreads(t *testing.T) {
	if n := work.DefaultThreads(); n < 1 || n > runtime.NumCPU() {
		t.Errorf("DefaultThreads() = %d on %d processors", n, runtime.NumCPU())
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if n := work.DefaultThreads(); n != 1 {
		t.Errorf("DefaultThreads() = %d at GOMAXPROCS 1", n)
	}
}

func BenchmarkRun(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprint(threads), func(b *testing.B) {
			p := work.New(threads)
			defer p.Close()
			var c count
			for b.Loop() {
				p.Run(2, &c)
			}
		})
	}
}
