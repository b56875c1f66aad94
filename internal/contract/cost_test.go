package contract

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// null is the kind of device whose steps cost what tape and engine cost.
var null = kind{"null", func(_ testing.TB, id string) accel.Device { return acceltest.Null(id) }}

// mlp is a network whose step, with gradient and Adam, has 300 nodes.
func mlp() *net { return newNet(tensor.F32, 784, 128, 128, 128, 128, 128, 128, 10) }

// nullStep is a whole step on the null device, from the first record to the loss, and the number of its nodes.
func nullStep(r *rig, tape *autograd.Tape, n *net) func() (nodes int) {
	x, y := tensor.New(tensor.SpecOf(tensor.F32, 64, 784)), tensor.New(tensor.SpecOf(tensor.I64, 64))
	return func() int {
		loss := n.train(tape, x, y, 1e-3)
		nodes := tape.Len()
		res, err := tape.Step(ctx, loss)
		if err != nil {
			r.Fatal(err)
		}
		if _, err := res.Float(ctx, 0); err != nil {
			r.Fatal(err)
		}
		res.Release()
		return nodes
	}
}

// heapObjects is the number of objects that the process has allocated.
func heapObjects(sample []metrics.Sample) uint64 {
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// An unchanged step allocates no heap object. The runtime's own count is read, over a thousand steps, with workers free to run beside:
// testing.AllocsPerRun would not see theirs. A few objects are the runtime's own; none a step is the engine's.
func TestSteadyStepAllocatesNothing(t *testing.T) {
	procs(t, max(2, runtime.GOMAXPROCS(0)))
	r := newRig(t, null, 1)
	tape := r.tape()
	step := nullStep(r, tape, mlp())
	for range 20 {
		step()
	}
	misses, compiles := tape.Misses(), r.compiles()
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}}
	heapObjects(sample)
	runtime.GC()
	const steps = 1000
	nodes, before := 0, heapObjects(sample)
	for range steps {
		nodes = step()
	}
	objects := heapObjects(sample) - before
	t.Logf("%d nodes, %d heap objects in %d steps", nodes, objects, steps)
	if nodes < 300 {
		t.Errorf("the step has %d nodes", nodes)
	}
	if objects > steps/20 {
		t.Errorf("%d heap objects in %d steps", objects, steps)
	}
	if tape.Misses() != misses || r.compiles() != compiles {
		t.Errorf("%d nodes recorded anew, %d compiles", tape.Misses()-misses, r.compiles()-compiles)
	}
}

// On a processor a steady step allocates nothing that grows with the model: as many objects for a wide and deep network as for a narrow one.
func TestSteadyStepOnProcessor(t *testing.T) {
	if raceDetector {
		t.Skip("objects are not counted under the race detector")
	}
	procs(t, max(2, runtime.GOMAXPROCS(0)))
	r := newRig(t, kinds[2], 1)
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}}
	for name, n := range map[string]*net{"small": newNet(tensor.F32, 8, 8, 3), "large": newNet(tensor.F32, 64, 96, 96, 96, 96, 3)} {
		tape := r.tape()
		in := n.w[0].Spec().Shape.Dim(0)
		x, y := formula(tensor.F32, 1, 32, in), classes(32)
		nodes := 0
		step := func() {
			loss := n.train(tape, x, y, 1e-3)
			nodes = tape.Len()
			res, err := tape.Step(ctx, loss)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := res.Float(ctx, 0); err != nil {
				t.Fatal(err)
			}
			res.Release()
		}
		for range 20 {
			step()
		}
		const steps = 200
		heapObjects(sample)
		runtime.GC()
		before := heapObjects(sample)
		for range steps {
			step()
		}
		objects := heapObjects(sample) - before
		t.Logf("%s: %d nodes, %d heap objects in %d steps", name, nodes, objects, steps)
		if objects > steps/4 {
			t.Errorf("%s: %d heap objects in %d steps", name, objects, steps)
		}
	}
}

// Memory is flat over ten thousand steps, with results that are read, read late, or dropped: buffers, traces and the heap.
func TestMemoryIsFlat(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		w := ops.NewVariable("w", f64(1, 2))
		x := f64(0.5, 0.25)
		var late autograd.Result
		step := func(i int) {
			p := tape.Var(w)
			loss := p.Sub(tape.Input("x", x)).Mul(p).Sum()
			tape.Assign(w, p.Sub(tape.Grad(loss, p)[0].Mul(tape.Scalar("rate", tensor.F64, 1/float64(i+1)))))
			res, err := tape.Step(ctx, loss)
			if err != nil {
				r.Fatal(err)
			}
			switch i % 3 {
			case 0:
				late.Release()
				late = res
			case 1:
				if _, err := res.Float(ctx, 0); err != nil {
					r.Fatal(err)
				}
				res.Release()
			case 2:
				res.Release()
			}
		}
		use := func() (live int64, heap uint64) {
			if err := tape.Wait(ctx); err != nil {
				r.Fatal(err)
			}
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return r.live(), m.HeapAlloc
		}
		for i := range 1000 {
			step(i)
		}
		live, heap := use()
		misses := tape.Misses()
		for i := range 10000 {
			step(i)
		}
		l, h := use()
		if l > live || h > heap+heap/4+(256<<10) || tape.Misses() != misses || r.compiles() != 1 {
			r.Errorf("%d buffers, were %d; %d bytes, were %d; %d nodes recorded anew; %d compiles", l, live, h, heap, tape.Misses()-misses, r.compiles())
		}
	})
}

// BenchmarkStep is an unchanged step of 300 nodes, with gradient and Adam, on the null device.
func BenchmarkStep(b *testing.B) {
	r := newRig(b, null, 1)
	step := nullStep(r, r.tape(), mlp())
	step()
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
}

// BenchmarkFresh is the same step with nothing remembered: a new tape each time, on an engine that knows the program.
func BenchmarkFresh(b *testing.B) {
	r := newRig(b, null, 1)
	n := mlp()
	b.ReportAllocs()
	for b.Loop() {
		nullStep(r, r.tape(), n)()
	}
}
