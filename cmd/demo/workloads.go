package main

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// workload is something to measure.
type workload struct {
	run  func(context.Context) error
	work float64 // floating-point operations or bytes of one run
	unit string  // gflops or gbps
}

// elementwiseWork works on this many elements.
const elements = 16 << 20

var elementwiseWork = map[string]struct {
	bytes float64 // of an element in f32, read and written
	f     func(x, y ops.Value) ops.Value
}{
	"relu":    {8, func(x, _ ops.Value) ops.Value { return x.ReLU() }},
	"add":     {12, func(x, y ops.Value) ops.Value { return x.Add(y) }},
	"exp":     {8, func(x, _ ops.Value) ops.Value { return x.Exp() }},
	"softmax": {8, func(x, _ ops.Value) ops.Value { return x.Reshape(-1, 1024).Softmax(-1) }},
}

func workloadNames() []string {
	names := []string{"gemm-N", "mlp-B", "cnn-B", "peak"}
	for name := range elementwiseWork {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// workloadOf prepares a workload.
func workloadOf(name string, dt tensor.DType, eng *sched.Engine) (workload, error) {
	if w, ok := elementwiseWork[name]; ok {
		x, y := ops.NewVariable("x", noise(dt, 1, 1, elements)), ops.NewVariable("y", noise(dt, 2, 1, elements))
		run := evaluation(eng, func(t *autograd.Tape) ops.Value { return w.f(t.Var(x), t.Var(y)) })
		return workload{run, w.bytes / 4 * float64(dt.Size()) * elements, "gbps"}, nil
	}
	kind, number, _ := strings.Cut(name, "-")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > 1<<14 {
		return workload{}, usage("there is no workload %q: there are %s", name, strings.Join(workloadNames(), ", "))
	}
	b := float64(n)
	switch kind {
	case "gemm":
		x, y := ops.NewVariable("x", noise(dt, 1, 1, n, n)), ops.NewVariable("y", noise(dt, 2, 1, n, n))
		run := evaluation(eng, func(t *autograd.Tape) ops.Value { return t.Var(x).MatMul(t.Var(y)) })
		return workload{run, 2 * b * b * b, "gflops"}, nil
	case "mlp":
		m := layers.Sequential{layers.Linear{Out: 512}, layers.ReLU{}, layers.Linear{Out: 512}, layers.ReLU{}, layers.Linear{Out: 10}}
		run, err := training(eng, m, noise(dt, 1, 1, n, 784))
		return workload{run, 2 * b * (3*(784*512+512*512+5120) - 784*512), "gflops"}, err
	case "cnn":
		m := layers.Sequential{
			layers.Conv2D{Out: 32, Kernel: 3, Padding: 1}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
			layers.Conv2D{Out: 64, Kernel: 3, Padding: 1}, layers.ReLU{}, layers.MaxPool2D{Size: 2},
			layers.Flatten{}, layers.Linear{Out: 128}, layers.ReLU{}, layers.Linear{Out: 10},
		}
		const first = 2 * 9 * 32 * 784
		const all = first + 2*(288*64*196+3136*128+1280)
		run, err := training(eng, m, noise(dt, 1, 1, n, 1, 28, 28))
		return workload{run, b * (3*all - first), "gflops"}, err
	}
	return workload{}, usage("there is no workload %q: there are %s", name, strings.Join(workloadNames(), ", "))
}

// evaluation runs a computation whose result stays on the device.
func evaluation(eng *sched.Engine, f func(t *autograd.Tape) ops.Value) func(context.Context) error {
	tape := autograd.New(eng)
	return func(ctx context.Context) error {
		res, err := tape.Step(ctx, f(tape))
		if err != nil {
			return err
		}
		defer res.Release()
		return res.Wait(ctx)
	}
}

// training runs a step: forward, cross-entropy, backward, SGD.
func training(eng *sched.Engine, m layers.Module, x tensor.Tensor) (func(context.Context) error, error) {
	net, err := layers.Build(m, x.Spec(), 1, x.DType())
	if err != nil {
		return nil, err
	}
	labels := tensor.New(tensor.SpecOf(tensor.I64, x.Shape().Dim(0)))
	for i := range labels.Len() {
		labels.SetInt(i, int64(i*7%10))
	}
	tape, opt := autograd.New(eng), &optim.SGD{LR: 0.01}
	return func(ctx context.Context) error {
		loss := ops.CrossEntropy(net.Forward(tape, tape.Input("x", x), layers.Train), tape.Input("y", labels))
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

// noise is numbers between -scale and scale without a pattern, the same each time.
func noise(dt tensor.DType, seed uint32, scale float64, dims ...int) tensor.Tensor {
	t := tensor.New(tensor.SpecOf(dt, dims...))
	u := seed * 2463534242
	for i := range t.Len() {
		u ^= u << 13
		u ^= u >> 17
		u ^= u << 5
		t.Set(i, scale*(float64(u)/(1<<31)-1))
	}
	return t
}
