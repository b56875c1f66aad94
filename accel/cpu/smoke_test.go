package cpu_test

import (
	"context"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

func fillt(dt tensor.DType, seed int, dims ...int) tensor.Tensor {
	t := tensor.New(tensor.SpecOf(dt, dims...))
	for i := range t.Len() {
		t.Set(i, float64((i*7919+seed*104729)%1000)/1000-0.5)
	}
	return t
}

func TestSmoke(t *testing.T) {
	for _, dt := range []tensor.DType{tensor.F32, tensor.F64} {
		dev, err := cpu.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer dev.Close()
		eng, _ := sched.New(dev)
		eng.NoFallback = true
		tape := autograd.New(eng)
		w1, b1 := ops.NewVariable("w1", fillt(dt, 1, 784, 128)), ops.NewVariable("b1", fillt(dt, 2, 128))
		w2, b2 := ops.NewVariable("w2", fillt(dt, 3, 128, 10)), ops.NewVariable("b2", fillt(dt, 4, 10))
		x := fillt(dt, 5, 64, 784)
		y := tensor.New(tensor.SpecOf(tensor.I64, 64))
		for i := range 64 {
			y.SetInt(i, int64(i%10))
		}
		ctx := context.Background()
		for k := range 20 {
			h := tape.Input("x", x).MatMul(tape.Var(w1)).Add(tape.Var(b1)).ReLU()
			loss := ops.CrossEntropy(h.MatMul(tape.Var(w2)).Add(tape.Var(b2)), tape.Input("y", y))
			vars := []*ops.Variable{w1, b1, w2, b2}
			g := tape.Grad(loss, tape.Var(w1), tape.Var(b1), tape.Var(w2), tape.Var(b2))
			lr := tape.Scalar("lr", dt, 0.01)
			for i, v := range vars {
				tape.Assign(v, tape.Var(v).Sub(g[i].Mul(lr)))
			}
			res, err := tape.Step(ctx, loss)
			if err != nil {
				t.Fatal(err)
			}
			f, err := res.Float(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			res.Release()
			if k%5 == 0 {
				t.Log(dt, k, f)
			}
		}
		t.Log(eng.Stats())
		t.Log(eng.Plans()[0])
		for _, s := range eng.Plans()[0].Profile() {
			t.Log(s.Kernel, s.Nodes)
		}
	}
}
