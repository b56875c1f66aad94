package ops_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// A recording is a program that has not run. Shapes are known while it is written, and its gradient is more of the same program.
func Example() {
	r := ops.NewRecorder()
	x := r.Input("x", tensor.New(tensor.SpecOf(tensor.F32, 64, 784)), 0)
	w := r.Input("w", tensor.New(tensor.SpecOf(tensor.F32, 784, 10)), -1)
	y := x.MatMul(w).ReLU()
	dw := r.Grad(y.Mean(), ops.Value{}, w)[0]
	fmt.Println(y.Spec(), dw.Spec())

	g, err := r.Graph(true, dw)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range g.Nodes {
		fmt.Println(n.Op.Name())
	}
	// Output:
	// f32[64 10] f32[784 10]
	// input x
	// input w
	// matmul
	// relu
	// mean
	// fill
	// reshape
	// scale
	// expand
	// relu gradient
	// matmul
}

// Building never panics. The first error is kept and names the operation, what is wrong, the scope and the line.
func ExampleRecorder_Scope() {
	r := ops.NewRecorder()
	r.Scope("model", func() {
		x := r.Input("x", tensor.New(tensor.SpecOf(tensor.F32, 3, 4)), 0)
		w := r.Input("w", tensor.New(tensor.SpecOf(tensor.F32, 5, 6)), -1)
		x.MatMul(w).ReLU().Sum()
	})
	var e *ops.OpError
	fmt.Println(errors.As(r.Err(), &e))
	fmt.Println(e.Op + " in " + e.Path + ": " + e.Err.Error())
	// Output:
	// true
	// matmul in model: inner dimensions differ: 4 (axis 1 of lhs [3 4]) vs 5 (axis 0 of rhs [5 6])
}

// Softplus is a user's operation: log(1 + exp(x)). It has what every operation of this package has.
type Softplus struct{}

func (Softplus) Name() string                                  { return "softplus" }
func (Softplus) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in[:1], nil }
func (Softplus) Cost(in, out []tensor.Spec) ops.Cost           { return ops.Elementwise(20, in, out) }

// Ref is what runs, on a device that has no kernel of its own for the operation.
func (Softplus) Ref(out, in []tensor.Tensor) error {
	for i := range in[0].Len() {
		out[0].Set(i, math.Log1p(math.Exp(in[0].At(i))))
	}
	return nil
}

// Grad says that the derivative is the sigmoid.
func (Softplus) Grad(b *ops.Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, dy.Mul(b.In(0).Sigmoid()))
}

// A user's operation is a struct that implements Op. It is recorded, replayed and differentiated like any other; autograd.CheckGrad checks
// its gradient.
func ExampleApply() {
	r := ops.NewRecorder()
	x := r.Input("x", tensor.New(tensor.SpecOf(tensor.F32, 8)), -1)
	y := ops.Apply(Softplus{}, x)
	dx := r.Grad(y.Sum(), ops.Value{}, x)[0]
	fmt.Println(y.Spec(), dx.Spec(), r.Err())
	// Output:
	// f32[8] f32[8] <nil>
}
