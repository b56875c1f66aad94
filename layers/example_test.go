package layers_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
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

// A parameter that PyTorch's model has itself, in no module, has no path before its name: the whole model is one Func, which runs the modules by their names.
func ExampleFunc() {
	model := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		token := c.Param("cls_token", tensor.Of(1, 1, x.Dim(2)), layers.Zeros) // self.cls_token
		x = ops.Concat(1, token.Expand(x.Dim(0), 1, x.Dim(2)), x)
		x = c.Run("encoder", layers.TransformerBlock{Heads: 2, Hidden: 8}, x) // self.encoder
		return c.Run("head", layers.Linear{Out: 3}, x.Narrow(1, 0, 1).Squeeze(1))
	})
	net, err := layers.Build(model, tensor.SpecOf(tensor.F32, 1, 5, 4), 1, tensor.F32)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range net.Params() {
		if strings.Count(p.Name(), ".") < 2 {
			fmt.Println(p.Name(), p.Spec())
		}
	}
	// Output:
	// cls_token f32[1 1 4]
	// head.weight f32[3 4]
	// head.bias f32[3]
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

// A language model whose head shares the table of its embedding, with the names that PyTorch's state dict would have.
func ExampleTied() {
	block := layers.TransformerBlock{Heads: 4, Hidden: 256, Activation: layers.GELU{Tanh: true}, PreNorm: true, Causal: true, NoBias: true}
	model := layers.Sequential{
		layers.Name("tok", layers.Embedding{Rows: 256, Size: 64}), layers.Name("pos", layers.Positions{Max: 128}),
		layers.Name("blocks", layers.Sequential{block}), layers.Name("norm", layers.LayerNorm{NoBias: true}), layers.Name("head", layers.Tied{To: "tok.weight"}),
	}
	net, err := layers.Build(model, tensor.SpecOf(tensor.I64, 1, 128), 1, tensor.F32)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range net.Params() {
		fmt.Println(p)
	}
	// Output:
	// tok.weight f32[256 64]
	// pos.weight f32[128 64]
	// blocks.0.norm1.weight f32[64]
	// blocks.0.self_attn.in_proj_weight f32[192 64]
	// blocks.0.self_attn.out_proj.weight f32[64 64]
	// blocks.0.norm2.weight f32[64]
	// blocks.0.linear1.weight f32[256 64]
	// blocks.0.linear2.weight f32[64 256]
	// norm.weight f32[64]
}

// Fine-tuning trains the head alone; what is frozen is saved all the same.
func ExampleNet_Freeze() {
	model := layers.Sequential{
		layers.Name("body", layers.Sequential{layers.Linear{Out: 8}, layers.GELU{}}), layers.Name("head", layers.Linear{Out: 2}),
	}
	net, err := layers.Build(model, tensor.SpecOf(tensor.F32, 1, 4), 1, tensor.F32)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(net.Freeze("body"), net.Params())
	fmt.Println(net.Freeze("haed"))
	// Output:
	// <nil> [head.weight f32[2 8] head.bias f32[2]]
	// layers: freeze: no parameter is called "haed"; there is head
}

// Load tells all that does not fit at once, and guesses what was meant.
func ExampleNet_Load() {
	model := layers.Sequential{layers.Name("norm1", layers.LayerNorm{NoBias: true}), layers.Name("head", layers.Linear{Out: 2, NoBias: true})}
	net, err := layers.Build(model, tensor.SpecOf(tensor.F32, 1, 4), 1, tensor.F32)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = net.Load(context.Background(), []safetensors.Named{
		{Name: "ln1.weight", Tensor: tensor.New(tensor.SpecOf(tensor.F32, 4))},
		{Name: "head.weight", Tensor: tensor.New(tensor.SpecOf(tensor.F32, 4, 2))},
	})
	fmt.Println(err)
	// Output:
	// layers: the state is of another model: missing: norm1.weight (the file has ln1.weight); unexpected: ln1.weight; mis-shaped: head.weight is f32[4 2] in the file, f32[2 4] in the model
}

// Sequences of different lengths lie in one batch; a module that knows the lengths says so.
func ExampleLSTM() {
	classifier := layers.Func(func(c *layers.Context, tokens ops.Value) ops.Value {
		word := tokens.NotEqual(ops.Zeros(c.Tape.Recorder(), tensor.Spec{DType: tensor.I64})) // 0 is padding
		c.Lengths = word.Cast(tensor.I64).Sum(1)
		x := c.Run("tok", layers.Embedding{Rows: 9, Size: 4}, tokens)
		state := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
			_, h, _ := layers.LSTM{Hidden: 8}.Run(c, x)
			return h.Squeeze(0)
		})
		return c.Run("head", layers.Linear{Out: 2}, c.Run("lstm", state, x))
	})
	net, err := layers.Build(classifier, tensor.SpecOf(tensor.I64, 3, 5), 1, tensor.F32)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range net.Params() {
		fmt.Println(p)
	}
	// Output:
	// tok.weight f32[9 4]
	// lstm.weight_ih_l0 f32[32 4]
	// lstm.weight_hh_l0 f32[32 8]
	// lstm.bias_ih_l0 f32[32]
	// lstm.bias_hh_l0 f32[32]
	// head.weight f32[2 8]
	// head.bias f32[2]
}
