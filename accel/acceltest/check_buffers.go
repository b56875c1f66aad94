package acceltest

import (
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// buffers checks what a buffer is: a value of a spec on a device, copied in and out, of every type, empty ones too.
func (s *suite) buffers() {
	d := s.device()
	for _, dt := range tensor.DTypes {
		for _, dims := range [][]int{{}, {1}, {0}, {3, 0, 2}, {5, 7}, {1, 2, 1, 3, 1, 2, 1, 2}} {
			t := ramp(1, tensor.SpecOf(dt, dims...))
			if !dt.Float() {
				for i := range t.Len() {
					t.SetInt(i, int64(i%2))
				}
			}
			want := t.Clone()
			b, err := d.Upload(ctx, t)
			s.noError("Upload", err)
			poison(t) // Upload has copied
			if b.Device() != d || b.Spec() != want.Spec() {
				s.Errorf("a buffer of %v on %v, want %v on %v", b.Spec(), b.Device().ID(), want.Spec(), d.ID())
			}
			s.noError("Wait", b.Wait(ctx))
			if got := s.download(b); !got.Same(want) {
				s.Errorf("uploaded %v, downloaded %v", want, got)
			}
			if again := s.download(b); !again.Same(want) {
				s.Errorf("downloaded twice: %v, then %v", want, again)
			}
			b.Free()
		}
	}
	if d.ID() == "" {
		s.Error("a device without ID")
	}
	g := s.build(func(b *builder) { b.out(b.node(ops.UnaryOp{F: ops.Neg}, b.param(f32(2))), -1) })
	p := s.compile(d, g)
	defer p.Close()
	if p.Memory().Peak < 0 {
		s.Errorf("memory %d", p.Memory().Peak)
	}
}

// arguments checks that host memory is read before Run returns, and that buffers and host memory mix.
func (s *suite) arguments() {
	d := s.device()
	g := s.build(func(b *builder) {
		x, y := b.param(f32(1000)), b.param(f32(1000))
		sum := b.node(ops.BinaryOp{F: ops.Add}, x, y)
		for range 20 { // enough work to be unfinished when Run returns
			sum = b.node(ops.UnaryOp{F: ops.Neg}, sum)
		}
		b.out(sum, -1)
	})
	p := s.compile(d, g)
	defer p.Close()
	y := s.upload(d, ramp(2, f32(1000)))[0]
	x := tensor.New(f32(1000))
	outs := make([]ops.Event, 20)
	var results []tensor.Tensor
	for k := range outs {
		for i := range x.Len() {
			x.Set(i, float64(k))
		}
		in := host(x, tensor.Tensor{})
		in[1].Buf = y
		out := s.stale(d, g)
		s.noError("Run", p.Run(ctx, in, out, &outs[k]))
		poison(x)
		if k%2 == 0 { // half of them are waited for much later
			s.noError("event", outs[k].Wait(ctx))
		}
		results = append(results, s.download(out[0]))
		out[0].Free()
	}
	for k, got := range results {
		want := ramp(2, f32(1000))
		for i := range want.Len() {
			want.Set(i, float64(float32(k)+float32(want.At(i))))
		}
		if why := sameBits(got, want); why != "" {
			s.Errorf("run %d, whose argument was overwritten after Run: %s", k, why)
		}
	}
	y.Free()
}
