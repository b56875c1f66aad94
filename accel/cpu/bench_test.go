package cpu_test

import (
	"context"
	"math"
	"os"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// benchStep runs a training step over and over. CORTADO_PROFILE prints where its time goes.
func benchStep(b *testing.B, x tensor.Tensor, params []*ops.Variable, forward func(x ops.Value, p []ops.Value) ops.Value) {
	dev, err := cpu.Open()
	if err != nil {
		b.Fatal(err)
	}
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		b.Fatal(err)
	}
	eng.NoFallback = true
	tape, ctx := autograd.New(eng), context.Background()
	labels := tensor.New(tensor.SpecOf(tensor.I64, x.Shape().Dim(0)))
	for i := range labels.Len() {
		labels.SetInt(i, int64(i*7%10))
	}
	p := make([]ops.Value, len(params))
	step := func() {
		in := tape.Input("x", x)
		for i, v := range params {
			p[i] = tape.Var(v)
		}
		loss := ops.CrossEntropy(forward(in, p), tape.Input("y", labels))
		lr := tape.Scalar("lr", tensor.F32, 0.01)
		for i, g := range tape.Grad(loss, p...) {
			tape.Assign(params[i], p[i].Sub(g.Mul(lr)))
		}
		res, err := tape.Step(ctx, loss)
		if err != nil {
			b.Fatal(err)
		}
		if l, err := res.Float(ctx, 0); err != nil || math.IsNaN(l) {
			b.Fatal(l, err)
		}
		res.Release()
	}
	step()
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	if os.Getenv("CORTADO_PROFILE") == "" {
		return
	}
	plan := eng.Plans()[0]
	plan.SetProfile(true)
	step()
	step()
	for _, s := range plan.Profile() {
		b.Logf("%8.1f us  %6.1f GFLOP/s  %s %v", float64(s.Time.Nanoseconds())/1e3, s.Cost.FLOPs/float64(s.Time.Nanoseconds()), s.Kernel, s.Nodes)
	}
}

// uniform is a variable with values between -1 and 1 over the square root of its fan-in.
func uniform(name string, fan int, dims ...int) *ops.Variable {
	return ops.NewVariable(name, noise(1/math.Sqrt(float64(fan)), dims...))
}

func noise(scale float64, dims ...int) tensor.Tensor {
	t := tensor.New(tensor.SpecOf(tensor.F32, dims...))
	u := uint32(2463534242)
	for i := range t.Len() {
		u ^= u << 13
		u ^= u >> 17
		u ^= u << 5
		t.Set(i, scale*(float64(u)/(1<<31)-1))
	}
	return t
}

func benchMLP(b *testing.B, batch int) {
	benchStep(b, noise(1, batch, 784), []*ops.Variable{
		uniform("w1", 784, 512, 784), uniform("b1", 784, 512), uniform("w2", 512, 512, 512), uniform("b2", 512, 512), uniform("w3", 512, 10, 512), uniform("b3", 512, 10),
	}, func(x ops.Value, p []ops.Value) ops.Value {
		x = ops.Linear(x, p[0], p[1]).ReLU()
		x = ops.Linear(x, p[2], p[3]).ReLU()
		return ops.Linear(x, p[4], p[5])
	})
}

func BenchmarkMLP64(b *testing.B)  { benchMLP(b, 64) }
func BenchmarkMLP256(b *testing.B) { benchMLP(b, 256) }

func BenchmarkCNN64(b *testing.B) {
	benchStep(b, noise(1, 64, 1, 28, 28), []*ops.Variable{
		uniform("w1", 9, 32, 1, 3, 3), uniform("b1", 9, 32), uniform("w2", 288, 64, 32, 3, 3), uniform("b2", 288, 64),
		uniform("w3", 3136, 128, 3136), uniform("b3", 3136, 128), uniform("w4", 128, 10, 128), uniform("b4", 128, 10),
	}, func(x ops.Value, p []ops.Value) ops.Value {
		c := ops.Conv{Padding: 1}
		x = ops.MaxPool2D(ops.Conv2D(x, p[0], c).Add(p[1].Reshape(1, 32, 1, 1)).ReLU(), ops.Pool{Size: 2})
		x = ops.MaxPool2D(ops.Conv2D(x, p[2], c).Add(p[3].Reshape(1, 64, 1, 1)).ReLU(), ops.Pool{Size: 2})
		return ops.Linear(ops.Linear(x.Flatten(), p[4], p[5]).ReLU(), p[6], p[7])
	})
}

// BenchmarkAdamW updates four million parameters by given gradients.
func BenchmarkAdamW(b *testing.B) {
	dev, err := cpu.Open()
	if err != nil {
		b.Fatal(err)
	}
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		b.Fatal(err)
	}
	eng.NoFallback = true
	var params, grads []*ops.Variable
	for range 4 {
		params, grads = append(params, uniform("p", 1, 1000, 1000)), append(grads, uniform("g", 1, 1000, 1000))
	}
	tape, opt, ctx := autograd.New(eng), &optim.AdamW{}, context.Background()
	b.SetBytes(28 * 4e6)
	for b.Loop() {
		loss := ops.Zeros(tape.Recorder(), tensor.SpecOf(tensor.F32))
		for i, p := range params { // whose gradients are the given ones
			loss = loss.Add(tape.Var(p).Mul(tape.Var(grads[i])).Sum())
		}
		opt.Update(tape, loss, params...)
		res, err := tape.Step(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := res.Wait(ctx); err != nil {
			b.Fatal(err)
		}
		res.Release()
	}
}
