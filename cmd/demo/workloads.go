package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cortado-ml/cortado/autograd"
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

// elements is how many numbers the elementwise workloads work on.
const elements = 16 << 20

var elementwiseWork = map[string]struct {
	bytes float64 // of an element in f32, read and written
	f     func(x, y ops.Value) ops.Value
}{
	"relu":      {8, func(x, _ ops.Value) ops.Value { return x.ReLU() }},
	"add":       {12, func(x, y ops.Value) ops.Value { return x.Add(y) }},
	"exp":       {8, func(x, _ ops.Value) ops.Value { return x.Exp() }},
	"softmax":   {8, func(x, _ ops.Value) ops.Value { return x.Reshape(-1, 1024).Softmax(-1) }},
	"layernorm": {8, layerNorm},
}

// layerNorm normalises rows of 1024; the first rows of y are its scale and bias.
func layerNorm(x, y ops.Value) ops.Value {
	return ops.LayerNorm(x.Reshape(-1, 1024), y.Narrow(0, 0, 1024), y.Narrow(0, 1024, 1024), 1, 1e-5)
}

// sizedWork are the workloads whose name ends in a number: of rows of a matrix, or of samples in a batch.
var sizedWork = map[string]func(n int, dt tensor.DType, eng *sched.Engine) (workload, error){
	"gemm":     gemmWork,
	"mlp":      mlpWork,
	"cnn":      cnnWork,
	"resnet18": resnetWork,
}

// wholeWork are the workloads of one size.
var wholeWork = map[string]func(dt tensor.DType, eng *sched.Engine) (workload, error){
	"lstm":  lstmWork,
	"gpt":   gptWork,
	"adamw": adamwWork,
}

func workloadNames() []string {
	names := []string{"gemm-N", "mlp-B", "cnn-B", "resnet18-B", "peak"}
	names = slices.AppendSeq(names, maps.Keys(elementwiseWork))
	names = slices.AppendSeq(names, maps.Keys(wholeWork))
	slices.Sort(names)
	return names
}

// workloadOf prepares a workload.
func workloadOf(name string, dt tensor.DType, eng *sched.Engine) (workload, error) {
	if w, ok := elementwiseWork[name]; ok {
		x, y := ops.NewVariable("x", noise(dt, 1, 1, elements)), ops.NewVariable("y", noise(dt, 2, 1, elements))
		run := evaluation(eng, func(t *autograd.Tape) ops.Value { return w.f(t.Var(x), t.Var(y)) })
		return workload{run, w.bytes / 4 * float64(dt.Size()) * elements, "gbps"}, nil
	}
	if make, ok := wholeWork[name]; ok {
		return make(dt, eng)
	}
	kind, number, _ := strings.Cut(name, "-")
	n, err := strconv.Atoi(number)
	make, ok := sizedWork[kind]
	if err != nil || n < 1 || n > 1<<14 || !ok {
		return workload{}, usage("there is no workload %q: there are %s", name, strings.Join(workloadNames(), ", "))
	}
	return make(n, dt, eng)
}

// gemmWork multiplies two square matrices.
func gemmWork(n int, dt tensor.DType, eng *sched.Engine) (workload, error) {
	x, y := ops.NewVariable("x", noise(dt, 1, 1, n, n)), ops.NewVariable("y", noise(dt, 2, 1, n, n))
	run := evaluation(eng, func(t *autograd.Tape) ops.Value { return t.Var(x).MatMul(t.Var(y)) })
	return workload{run, 2 * float64(n) * float64(n) * float64(n), "gflops"}, nil
}

// adamwWork updates four million numbers whose gradients are there.
func adamwWork(dt tensor.DType, eng *sched.Engine) (workload, error) {
	const count, side = 4, 1000
	var params, grads []*ops.Variable
	for i := range count {
		params = append(params, ops.NewVariable(fmt.Sprint("p", i), noise(dt, uint32(1+i), 1, side, side)))
		grads = append(grads, ops.NewVariable(fmt.Sprint("g", i), noise(dt, uint32(9+i), 1, side, side)))
	}
	tape, opt := autograd.New(eng), &optim.AdamW{LR: 3e-4}
	run := func(ctx context.Context) error {
		loss := ops.Zeros(tape.Recorder(), tensor.SpecOf(dt)) // its gradients are grads; it is not computed itself
		for i, p := range params {
			loss = loss.Add(tape.Var(p).Mul(tape.Var(grads[i])).Sum())
		}
		opt.Update(tape, loss, params...)
		res, err := tape.Step(ctx)
		if err != nil {
			return err
		}
		defer res.Release()
		return res.Wait(ctx)
	}
	return workload{run, 7 * float64(dt.Size()) * count * side * side, "gbps"}, nil
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
