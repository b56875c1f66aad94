package cpu

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/klauspost/cpuid/v2"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// Option is a choice made when a device is opened.
type Option func(*config) error

type config struct {
	id      string
	threads int
	level   isa.Level
}

// Threads sets the number of workers, from 1 to 1024. Without it there is one for each processor that this process may use:
// GOMAXPROCS, the affinity mask and the container's quota are obeyed, and the environment variable CORTADO_THREADS.
func Threads(n int) Option {
	return func(c *config) error {
		if n < 1 || n > maxThreads {
			return fmt.Errorf("cpu: %d threads: want 1 to %d", n, maxThreads)
		}
		c.threads = n
		return nil
	}
}

const maxThreads = 1024

// ID names the device; without it the first that is open is cpu:0, the next cpu:1.
func ID(id string) Option {
	return func(c *config) error { c.id = id; return nil }
}

// Level caps the vector instructions: "generic", "neon", "avx2", "avx512". Without it the best of the processor are used, capped by the
// environment variable CORTADO_ISA.
func Level(name string) Option {
	return func(c *config) error {
		l, err := isa.Parse(name)
		if err != nil {
			return fmt.Errorf("cpu: %w", err)
		}
		for _, have := range isa.Available() {
			if have == l {
				c.level = l
				return nil
			}
		}
		return fmt.Errorf("cpu: this processor has no %s: it has %v", l, isa.Available())
	}
}

// Levels are the names of the levels that this processor has, the best last.
func Levels() []string {
	var names []string
	for _, l := range isa.Available() {
		names = append(names, l.String())
	}
	return names
}

// numbers counts the devices that were opened without an ID.
var numbers atomic.Int64

// Open opens the processor as a device. Several may be open at once, each with workers and memory of its own.
func Open(opts ...Option) (*Device, error) {
	best, err := isa.FromEnv(isa.Detect())
	if err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	threads, err := threadsFromEnv()
	if err != nil {
		return nil, err
	}
	c := config{threads: threads, level: best}
	for _, o := range opts {
		if o == nil {
			continue
		}
		if err := o(&c); err != nil {
			return nil, err
		}
	}
	if c.id == "" {
		c.id = fmt.Sprint("cpu:", numbers.Add(1)-1)
	}
	return &Device{id: c.id, level: c.level, pool: work.New(c.threads), bytes: work.Memory(), spare: map[int][]*block{}, log: slog.New(slog.DiscardHandler)}, nil
}

// Device is the processor. It runs synchronously: a Run that has returned has finished.
type Device struct {
	id    string
	level isa.Level
	pool  *work.Pool
	bytes int64 // of memory; 0 if that is not known
	log   *slog.Logger

	mu     sync.Mutex // one run at a time
	closed bool
	arena  []byte // scratch of all programs, as large as the largest needs

	memory sync.Mutex // guards spare
	spare  map[int][]*block
}

// ID names the device.
func (d *Device) ID() string { return d.id }

// Info describes the processor.
func (d *Device) Info() accel.Info {
	return accel.Info{Name: cpuid.CPU.BrandName, ISA: d.level.String(), Threads: d.pool.Threads(), Memory: d.bytes}
}

// RunsReference marks that a node without a kernel can run here by its reference.
func (d *Device) RunsReference() {}

// Close ends the workers. Programs and buffers of the device answer accel.ErrClosed afterwards.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	d.pool.Close()
	d.arena = nil
	d.memory.Lock()
	clear(d.spare)
	d.memory.Unlock()
	return nil
}
