package acceltest_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	ctx  = context.Background()
	pair = tensor.SpecOf(tensor.F32, 2)
)

// doubling is y = x + x, into new memory or into x's.
func doubling(donate bool) *accel.Graph {
	g := &accel.Graph{
		Params: 1,
		Nodes: []accel.Node{
			{Out: []tensor.Spec{pair}},
			{Op: ops.BinaryOp{F: ops.Add}, In: make([]ops.Edge, 2), Args: []tensor.Spec{pair, pair}, Out: []tensor.Spec{pair}},
		},
		Outs: []ops.Edge{{Node: 1}}, Donate: []int{-1},
	}
	if donate {
		g.Donate[0] = 0
	}
	return g
}

// made is a program and an argument for it.
func made(t *testing.T, d accel.Device, g *accel.Graph) (accel.Program, []accel.Arg) {
	t.Helper()
	p, err := d.Compile(ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.Upload(ctx, tensor.Must(tensor.From([]float32{1, 2})))
	if err != nil {
		t.Fatal(err)
	}
	return p, []accel.Arg{{Buf: b}}
}

func read(t *testing.T, b accel.Buffer) []float64 {
	t.Helper()
	x := tensor.New(b.Spec())
	if err := b.Download(ctx, x); err != nil {
		t.Fatal(err)
	}
	return x.Floats()
}

// TestPause: a paused device finishes nothing; each Advance lets one run go; a wait can be abandoned meanwhile.
func TestPause(t *testing.T) {
	d := acceltest.Hostile("hostile:0")
	defer d.Close()
	p, in := made(t, d, doubling(true))
	d.Pause()
	var done [3]ops.Event
	for k := range done {
		if err := p.Run(ctx, in, make([]accel.Buffer, 1), &done[k]); err != nil {
			t.Fatal(err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := in[0].Buf.Wait(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait behind a paused run: %v", err)
	}
	for k := range done {
		if done[k].Finished() {
			t.Errorf("run %d is finished before its time", k)
		}
		d.Advance(1)
		if err := done[k].Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	d.Resume()
	if got := read(t, in[0].Buf); !slices.Equal(got, []float64{8, 16}) {
		t.Errorf("doubled three times: %v", got)
	}
}

// TestInjected: errors come where they are asked for, and once.
func TestInjected(t *testing.T) {
	boom := errors.New("boom")
	for _, d := range []*acceltest.Device{acceltest.Reference("reference:0"), acceltest.Hostile("hostile:0")} {
		p, in := made(t, d, doubling(true))
		d.FailRun(2, boom)
		d.RejectRun(3, boom)
		var late, at []bool
		for range 4 {
			var done ops.Event
			err := p.Run(ctx, in, make([]accel.Buffer, 1), &done)
			at = append(at, errors.Is(err, boom))
			late = append(late, err == nil && errors.Is(done.Wait(ctx), boom))
		}
		if !slices.Equal(late, []bool{false, true, false, false}) || !slices.Equal(at, []bool{false, false, true, false}) {
			t.Errorf("%s: late errors %v, at once %v", d.ID(), late, at)
		}
		if got := read(t, in[0].Buf); !slices.Equal(got, []float64{4, 8}) {
			t.Errorf("%s: two runs of four doubled: %v", d.ID(), got)
		}
		d.FailUpload(1, boom)
		if _, err := d.Upload(ctx, tensor.New(pair)); !errors.Is(err, boom) {
			t.Errorf("%s: upload: %v", d.ID(), err)
		}
		if c, r, u, l := d.Compiles(), d.Runs(), d.Uploads(), d.Live(); c != 1 || r != 3 || u != 1 || l != 1 {
			t.Errorf("%s: %d compiles, %d runs, %d uploads, %d live", d.ID(), c, r, u, l)
		}
		d.Close()
	}
}

// TestRefuse: a refused operation runs by reference only where the node says so.
func TestRefuse(t *testing.T) {
	d := acceltest.Reference("reference:0", acceltest.Refuse("add"))
	defer d.Close()
	g := doubling(false)
	_, err := d.Compile(ctx, g)
	var ne *accel.NodeError
	if !errors.Is(err, accel.ErrUnsupported) || !errors.As(err, &ne) || ne.Node != 1 {
		t.Errorf("Compile: %v", err)
	}
	g.Nodes[1].Ref = true
	p, in := made(t, d, g)
	out := make([]accel.Buffer, 1)
	var done ops.Event
	if err := p.Run(ctx, in, out, &done); err != nil {
		t.Fatal(err)
	}
	if got := read(t, out[0]); !slices.Equal(got, []float64{2, 4}) {
		t.Error(got)
	}
}

// TestFaults: what a caller does wrong is refused in words, and noted.
func TestFaults(t *testing.T) {
	for words, wrong := range map[string]func(t *testing.T, d *acceltest.Device){
		"freed twice": func(t *testing.T, d *acceltest.Device) {
			_, in := made(t, d, doubling(false))
			in[0].Buf.Free()
			in[0].Buf.Free()
		},
		"read after Free": func(t *testing.T, d *acceltest.Device) {
			_, in := made(t, d, doubling(false))
			in[0].Buf.Free()
			if in[0].Buf.Wait(ctx) == nil {
				t.Error("Wait accepts")
			}
		},
		"a freed buffer": func(t *testing.T, d *acceltest.Device) {
			p, in := made(t, d, doubling(false))
			in[0].Buf.Free()
			refuse(t, p, in, nil)
		},
		"a buffer of device other:0": func(t *testing.T, d *acceltest.Device) {
			p, _ := made(t, d, doubling(false))
			other := acceltest.Hostile("other:0")
			defer other.Close()
			_, in := made(t, other, doubling(false))
			refuse(t, p, in, nil)
		},
		"argument 0 is none[], not f32[2]": func(t *testing.T, d *acceltest.Device) {
			p, _ := made(t, d, doubling(false))
			refuse(t, p, make([]accel.Arg, 1), nil)
		},
		"lies on the host": func(t *testing.T, d *acceltest.Device) {
			p, _ := made(t, d, doubling(true))
			refuse(t, p, []accel.Arg{{Host: tensor.New(pair)}}, nil)
		},
		"given up, but also an argument": func(t *testing.T, d *acceltest.Device) {
			p, in := made(t, d, doubling(false))
			refuse(t, p, in, in[0].Buf)
		},
		"the program is closed": func(t *testing.T, d *acceltest.Device) {
			p, in := made(t, d, doubling(false))
			p.Close()
			refuse(t, p, in, nil)
		},
		"output 0 is parameter 0": bad(func(g *accel.Graph) { g.Outs[0].Node = 0 }),
		"output 1 repeats": bad(func(g *accel.Graph) {
			g.Outs, g.Donate = append(g.Outs, g.Outs[0]), append(g.Donate, -1)
		}),
		"not there yet":     bad(func(g *accel.Graph) { g.Nodes[1].In[0].Node = 1 }),
		"add gives":         bad(func(g *accel.Graph) { g.Nodes[1].Out = []tensor.Spec{tensor.SpecOf(tensor.F32, 3)} }),
		"add is given":      bad(func(g *accel.Graph) { g.Nodes[1].Args = nil }),
		"which is no param": bad(func(g *accel.Graph) { g.Donate[0] = 1 }),
		"donation said for": bad(func(g *accel.Graph) { g.Donate = nil }),
		"no operation":      bad(func(g *accel.Graph) { g.Nodes[1].Op = nil }),
		"takes the memory of": bad(func(g *accel.Graph) {
			g.Nodes[0].Out = []tensor.Spec{tensor.SpecOf(tensor.F32)}
			g.Nodes[1].Args = []tensor.Spec{g.Nodes[0].Out[0], g.Nodes[0].Out[0]}
			g.Nodes[1].Op, g.Nodes[1].In = ops.ExpandOp{To: tensor.Of(2)}, g.Nodes[1].In[:1]
			g.Nodes[1].Args = g.Nodes[1].Args[:1]
			g.Donate[0] = 0
		}),
	} {
		t.Run(words, func(t *testing.T) {
			d := acceltest.Hostile("hostile:0")
			defer d.Close()
			wrong(t, d)
			if f := d.Faults(); len(f) != 1 || !strings.Contains(f[0], words) {
				t.Errorf("faults %q", f)
			}
		})
	}
}

// refuse runs what must be refused at once.
func refuse(t *testing.T, p accel.Program, in []accel.Arg, out accel.Buffer) {
	t.Helper()
	var done ops.Event
	if p.Run(ctx, in, []accel.Buffer{out}, &done) == nil {
		t.Error("Run accepts")
	}
}

// bad compiles a graph that change has spoilt.
func bad(change func(g *accel.Graph)) func(*testing.T, *acceltest.Device) {
	return func(t *testing.T, d *acceltest.Device) {
		g := doubling(false)
		change(g)
		if _, err := d.Compile(ctx, g); err == nil {
			t.Error("Compile accepts")
		}
	}
}

// keeper is an operation that keeps its operands, to see what becomes of their memory.
type keeper struct{ ops.NoGrad }

var kept []tensor.Tensor

func (keeper) Name() string                                  { return "keeper" }
func (keeper) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in, nil }
func (keeper) Cost(in, out []tensor.Spec) ops.Cost           { return ops.Traffic(in, out) }
func (keeper) Ref(out, in []tensor.Tensor) error {
	kept = append(kept, in[0], out[0])
	for i := range out[0].Len() {
		if !math.IsNaN(out[0].At(i)) {
			return errors.New("new memory is no NaN")
		}
	}
	out[0].CopyFrom(in[0])
	return nil
}

// TestPoison: on a hostile device new memory is NaN, and so are donated and freed memory and values that are over.
func TestPoison(t *testing.T) {
	kept = nil
	d := acceltest.Hostile("hostile:0")
	g := doubling(true) // x -> keeper -> keeper, into x
	for i := range 2 {
		if i == 1 {
			g.Nodes = append(g.Nodes, g.Nodes[1])
		}
		g.Nodes[i+1].Op, g.Nodes[i+1].In = keeper{}, []ops.Edge{{Node: uint32(i)}}
		g.Nodes[i+1].Args = []tensor.Spec{pair}
	}
	g.Outs[0].Node = 2
	p, in := made(t, d, g)
	var done ops.Event
	if err := p.Run(ctx, in, make([]accel.Buffer, 1), &done); err != nil {
		t.Fatal(err)
	}
	if err := done.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if got := read(t, in[0].Buf); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("the value %v", got)
	}
	in[0].Buf.Free()
	d.Close()
	for i, name := range []string{"donated", "over", "over", "freed"} {
		if x := kept[i]; !math.IsNaN(x.At(0)) || !math.IsNaN(x.At(1)) {
			t.Errorf("memory that is %s holds %v", name, x)
		}
	}
}

// TestMemory: liveness counts what lies between parameters and outputs at one time.
func TestMemory(t *testing.T) {
	d := acceltest.Reference("reference:0")
	defer d.Close()
	g := doubling(false)
	for i := range 5 {
		n := g.Nodes[1]
		n.In = []ops.Edge{{Node: uint32(i + 1)}, {Node: uint32(i + 1)}}
		g.Nodes = append(g.Nodes, n)
	}
	g.Outs[0].Node = 6
	p, _ := made(t, d, g)
	if m := p.Memory().Peak; m != 2*pair.Bytes() {
		t.Errorf("a chain needs %d bytes, want two values of %d", m, pair.Bytes())
	}
}

// TestNull: a run that gets its outputs allocates nothing.
func TestNull(t *testing.T) {
	d := acceltest.Null("null:0")
	defer d.Close()
	p, in := made(t, d, doubling(false))
	out := make([]accel.Buffer, 1)
	var done ops.Event
	if n := testing.AllocsPerRun(100, func() {
		if err := p.Run(ctx, in, out, &done); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v objects a run", n)
	}
	if out[0].Spec() != pair || out[0].Device() != d || done.Wait(ctx) != nil {
		t.Errorf("output %v on %v", out[0].Spec(), out[0].Device().ID())
	}
}
