package acceltest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// affine is y = x w + c, with a donated counter that grows by one.
func (s *suite) affine() *accel.Graph {
	return s.build(func(b *builder) {
		x, w, c, count := b.param(f32(9, 8)), b.param(f32(8, 10)), b.param(f32(10)), b.param(f32())
		b.out(b.node(ops.BinaryOp{F: ops.Add}, b.node(ops.MatMulOp{}, x, w), c), -1)
		b.out(b.node(ops.ShiftOp{By: ops.F(1)}, count), 3)
	})
}

// concurrency uploads, compiles, runs, downloads and frees on many goroutines: one program is shared, others belong to one goroutine.
func (s *suite) concurrency() {
	d := s.device()
	g := s.affine()
	shared := s.compile(d, g)
	defer shared.Close()
	w, c := ramp(1, f32(8, 10)), ramp(2, f32(10))
	common := s.upload(d, w, c)
	var wg sync.WaitGroup
	for k := range 16 {
		wg.Go(func() {
			own, err := d.Compile(ctx, g)
			if err != nil {
				s.Error(err)
				return
			}
			defer own.Close()
			x := ramp(k+3, f32(9, 8))
			vals, err := evaluate(g, []tensor.Tensor{x, w, c, tensor.Scalar(float32(0))})
			if err != nil {
				s.Error(err)
				return
			}
			count, err := d.Upload(ctx, tensor.Scalar(float32(0)))
			if err != nil {
				s.Error(err)
				return
			}
			defer count.Free()
			for i := range 20 {
				p := shared.Program
				if i%2 == 0 {
					p = own
				}
				in := args([]accel.Buffer{nil, common[0], common[1], count})
				in[0].Host = x
				out := make([]accel.Buffer, 2)
				refused, failed := start(p, in, out)
				if err := errors.Join(refused, failed); err != nil {
					s.Error(err)
					return
				}
				got, n := tensor.New(f32(9, 10)), tensor.New(f32())
				if err := errors.Join(out[0].Download(ctx, got), count.Download(ctx, n)); err != nil {
					s.Error(err)
					return
				}
				out[0].Free()
				if why := differ(got, vals[4+1][0], 1e-5); why != "" || n.At(0) != float64(i+1) {
					s.Errorf("goroutine %d, run %d: %s, count %v", k, i, why, n)
					return
				}
			}
		})
	}
	wg.Wait()
	free(common...)
}

// cancellation checks that a cancelled context starts nothing, and that a cancelled wait abandons the wait alone.
func (s *suite) cancellation() {
	d := s.device()
	g := s.affine()
	p := s.compile(d, g)
	defer p.Close()
	bufs := s.upload(d, ramp(0, f32(9, 8)), ramp(1, f32(8, 10)), ramp(2, f32(10)), tensor.Scalar(float32(5)))
	cause := errors.New("the test has cancelled")
	dead, cancel := context.WithCancelCause(ctx)
	cancel(cause)
	var done ops.Event
	out := make([]accel.Buffer, 2)
	if err := p.Run(dead, args(bufs), out, &done); !errors.Is(err, cause) {
		s.Errorf("Run under a cancelled context: %v", err)
	}
	if out[0] != nil || out[1] != nil {
		s.Error("a refused run has outputs")
	}
	if got := s.download(bufs[3]); got.At(0) != 5 {
		s.Errorf("a refused run has changed a donated value to %v", got.At(0))
	}
	s.noError("Run", p.Run(ctx, args(bufs), out, &done))
	if err := out[0].Wait(dead); err != nil && !errors.Is(err, cause) {
		s.Errorf("a cancelled Wait: %v", err)
	}
	t := tensor.New(f32(9, 10))
	if err := out[0].Download(dead, t); err != nil && !errors.Is(err, cause) {
		s.Errorf("a cancelled Download: %v", err)
	}
	s.noError("the run behind a cancelled wait", done.Wait(ctx))
	if got := s.download(bufs[3]); got.At(0) != 6 {
		s.Errorf("the run behind a cancelled wait gave %v", got.At(0))
	}
	out[0].Free()
	free(bufs...)
}

// closing checks that Close ends the work in flight, that what comes after it answers ErrClosed, and that Free is silent.
func (s *suite) closing() {
	d := s.open(s.TB)
	g := s.affine()
	p, err := d.Compile(ctx, g)
	s.noError("Compile", err)
	bufs := s.upload(d, ramp(0, f32(9, 8)), ramp(1, f32(8, 10)), ramp(2, f32(10)), tensor.Scalar(float32(0)))
	done := make([]ops.Event, 20)
	var outs []accel.Buffer
	for k := range done {
		out := make([]accel.Buffer, 2)
		s.noError("Run", p.Run(ctx, args(bufs), out, &done[k]))
		outs = append(outs, out[0])
	}
	s.noError("Close", d.Close())
	for k := range done {
		if !done[k].Finished() {
			s.Errorf("run %d of %d goes on after Close", k, len(done))
		}
	}
	_, err = d.Upload(ctx, ramp(0, f32(2)))
	s.closed("Upload", err)
	_, err = d.Compile(ctx, g)
	s.closed("Compile", err)
	var late ops.Event
	s.closed("Run", p.Run(ctx, args(bufs), make([]accel.Buffer, 2), &late))
	s.closed("Wait", bufs[0].Wait(ctx))
	s.closed("Download", bufs[0].Download(ctx, tensor.New(f32(9, 8))))
	free(outs...)
	free(bufs...)
	_ = p.Close() // that it returns is all that counts
	_ = d.Close()
}

func (s *suite) closed(what string, err error) {
	s.Helper()
	if !errors.Is(err, accel.ErrClosed) {
		s.Errorf("%s after Close: %v, want ErrClosed", what, err)
	}
}

// leaks opens, uses and closes devices: goroutines must not become more, nor buffers stay where a device counts them. Workers that a
// process keeps for all its devices are started before the count.
func (s *suite) leaks() {
	g := s.affine()
	use := func() {
		d := s.open(s.TB)
		p := s.compile(d, g)
		bufs := s.upload(d, ramp(0, f32(9, 8)), ramp(1, f32(8, 10)), ramp(2, f32(10)), tensor.Scalar(float32(0)))
		for range 5 {
			out := make([]accel.Buffer, 2)
			s.run(p, args(bufs), out)
			out[0].Free()
		}
		free(bufs...)
		if c, ok := d.(interface{ Live() int64 }); ok && c.Live() != 0 {
			s.Errorf("%d buffers are live after all were freed", c.Live())
		}
		s.noError("Close of a program", p.Close())
		s.noError("Close", d.Close())
	}
	use()
	before := runtime.NumGoroutine()
	for range 10 {
		use()
	}
	for range 5000 { // a goroutine that was told to end needs a processor to do so, and the machine may be busy
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	s.Errorf("%d goroutines, were %d", runtime.NumGoroutine(), before)
}
