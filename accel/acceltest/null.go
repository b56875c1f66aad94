package acceltest

import (
	"context"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// nullDevice computes nothing.
type nullDevice struct{ id string }

// Null opens a device that accepts everything and computes nothing: downloads leave their target as it is. A run whose outputs are
// donated or offered allocates nothing, so what a step costs on it is the cost of the layers above the driver.
func Null(id string) accel.Device { return &nullDevice{id} }

func (d *nullDevice) ID() string                 { return d.id }
func (d *nullDevice) Info() accel.Info           { return accel.Info{Name: "null test device", Simulated: true} }
func (d *nullDevice) Supports(*accel.Node) error { return nil }
func (d *nullDevice) Close() error               { return nil }

func (d *nullDevice) Compile(_ context.Context, g *accel.Graph) (accel.Program, error) {
	return &nullProgram{d, g}, nil
}

func (d *nullDevice) Upload(_ context.Context, t tensor.Tensor) (accel.Buffer, error) {
	return &nullBuffer{d, t.Spec()}, nil
}

type nullBuffer struct {
	d    *nullDevice
	spec tensor.Spec
}

func (b *nullBuffer) Device() accel.Device                          { return b.d }
func (b *nullBuffer) Spec() tensor.Spec                             { return b.spec }
func (b *nullBuffer) Wait(context.Context) error                    { return nil }
func (b *nullBuffer) Download(context.Context, tensor.Tensor) error { return nil }
func (b *nullBuffer) Free()                                         {}

type nullProgram struct {
	d *nullDevice
	g *accel.Graph
}

func (p *nullProgram) Memory() accel.Memory { return accel.Memory{} }
func (p *nullProgram) Close() error         { return nil }

func (p *nullProgram) Run(_ context.Context, in []accel.Arg, out []accel.Buffer, done *ops.Event) error {
	done.Reset()
	for j, e := range p.g.Outs {
		switch i := p.g.Donate[j]; {
		case i >= 0:
			out[j] = in[i].Buf
		case out[j] == nil:
			out[j] = &nullBuffer{p.d, p.g.Nodes[e.Node].Out[e.Out]}
		}
	}
	done.Finish(nil)
	return nil
}
