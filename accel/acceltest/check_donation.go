package acceltest

import (
	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// donation updates a value in place, many times: the output is the same object as the argument, and holds the new value.
func (s *suite) donation() {
	d := s.device()
	g := s.build(func(b *builder) {
		w, step := b.param(f32(33)), b.param(f32())
		b.out(b.node(ops.BinaryOp{F: ops.Sub}, w, step), 0)
	})
	p := s.compile(d, g)
	defer p.Close()
	want := ramp(1, f32(33))
	w := s.upload(d, want)[0]
	step := s.upload(d, tensor.Scalar(float32(0.25)))[0]
	for k := range 50 {
		out := make([]accel.Buffer, 1)
		if k%2 == 1 {
			out[0] = w // the caller may say the place of a donated pair
		}
		s.run(p, args([]accel.Buffer{w, step}), out)
		if out[0] != w {
			s.Fatal("the output of a donated pair is another object than the argument")
		}
		for i := range want.Len() {
			want.Set(i, float64(float32(want.At(i))-0.25))
		}
	}
	if why := sameBits(s.download(w), want); why != "" {
		s.Errorf("after 50 steps: %s", why)
	}
	free(w, step)
}

// hazards donates parameters that are read in ways that writing too early would spoil. Each graph is run by a driver and by reference.
func (s *suite) hazards() {
	d := s.device()
	square := f32(19, 19)
	add, neg := ops.BinaryOp{F: ops.Add}, ops.UnaryOp{F: ops.Neg}
	for name, write := range map[string]func(b *builder){
		"read after the output that takes its memory": func(b *builder) {
			x := b.param(square)
			y := b.node(neg, x)
			b.out(y, 0)
			b.out(b.node(add, b.node(ops.UnaryOp{F: ops.Tanh}, x), y), -1)
		},
		"two values swap": func(b *builder) {
			x, y := b.param(square), b.param(square)
			b.out(b.node(ops.UnaryOp{F: ops.Identity}, y), 0)
			b.out(b.node(ops.UnaryOp{F: ops.Identity}, x), 1)
		},
		"three values go round": func(b *builder) {
			x, y, z := b.param(square), b.param(square), b.param(square)
			b.out(b.node(neg, y), 0)
			b.out(b.node(neg, z), 1)
			b.out(b.node(neg, x), 2)
		},
		"matmul with itself": func(b *builder) {
			x := b.param(square)
			b.out(b.node(ops.MatMulOp{}, x, x), 0)
		},
		"transpose": func(b *builder) {
			x := b.param(square)
			b.out(b.node(ops.TransposeOp{Perm: [8]uint8{1, 0}}, x), 0)
		},
		"divided by its own sum": func(b *builder) {
			x := b.param(square)
			b.out(b.node(ops.BinaryOp{F: ops.Div}, x, b.node(ops.ReduceOp{F: ops.SumOf, Axes: 3}, x)), 0)
		},
		"matmul, bias and ReLU into the bias' memory": func(b *builder) {
			x, w, bias := b.param(square), b.param(square), b.param(square)
			b.out(b.node(ops.UnaryOp{F: ops.ReLU}, b.node(add, b.node(ops.MatMulOp{}, x, w), bias)), 2)
		},
		"an update that both outputs need": func(b *builder) {
			w, m, grad := b.param(square), b.param(square), b.param(square)
			next := b.node(add, b.node(ops.ScaleOp{By: ops.F(0.9)}, m), grad)
			b.out(next, 1)
			b.out(b.node(ops.BinaryOp{F: ops.Sub}, w, b.node(ops.ScaleOp{By: ops.F(0.1)}, next)), 0)
		},
		"overwritten unread": func(b *builder) {
			b.param(square)
			b.out(b.node(neg, b.param(square)), 0)
		},
	} {
		g := s.build(write)
		var in []tensor.Tensor
		for i := range g.Params {
			in = append(in, ramp(i, g.Nodes[i].Out[0]))
		}
		vals, err := evaluate(g, in)
		s.noError(name, err)
		bufs, p := s.upload(d, in...), s.compile(d, g)
		out := s.stale(d, g)
		s.run(p, args(bufs), out)
		for j, e := range g.Outs {
			want := vals[e.Node][e.Out]
			if why := differ(s.download(out[j]), want, 64*ulp(tensor.F32, largest(want))); why != "" {
				s.Errorf("%s: output %d: %s%s", name, j, why, text(g))
			}
			if i := g.Donate[j]; i >= 0 && out[j] != bufs[i] {
				s.Errorf("%s: output %d is another object than argument %d", name, j, i)
			}
			if g.Donate[j] < 0 {
				out[j].Free()
			}
		}
		free(bufs...)
		p.Close()
	}
}
