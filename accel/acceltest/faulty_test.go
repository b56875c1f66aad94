package acceltest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// faulty is a reference device with one fault. It owes its life to drivers that had it.
type faulty struct {
	*Device
	supports func(n *accel.Node) error
	op       func(op ops.Op) ops.Op // replaces operations when a graph is compiled
	run      func(p faultyProgram, ctx context.Context, in []accel.Arg, out []accel.Buffer, done *ops.Event) error
	upload   func(t tensor.Tensor) tensor.Tensor
	close    func() error
	wraps    bool // buffers say that they are this device's; they cannot be arguments then
}

type faultyBuffer struct {
	accel.Buffer
	d *faulty
}

type faultyProgram struct {
	accel.Program
	d *faulty
	g *accel.Graph
}

func (d *faulty) Supports(n *accel.Node) error {
	if d.supports != nil {
		return d.supports(n)
	}
	return d.Device.Supports(n)
}

func (d *faulty) Compile(ctx context.Context, g *accel.Graph) (accel.Program, error) {
	changed := *g
	changed.Nodes = slices.Clone(g.Nodes)
	for i, n := range g.Nodes {
		if n.Op != nil && d.op != nil {
			changed.Nodes[i].Op = d.op(n.Op)
		}
	}
	p, err := d.Device.Compile(ctx, &changed)
	return faultyProgram{p, d, g}, err
}

func (d *faulty) Upload(ctx context.Context, t tensor.Tensor) (accel.Buffer, error) {
	if d.upload != nil {
		t = d.upload(t)
	}
	b, err := d.Device.Upload(ctx, t)
	if err != nil {
		return nil, err
	}
	if d.wraps {
		return faultyBuffer{b, d}, nil
	}
	return b, nil
}

func (b faultyBuffer) Device() accel.Device { return b.d }

func (d *faulty) Close() error {
	if d.close != nil {
		return d.close()
	}
	return d.Device.Close()
}

func (p faultyProgram) Run(ctx context.Context, in []accel.Arg, out []accel.Buffer, done *ops.Event) error {
	if p.d.run != nil {
		return p.d.run(p, ctx, in, out, done)
	}
	return p.Program.Run(ctx, in, out, done)
}

// wrongOp computes another thing than the operation that it stands for.
type wrongOp struct {
	ops.Op
	ref func(op ops.Op, out, in []tensor.Tensor) error
}

func (o wrongOp) Ref(out, in []tensor.Tensor) error { return o.ref(o.Op, out, in) }

// kernel is a device on which operations named name have a wrong kernel.
func kernel(name string, ref func(op ops.Op, out, in []tensor.Tensor) error) func(d *faulty) {
	return func(d *faulty) {
		d.op = func(op ops.Op) ops.Op {
			if op.Name() == name {
				return wrongOp{op, ref}
			}
			return op
		}
	}
}

// failures is a TB that only remembers that something failed.
type failures struct {
	testing.TB
	mu      sync.Mutex
	first   string
	cleanup []func()
}

func (f *failures) Helper()                   {}
func (f *failures) Cleanup(do func())         { f.cleanup = append(f.cleanup, do) }
func (f *failures) Error(a ...any)            { f.note(fmt.Sprint(a...)) }
func (f *failures) Errorf(s string, a ...any) { f.note(fmt.Sprintf(s, a...)) }
func (f *failures) Fatal(a ...any)            { f.note(fmt.Sprint(a...)); runtime.Goexit() }
func (f *failures) Fatalf(s string, a ...any) {
	f.note(fmt.Sprintf(s, a...))
	runtime.Goexit()
}

func (f *failures) note(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == "" {
		f.first = s
	}
}

// caught runs a check on a faulty device and returns its first failure.
func caught(t *testing.T, check string, fault func(d *faulty)) string {
	f := &failures{TB: t}
	done := make(chan bool)
	go func() {
		defer close(done)
		for _, c := range checks {
			if c.name == check {
				c.run(&suite{TB: f, registry: []ops.Sampled{ops.BinaryOp{}, ops.UnaryOp{}, ops.MatMulOp{}, ops.ReshapeOp{}, ops.CrossEntropyOp{}}, missing: map[string]bool{}, open: func(testing.TB) accel.Device {
					d := &faulty{Device: Reference("faulty:0"), wraps: check == "buffers"}
					fault(d)
					return d
				}})
			}
		}
	}()
	<-done
	for _, do := range slices.Backward(f.cleanup) {
		do()
	}
	return f.first
}

// TestFaulty: each fault is caught by the check that looks for it.
func TestFaulty(t *testing.T) {
	if RaceDetector {
		t.Skip("the faults are not races")
	}
	sound := map[string]bool{} // checks that pass without a fault
	for _, c := range []struct {
		check, name string
		fault       func(d *faulty)
	}{
		{"values", "one element in the tail is off by 1e-5", kernel("add", func(op ops.Op, out, in []tensor.Tensor) error {
			err := op.Ref(out, in)
			if n := out[0].Len(); n%8 != 0 && out[0].DType() == tensor.F32 {
				out[0].Set(n-1, out[0].At(n-1)*(1+1e-5))
			}
			return err
		})},
		{"values", "integers go through float32", kernel("add", func(op ops.Op, out, in []tensor.Tensor) error {
			err := op.Ref(out, in)
			for i := range out[0].Len() {
				if out[0].DType() == tensor.I64 {
					out[0].SetInt(i, int64(float32(out[0].Int(i))))
				}
			}
			return err
		})},
		{"values", "zeros are skipped in matmul", kernel("matmul", func(op ops.Op, out, in []tensor.Tensor) error {
			x, y := in[0], in[1].Clone()
			if op != (ops.MatMulOp{}) || x.Shape().Rank() != 2 || y.Shape().Rank() != 2 {
				return op.Ref(out, in)
			}
			m, k, n := x.Shape().Dim(0), x.Shape().Dim(1), y.Shape().Dim(1)
			for l := range k {
				zero := true
				for i := range m {
					zero = zero && x.At(i*k+l) == 0
				}
				for j := range n {
					if zero {
						y.Set(l*n+j, 0)
					}
				}
			}
			return op.Ref(out, []tensor.Tensor{x, y})
		})},
		{"values", "a copy loses the sign of zero", kernel("reshape", func(op ops.Op, out, in []tensor.Tensor) error {
			err := op.Ref(out, in)
			for i := range out[0].Len() {
				if out[0].DType().Float() && out[0].At(i) == 0 {
					out[0].Set(i, 0)
				}
			}
			return err
		})},
		{"values", "an output that is zero is not written", func(d *faulty) {
			d.Device = Hostile("faulty:0")
			kernel("relu", func(op ops.Op, out, in []tensor.Tensor) error {
				for i := range out[0].Len() {
					if x := in[0].At(i); x > 0 || x != x {
						out[0].Set(i, x)
					}
				}
				return nil
			})(d)
		}},
		{"values", "all outputs are needed", kernel("cross-entropy", func(op ops.Op, out, in []tensor.Tensor) error {
			_ = out[1].At(0)
			return op.Ref(out, in)
		})},
		{"values", "Supports refuses and Compile accepts", func(d *faulty) {
			d.supports = func(n *accel.Node) error {
				if n.Op.Name() == "exp" {
					return fmt.Errorf("%w: exp", accel.ErrUnsupported)
				}
				return nil
			}
		}},
		{"lanes", "relu loses NaN", kernel("relu", func(op ops.Op, out, in []tensor.Tensor) error {
			for i := range out[0].Len() {
				out[0].Set(i, 0)
				if x := in[0].At(i); x > 0 {
					out[0].Set(i, x)
				}
			}
			return nil
		})},
		{"lanes", "max of long rows loses NaN in the tail", kernel("max", func(op ops.Op, out, in []tensor.Tensor) error {
			x := in[0].Clone()
			if rows, n := x.Shape().Dim(0), x.Shape().Dim(1); n > 64 && rows > n {
				x.Set(n*n-1, -1) // the end of the row in which it is NaN
			}
			return op.Ref(out, []tensor.Tensor{x})
		})},
		{"large", "the last row of a block is left out", kernel("matmul", func(op ops.Op, out, in []tensor.Tensor) error {
			err := op.Ref(out, in)
			if m := out[0].Shape().Dim(0); m > 128 {
				out[0].Row(m-1).Set(0, 0)
			}
			return err
		})},
		{"graphs", "a stride along width is ignored by a gradient", kernel("conv2d weight gradient", func(op ops.Op, out, in []tensor.Tensor) error {
			err := op.Ref(out, in)
			if o := op.(ops.Conv2DWeightGradOp); o.Stride[0] != o.Stride[1] {
				out[0].Set(0, out[0].At(0)+1)
			}
			return err
		})},
		{"graphs", "not the same bits twice", func(d *faulty) {
			n := 0
			kernel("tanh", func(op ops.Op, out, in []tensor.Tensor) error {
				n++
				err := op.Ref(out, in)
				for i := range out[0].Len() {
					out[0].Set(i, out[0].At(i)*(1+1e-15*float64(n)))
				}
				return err
			})(d)
		}},
		{"buffers", "an upload keeps the caller's memory", func(d *faulty) {
			d.upload = func(t tensor.Tensor) tensor.Tensor {
				for i := range t.Len() {
					if t.DType() == tensor.Bool {
						t.SetInt(i, 0)
					}
				}
				return t
			}
		}},
		{"arguments", "a copy of host memory is kept by its address", func(d *faulty) {
			seen := map[*byte]tensor.Tensor{}
			d.run = func(p faultyProgram, ctx context.Context, in []accel.Arg, out []accel.Buffer, done *ops.Event) error {
				at := &in[0].Host.Bytes()[0]
				if seen[at].IsNone() {
					seen[at] = in[0].Host.Clone()
				}
				in[0].Host = seen[at]
				return p.Program.Run(ctx, in, out, done)
			}
		}},
		{"donation", "a donated pair is another object", func(d *faulty) {
			d.run = func(p faultyProgram, ctx context.Context, in []accel.Arg, out []accel.Buffer, done *ops.Event) error {
				err := p.Program.Run(ctx, in, out, done)
				if p.g.Donate[0] >= 0 {
					out[0], _ = d.Device.Upload(ctx, tensor.New(out[0].Spec()))
				}
				return err
			}
		}},
		{"donation hazards", "transposed in place", kernel("transpose", func(op ops.Op, out, in []tensor.Tensor) error {
			out[0].CopyFrom(in[0])
			return op.Ref(out, []tensor.Tensor{tensor.New(in[0].Spec())})
		})},
		{"failed run", "an index is clamped", kernel("gather", func(op ops.Op, out, in []tensor.Tensor) error {
			at := in[1].Clone()
			for i := range at.Len() {
				at.SetInt(i, min(at.Int(i), int64(in[0].Shape().Dim(0)-1)))
			}
			return op.Ref(out, []tensor.Tensor{in[0], at})
		})},
		{"failed run", "donated memory is written before the error", func(d *faulty) {
			d.run = func(p faultyProgram, ctx context.Context, in []accel.Arg, out []accel.Buffer, done *ops.Event) error {
				err := p.Program.Run(ctx, in, out, done)
				if err == nil && done.Wait(ctx) != nil {
					b := out[0].(*buffer)
					b.mem.Set(0, 99)
				}
				return err
			}
		}},
		{"failed run", "an output is not poisoned", func(d *faulty) {
			d.run = func(p faultyProgram, ctx context.Context, in []accel.Arg, out []accel.Buffer, done *ops.Event) error {
				err := p.Program.Run(ctx, in, out, done)
				b := out[1].(*buffer)
				if b.mem.IsNone() {
					b.mem = tensor.New(b.spec)
				}
				b.err = nil
				return err
			}
		}},
		{"index errors", "the last bad index is told", kernel("gather", func(op ops.Op, out, in []tensor.Tensor) error {
			err := op.Ref(out, in)
			for i := in[1].Len() - 1; i >= 0 && err != nil; i-- {
				if e := ops.CheckIndex(in[1].Int(i), in[0].Shape().Dim(0)); e != nil {
					return e
				}
			}
			return err
		})},
		{"index errors", "nodes are counted without parameters", func(d *faulty) {
			d.run = func(p faultyProgram, ctx context.Context, in []accel.Arg, out []accel.Buffer, done *ops.Event) error {
				var e ops.Event
				err := p.Program.Run(ctx, in, out, &e)
				failed := e.Wait(ctx)
				var ne *accel.NodeError
				if errors.As(failed, &ne) {
					failed = &accel.NodeError{Node: ne.Node - p.g.Params, Err: ne.Err}
				}
				done.Finish(failed)
				return err
			}
		}},
		{"unsupported", "another wording", func(d *faulty) {
			n := 0
			d.supports = func(*accel.Node) error { n++; return fmt.Errorf("%w: %d", accel.ErrUnsupported, n) }
		}},
		{"user operations", "a panic's words are lost", kernel("user's op", func(op ops.Op, out, in []tensor.Tensor) (err error) {
			defer func() {
				if recover() != nil {
					err = errors.New("something went wrong")
				}
			}()
			return op.Ref(out, in)
		})},
		{"concurrency", "programs share scratch memory", func(d *faulty) {
			scratch := tensor.New(f32(9, 10))
			var mu sync.Mutex
			kernel("matmul", func(op ops.Op, out, in []tensor.Tensor) error { return op.Ref(out, in) })(d)
			d.run = func(p faultyProgram, ctx context.Context, in []accel.Arg, out []accel.Buffer, done *ops.Event) error {
				err := p.Program.Run(ctx, in, out, done)
				b := out[0].(*buffer)
				mu.Lock()
				scratch.CopyFrom(b.mem)
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				b.mem.CopyFrom(scratch)
				mu.Unlock()
				return err
			}
		}},
		{"cancellation", "a cancelled run runs", func(d *faulty) {
			d.run = func(p faultyProgram, _ context.Context, in []accel.Arg, out []accel.Buffer, done *ops.Event) error {
				return p.Program.Run(context.Background(), in, out, done)
			}
		}},
		{"close", "nothing is closed", func(d *faulty) { d.close = func() error { return nil } }},
		{"leaks", "a goroutine stays", func(d *faulty) {
			d.close = func() error {
				go func() { <-make(chan bool) }()
				return nil
			}
		}},
		{"leaks", "a buffer stays", func(d *faulty) { d.live.Add(1) }},
	} {
		t.Run(c.check+"/"+c.name, func(t *testing.T) {
			if !sound[c.check] {
				if first := caught(t, c.check, func(*faulty) {}); first != "" {
					t.Fatalf("the check fails without a fault: %s", first)
				}
				sound[c.check] = true
			}
			first := caught(t, c.check, c.fault)
			if first == "" {
				t.Fatal("not caught")
			}
			t.Log(first)
		})
	}
}
