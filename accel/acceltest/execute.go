package acceltest

import (
	"math"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// upload brings tensors to the device.
func (s *suite) upload(d accel.Device, ts ...tensor.Tensor) []accel.Buffer {
	s.Helper()
	var bufs []accel.Buffer
	for _, t := range ts {
		b, err := d.Upload(ctx, t)
		s.noError("Upload", err)
		bufs = append(bufs, b)
	}
	return bufs
}

// args are the buffers as arguments.
func args(bufs []accel.Buffer) []accel.Arg {
	in := make([]accel.Arg, len(bufs))
	for i, b := range bufs {
		in[i].Buf = b
	}
	return in
}

// host are tensors as arguments.
func host(ts ...tensor.Tensor) []accel.Arg {
	in := make([]accel.Arg, len(ts))
	for i, t := range ts {
		in[i].Host = t
	}
	return in
}

// download reads a buffer.
func (s *suite) download(b accel.Buffer) tensor.Tensor {
	s.Helper()
	t := tensor.New(b.Spec())
	s.noError("Download", b.Download(ctx, t))
	return t
}

// downloadAll reads buffers.
func (s *suite) downloadAll(bufs []accel.Buffer) (ts []tensor.Tensor) {
	s.Helper()
	for _, b := range bufs {
		ts = append(ts, s.download(b))
	}
	return ts
}

// free gives buffers back.
func free(bufs ...accel.Buffer) {
	for _, b := range bufs {
		b.Free()
	}
}

// compiled is a program that knows its graph, for failures.
type compiled struct {
	accel.Program
	g *accel.Graph
}

// compile makes a program. An operation that the driver has no kernel for runs by its reference, where the device can do that: the check
// of the values lists it, and what is checked here is another thing.
func (s *suite) compile(d accel.Device, g *accel.Graph) compiled {
	s.Helper()
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Op != nil && d.Supports(n) != nil {
			if _, ok := d.(accel.Referencer); !ok {
				s.Skipf("not checked: the device has no %s, nor does it run a reference", n.Op.Name())
			}
			n.Ref = true
		}
	}
	p, err := d.Compile(ctx, g)
	if err != nil {
		s.Fatalf("Compile: %v%s", err, text(g))
	}
	return compiled{p, g}
}

// start runs a program and waits for its end. The first error is of Run, the second of the event.
func start(p accel.Program, in []accel.Arg, out []accel.Buffer) (refused, failed error) {
	var done ops.Event
	if err := p.Run(ctx, in, out, &done); err != nil {
		return err, nil
	}
	return nil, done.Wait(ctx)
}

// run is start without an error.
func (s *suite) run(p compiled, in []accel.Arg, out []accel.Buffer) {
	s.Helper()
	refused, failed := start(p, in, out)
	if refused != nil || failed != nil {
		s.Fatalf("Run: %v, its event: %v%s", refused, failed, text(p.g))
	}
}

// stale are buffers full of NaN, or of numbers that are no index, for the outputs of a graph: to be offered for re-use. A donated output
// gets none.
func (s *suite) stale(d accel.Device, g *accel.Graph) []accel.Buffer {
	s.Helper()
	out := make([]accel.Buffer, len(g.Outs))
	for j, e := range g.Outs {
		if g.Donate[j] < 0 {
			t := tensor.New(g.Nodes[e.Node].Out[e.Out])
			poison(t)
			out[j] = s.upload(d, t)[0]
		}
	}
	return out
}

// twice runs a graph on buffers with new outputs, and on host memory with stale outputs, holds both to the same bits and returns the
// values; none after a failure. Nothing is donated.
func (s *suite) twice(d accel.Device, g *accel.Graph, in []tensor.Tensor) []tensor.Tensor {
	s.Helper()
	program, err := d.Compile(ctx, g)
	if err != nil {
		s.Errorf("Compile: %v%s", err, text(g))
		return nil
	}
	p := compiled{program, g}
	defer p.Close()
	bufs, out := s.upload(d, in...), make([]accel.Buffer, len(g.Outs))
	if refused, failed := start(p, args(bufs), out); refused != nil || failed != nil {
		s.Errorf("Run: %v, its event: %v%s", refused, failed, text(g))
		return nil
	}
	first := s.downloadAll(out)
	for i, b := range bufs {
		if why := sameBits(s.download(b), in[i]); why != "" {
			s.Errorf("argument %d has changed: %s%s", i, why, text(g))
		}
	}
	free(out...)
	free(bufs...)

	out = s.stale(d, g)
	s.run(p, host(in...), out)
	for j, t := range s.downloadAll(out) {
		if why := sameBits(t, first[j]); why != "" {
			s.Errorf("output %d, once more and into stale memory: %s%s", j, why, text(g))
		}
	}
	free(out...)
	return first
}

// sameBits is empty if two tensors are bit for bit the same; NaN equals NaN.
func sameBits(got, want tensor.Tensor) string { return differ(got, want, 0) }

// ramp is distinct values between -1 and 1 without a pattern: multiples of the golden ratio, modulo 2, minus 1.
func ramp(seed int, spec tensor.Spec) tensor.Tensor {
	t := tensor.New(spec)
	for i := range t.Len() {
		_, f := math.Modf(0.6180339887498949*float64(i+1) + 0.7548776662466927*float64(seed+1))
		t.Set(i, 2*f-1)
	}
	return t
}

func f32(dims ...int) tensor.Spec { return tensor.SpecOf(tensor.F32, dims...) }
