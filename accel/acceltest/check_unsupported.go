package acceltest

import (
	"errors"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// refused holds what Supports says of the last node of g against what Compile says: one cause, one wording, and the node by its index.
func (s *suite) refused(d accel.Device, g *accel.Graph) {
	s.Helper()
	last := len(g.Nodes) - 1
	why := d.Supports(&g.Nodes[last])
	if !errors.Is(why, accel.ErrUnsupported) {
		s.Errorf("Supports says %v, which is no ErrUnsupported%s", why, text(g))
		return
	}
	p, err := d.Compile(ctx, g)
	if err == nil {
		p.Close()
		s.Errorf("Supports says %v, but Compile accepts%s", why, text(g))
		return
	}
	var ne *accel.NodeError
	switch {
	case !errors.Is(err, accel.ErrUnsupported) || !errors.As(err, &ne):
		s.Errorf("Compile says %v, which is no NodeError around ErrUnsupported%s", err, text(g))
	case ne.Node != last || ne.Err.Error() != why.Error():
		s.Errorf("Compile says %v, want node %d and %v%s", err, last, why, text(g))
	}
}

// unsupported asks for an operation that no driver has a kernel for, in the middle of a graph that is good otherwise.
func (s *suite) unsupported() {
	d := s.device()
	g := s.build(func(b *builder) {
		x := b.param(f32(3))
		b.out(b.node(userOp{}, b.node(ops.UnaryOp{F: ops.Neg}, x)), -1)
	})
	if d.Supports(&g.Nodes[2]) == nil {
		return // a device that runs everything by reference
	}
	s.refused(d, g)
}

// userOp is an operation that no driver knows: twice its input, of any float type.
type userOp struct{ Does userDeed }

// userDeed is what a userOp does at run time.
type userDeed uint8

const (
	doubles userDeed = iota
	returnsError
	panics
	failsOver1 // an error if the first element is over 1, else doubles
)

// errUser is what a userOp returns.
var errUser = errors.New("the user's own error")

func (userOp) Name() string                                  { return "user's op" }
func (userOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in[:1:1], nil }
func (userOp) Grad(b *ops.Backward)                          { b.Fail(ops.ErrNotDifferentiable) }
func (userOp) Cost(in, out []tensor.Spec) ops.Cost           { return ops.Elementwise(1, in, out) }

func (o userOp) Ref(out, in []tensor.Tensor) error {
	switch {
	case o.Does == returnsError, o.Does == failsOver1 && in[0].At(0) > 1:
		return errUser
	case o.Does == panics:
		panic("the user's own panic")
	}
	for i := range in[0].Len() {
		out[0].Set(i, 2*in[0].At(i))
	}
	return nil
}
