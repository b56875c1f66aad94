package main

import (
	"context"
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// The networks whose training steps are workloads.

// mlpWork is 784-512-512-10.
func mlpWork(n int, dt tensor.DType, eng *sched.Engine) (workload, error) {
	m := layers.Sequential{layers.Linear{Out: 512}, layers.ReLU{}, layers.Linear{Out: 512}, layers.ReLU{}, layers.Linear{Out: 10}}
	run, err := training(eng, m, dt, noise(dt, 1, 1, n, 784), labels(10, n), &optim.SGD{LR: 0.01})
	return workload{run, 2 * float64(n) * (3*(784*512+512*512+5120) - 784*512), "gflops"}, err
}

// cnnWork is two 3x3 convolutions with pooling and two dense layers, on images of 28x28.
func cnnWork(n int, dt tensor.DType, eng *sched.Engine) (workload, error) {
	m := layers.Sequential{
		layers.Conv2D{Out: 32, Kernel: 3, Padding: 1}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
		layers.Conv2D{Out: 64, Kernel: 3, Padding: 1}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
		layers.Flatten{}, layers.Linear{Out: 128}, layers.ReLU{}, layers.Linear{Out: 10},
	}
	const first = 2 * 9 * 32 * 784
	const all = first + 2*(288*64*196+3136*128+1280)
	run, err := training(eng, m, dt, noise(dt, 1, 1, n, 1, 28, 28), labels(10, n), &optim.SGD{LR: 0.01})
	return workload{run, float64(n) * (3*all - first), "gflops"}, err
}

// resnetWork is ResNet-18 in its form for small images: a 3x3 stem, no pooling before the blocks, 11.2 million parameters; images of 3x32x32.
func resnetWork(n int, dt tensor.DType, eng *sched.Engine) (workload, error) {
	m := layers.Sequential{layers.Conv2D{Out: 64, Kernel: 3, Padding: 1, NoBias: true}, layers.BatchNorm2D{}, layers.ReLU{}}
	in := 64
	for _, out := range []int{64, 128, 256, 512} {
		m = append(m, basicBlock(in, out), basicBlock(out, out))
		in = out
	}
	m = append(m, layers.AvgPool2D{Size: 4}, layers.Flatten{}, layers.Linear{Out: 10})
	run, err := training(eng, m, dt, noise(dt, 1, 1, n, 3, 32, 32), labels(10, n), &optim.SGD{LR: 0.01, Momentum: 0.9})
	return workload{run, float64(n) * 0.5566e9 * 2 * 3, "gflops"}, err
}

// basicBlock is two convolutions beside a shortcut, which is a convolution too where the number of channels changes, and halves the image there.
func basicBlock(in, out int) layers.Module {
	stride := out / in
	conv := func(kernel, stride int) layers.Module {
		return layers.Conv2D{Out: out, Kernel: kernel, Stride: stride, Padding: kernel / 2, NoBias: true}
	}
	body := layers.Sequential{conv(3, stride), layers.BatchNorm2D{}, layers.ReLU{}, conv(3, 1), layers.BatchNorm2D{}}
	short := layers.Sequential{}
	if in != out {
		short = layers.Sequential{conv(1, stride), layers.BatchNorm2D{}}
	}
	return layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		return c.Run("body", body, x).Add(c.Run("short", short, x)).ReLU()
	})
}

// lstmWork is two layers of 256 over 64 steps of 64 numbers, a batch of 32, classified by the last step.
func lstmWork(dt tensor.DType, eng *sched.Engine) (workload, error) {
	const n, steps, in, hidden = 32, 64, 64, 256
	m := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		for i := range 2 {
			param := func(name string, dims ...int) ops.Value {
				return c.Param(fmt.Sprintf("%s_l%d", name, i), tensor.Of(dims...), layers.Uniform(-1.0/16, 1.0/16))
			}
			x, _, _ = ops.LSTM(x, ops.Gates{
				Input: param("weight_ih", 4*hidden, x.Dim(2)), Hidden: param("weight_hh", 4*hidden, hidden),
				InputBias: param("bias_ih", 4*hidden), HiddenBias: param("bias_hh", 4*hidden),
			}, ops.Sequence{})
		}
		return c.Run("out", layers.Linear{Out: 10}, x.Narrow(1, steps-1, 1).Reshape(n, hidden))
	})
	const weights = 4*hidden*(in+hidden) + 4*hidden*2*hidden
	run, err := training(eng, m, dt, noise(dt, 1, 1, n, steps, in), labels(10, n), &optim.SGD{LR: 0.01})
	return workload{run, 2.0 * steps * n * (3*weights - 4*hidden*in), "gflops"}, err
}

// gptWork is a transformer of four blocks of width 256 with four heads, on four texts of 128 of 1000 tokens.
func gptWork(dt tensor.DType, eng *sched.Engine) (workload, error) {
	const n, steps, tokens, width, heads, blocks = 4, 128, 1000, 256, 4, 4
	norm := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		return ops.LayerNorm(x, c.Param("weight", tensor.Of(width), layers.Ones), c.Param("bias", tensor.Of(width), layers.Zeros), 1, 1e-5)
	})
	block := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		qkv := c.Run("qkv", layers.Linear{Out: 3 * width}, c.Run("n1", norm, x)).Reshape(n, steps, 3, heads, width/heads).Transpose(2, 0, 3, 1, 4)
		part := func(i int) ops.Value { return qkv.Narrow(0, i, 1).Reshape(n, heads, steps, width/heads) }
		y := ops.Attention(part(0), part(1), part(2), ops.Attend{Causal: true}).Transpose(0, 2, 1, 3).Reshape(n, steps, width)
		x = x.Add(c.Run("proj", layers.Linear{Out: width}, y))
		up := c.Run("up", layers.Linear{Out: 4 * width}, c.Run("n2", norm, x)).GELU()
		return x.Add(c.Run("down", layers.Linear{Out: width}, up))
	})
	m := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		y := c.Run("tok", layers.Embedding{Rows: tokens, Size: width}, x).Add(c.Param("pos.weight", tensor.Of(steps, width), layers.Normal(0, 1)))
		for i := range blocks {
			y = c.Run(fmt.Sprint("block", i), block, y)
		}
		return c.Run("head", layers.Linear{Out: tokens, NoBias: true}, c.Run("norm", norm, y)).Reshape(n*steps, tokens)
	})
	const work = 3 * (2.0*n*steps*(blocks*12*width*width+width*tokens) + blocks*4.0*n*steps*steps*width)
	run, err := training(eng, m, dt, labels(tokens, n, steps), labels(tokens, n*steps), &optim.AdamW{LR: 3e-4})
	return workload{run, work, "gflops"}, err
}

// training runs a step: forward, cross-entropy, backward, update.
func training(eng *sched.Engine, m layers.Module, dt tensor.DType, x, y tensor.Tensor, opt optim.Optimizer) (func(context.Context) error, error) {
	net, err := layers.Build(m, x.Spec(), 1, dt)
	if err != nil {
		return nil, err
	}
	tape := autograd.New(eng)
	return func(ctx context.Context) error {
		loss := ops.CrossEntropy(net.Forward(tape, tape.Input("x", x), layers.Train), tape.Input("y", y))
		opt.Update(tape, loss, net.Params()...)
		res, err := tape.Step(ctx, loss)
		if err != nil {
			return err
		}
		defer res.Release()
		l, err := res.Float(ctx, 0)
		if err == nil && (math.IsNaN(l) || math.IsInf(l, 0)) {
			err = fmt.Errorf("the loss is %v", l)
		}
		return err
	}, nil
}

// labels are numbers below limit without a pattern, the same each time.
func labels(limit int, dims ...int) tensor.Tensor {
	t := tensor.New(tensor.SpecOf(tensor.I64, dims...))
	for i := range t.Len() {
		t.SetInt(i, int64(i*7919%limit))
	}
	return t
}
