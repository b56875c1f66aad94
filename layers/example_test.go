package layers_test

import (
	"context"
	"fmt"

	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// A model is a value; Build learns the shapes from the spec of an input.
func Example() {
	model := layers.Sequential{
		layers.Conv2D{Out: 4, Kernel: 3, Padding: layers.Same}, layers.BatchNorm2D{}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
		layers.Flatten{}, layers.Dropout{P: 0.3}, layers.Linear{Out: 10},
	}
	net, err := layers.Build(model, tensor.SpecOf(tensor.F32, 1, 1, 8, 8), 1, tensor.F32)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(net)

	eng, err := sched.New(acceltest.Reference("reference")) // a driver's device in a program
	if err != nil {
		fmt.Println(err)
		return
	}
	tape := autograd.New(eng)
	x := tape.Input("x", tensor.Full(tensor.SpecOf(tensor.F32, 5, 1, 8, 8), 1))
	y, err := tape.Eval(context.Background(), net.Forward(tape, x, layers.Eval))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(y[0].Spec())
	// Output:
	// layer  kind         output        parameters       FLOPs  bytes moved
	// 0      Conv2D       f32[1 4 8 8]  40               4864   3520
	// 1      BatchNorm2D  f32[1 4 8 8]  8                1024   2112
	// 2      ReLU         f32[1 4 8 8]  0                256    2048
	// 3      MaxPool2D    f32[1 4 4 4]  0                256    1280
	// 4      Flatten      f32[1 64]     0                0      512
	// 5      Dropout      f32[1 64]     0                0      0
	// 6      Linear       f32[1 10]     650              1290   2976
	// all                               698, 2792 bytes  7690   12448
	// f32[5 10]
}

// residual adds what its body computes: a user's module is a type with a Forward method.
type residual struct{ body layers.Module }

func (r residual) Forward(c *layers.Context, x ops.Value) ops.Value {
	return x.Add(c.Run("body", r.body, x))
}

// Modules of one's own take part in names and summaries like any.
func ExampleModule() {
	scale := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		return x.Mul(c.Param("scale", tensor.Of(x.Dim(-1)), layers.Ones))
	})
	model := layers.Sequential{residual{layers.Linear{Out: 3, NoBias: true}}, scale}
	net, err := layers.Build(model, tensor.SpecOf(tensor.F32, 1, 3), 1, tensor.F32)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range net.Params() {
		fmt.Println(p.Name(), p.Spec())
	}
	// Output:
	// 0.body.weight f32[3 3]
	// 1.scale f32[3]
}

// A session writes: it continues a text token by token, and what it compiles does not grow with the text.
func ExampleSession() {
	ctx := context.Background()
	model := layers.Sequential{
		layers.Name("tok", layers.Embedding{Rows: 4, Size: 8}), layers.Name("pos", layers.Positions{Max: 16}),
		layers.Name("block", layers.TransformerBlock{Heads: 2, Hidden: 16, PreNorm: true, Causal: true}),
		layers.Name("head", layers.Linear{Out: 4}),
	}
	net, err := layers.Build(model, tensor.SpecOf(tensor.I64, 1, 3), 1, tensor.F32)
	if err != nil {
		fmt.Println(err)
		return
	}
	eng, err := sched.New(acceltest.Reference("reference")) // a driver's device in a program
	if err != nil {
		fmt.Println(err)
		return
	}
	tape, session := autograd.New(eng), net.Session(16)
	next := []int64{2, 0, 1} // the prompt
	for range 5 {
		x := tape.Input("x", tensor.Must(tensor.From(next, 1, len(next))))
		logits := session.Forward(tape, x)
		res, err := tape.Step(ctx, logits.ArgMax(-1))
		if err != nil {
			fmt.Println(err)
			return
		}
		y, err := res.Tensor(ctx, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		next = []int64{y.Int(y.Len() - 1)}
	}
	n, err := session.Len(ctx)
	fmt.Println(n, "steps,", eng.Stats().Compiles, "programs,", err)
	// Output: 7 steps, 2 programs, <nil>
}
