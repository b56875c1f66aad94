package contract

import (
	"sync"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// hook is an operation of the test: it copies its input, and calls a function of the test when it runs, whose error is its own. Its
// gradient is a copy too.
type hook struct{ ID int }

var hooks struct {
	sync.Mutex
	list []func(in tensor.Tensor) error
}

// newHook makes an operation that calls f. The same operation recorded again is the same program.
func newHook(f func(in tensor.Tensor) error) hook {
	hooks.Lock()
	defer hooks.Unlock()
	hooks.list = append(hooks.list, f)
	return hook{len(hooks.list) - 1}
}

func (hook) Name() string                                  { return "hook" }
func (hook) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in[:1:1], nil }
func (hook) Cost(in, out []tensor.Spec) ops.Cost           { return ops.Traffic(in, out) }

func (o hook) Ref(out, in []tensor.Tensor) error {
	hooks.Lock()
	f := hooks.list[o.ID]
	hooks.Unlock()
	out[0].CopyFrom(in[0])
	return f(in[0])
}

func (hook) Grad(b *ops.Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, dy)
}

// square is what a user's operation looks like.
type square struct{}

func (square) Name() string                                  { return "square" }
func (square) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in[:1:1], nil }
func (square) Cost(in, out []tensor.Spec) ops.Cost           { return ops.Elementwise(1, in, out) }

func (square) Ref(out, in []tensor.Tensor) error {
	for i := range out[0].Len() {
		out[0].Set(i, in[0].At(i)*in[0].At(i))
	}
	return nil
}

func (square) Grad(b *ops.Backward) { // 2x dy
	dy, _ := b.Dy(0)
	b.Set(0, dy.Mul(b.In(0)).Scale(2))
}
