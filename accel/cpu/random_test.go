package cpu_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	programs = flag.Int("programs", 300, "random programs in float32; of each other kind a third")
	first    = flag.Uint64("first", 0, "seed of the first random program")
)

// TestRandomPrograms compiles random programs at every level and compares each value with that of the references of its operations. Programs of
// small integers are compared exactly: they come out alike in whatever order they are summed.
func TestRandomPrograms(t *testing.T) {
	for _, kind := range []struct {
		name   string
		dt     tensor.DType
		smooth bool
	}{{"f32", tensor.F32, false}, {"f64", tensor.F64, false}, {"bf16", tensor.BF16, false}, {"f16", tensor.F16, false}, {"smooth f32", tensor.F32, true}, {"smooth f64", tensor.F64, true}} {
		t.Run(kind.name, func(t *testing.T) {
			devs := open(t)
			n := *programs
			if kind.dt != tensor.F32 {
				n = (n + 2) / 3
			}
			used := 0
			for seed := *first; seed < *first+uint64(n); seed++ {
				l, ok := lower(t, seed, kind.dt, kind.smooth)
				if !ok {
					continue
				}
				used++
				for _, d := range devs {
					l.run(t, d, fmt.Sprintf("%s, program %d at %s", kind.name, seed, d.Info().ISA))
				}
			}
			if used < n/2 {
				t.Errorf("only %d of %d programs could be compared", used, n)
			}
			t.Logf("%d programs", used)
		})
	}
}

// open opens a device at each level, with different numbers of threads.
func open(t *testing.T) (devs []*cpu.Device) {
	for i, level := range cpu.Levels() {
		d, err := cpu.Open(cpu.Level(level), cpu.Threads(1+i))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		devs = append(devs, d)
	}
	return devs
}

// captured is a runner that keeps the graph of a step and refuses to run it.
type captured struct {
	g     *ops.Graph
	feeds []tensor.Tensor
	rng   tensor.Tensor
}

var errCaptured = errors.New("captured")

func (c *captured) Run(_ context.Context, g *ops.Graph, feeds []tensor.Tensor, rng tensor.Tensor, _ *ops.Results) error {
	c.g, c.feeds, c.rng = g, slices.Clone(feeds), rng.Clone()
	return errCaptured
}

// lower records a program and makes its graph, without a pass of the scheduler: no constant is folded. It is false if the program has an error, or
// if its values do not lend themselves to a comparison.
func lower(t *testing.T, seed uint64, dt tensor.DType, smooth bool) (*lowered, bool) {
	var c captured
	tape := autograd.New(&c, autograd.Seed(int64(seed)))
	p := newProgram(seed, dt, smooth, tape)
	if _, err := tape.Step(context.Background(), p.outs...); !errors.Is(err, errCaptured) {
		if !errors.Is(err, ops.ErrNotDifferentiable) {
			t.Errorf("program %d: %v", seed, err)
		}
		return nil, false
	}
	l := &lowered{rng: p.Rand}
	l.graph(c.g, c.feeds, c.rng)
	if p.chance(2) {
		l.shuffle()
	}
	l.donate()
	if len(l.Outs) == 0 {
		return nil, false
	}
	vals, sizes := evaluate(&l.Graph, l.args, nil)
	for _, e := range l.Outs {
		l.want = append(l.want, vals[e.Node][e.Out])
	}
	if !smooth {
		l.tolerance = make([]float64, len(l.Outs))
		return l, exact(vals, sizes)
	}
	return l, l.tolerances(dt)
}

// run compiles and runs a program twice, the second time into memory full of rubbish.
func (l *lowered) run(t *testing.T, d *cpu.Device, what string) {
	t.Helper()
	ctx := context.Background()
	fail := func(format string, a ...any) {
		t.Helper()
		t.Fatalf("%s: %s%s", what, fmt.Sprintf(format, a...), l.text())
	}
	defer func() {
		if r := recover(); r != nil {
			fail("panic: %v", r)
		}
	}()
	p, err := d.Compile(ctx, &l.Graph)
	if err != nil {
		fail("%v", err)
	}
	defer p.Close()
	var out []accel.Buffer
	for try := range 2 {
		d.Spoil()
		in := make([]accel.Arg, l.Params)
		for i, a := range l.args {
			if slices.Contains(l.Donate, i) || (i+try)%2 == 0 {
				if in[i].Buf, err = d.Upload(ctx, a); err != nil {
					fail("%v", err)
				}
			} else {
				in[i].Host = a.Clone()
			}
		}
		again := make([]accel.Buffer, len(l.Outs))
		for j, b := range out {
			if l.Donate[j] < 0 {
				again[j] = b
			}
		}
		out = again
		var done ops.Event
		if err := p.Run(ctx, in, out, &done); err != nil {
			fail("%v", err)
		}
		if err := done.Wait(ctx); err != nil {
			fail("%v", err)
		}
		for j, b := range out {
			got := tensor.New(b.Spec())
			if err := b.Download(ctx, got); err != nil {
				fail("%v", err)
			}
			if why := differ(got, l.want[j], l.tolerance[j]); why != "" {
				fail("run %d, output %d: %s", try, j, why)
			}
		}
		for i, a := range in {
			if a.Buf != nil {
				if !slices.Contains(l.Donate, i) {
					got := tensor.New(a.Buf.Spec())
					if a.Buf.Download(ctx, got); !got.Same(l.args[i]) {
						fail("argument %d was overwritten", i)
					}
				}
				a.Buf.Free()
			} else if !a.Host.Same(l.args[i]) {
				fail("argument %d was overwritten", i)
			}
		}
	}
	for j, b := range out {
		if l.Donate[j] < 0 {
			b.Free()
		}
	}
}
