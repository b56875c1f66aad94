package cpu_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

func cnnTrace(t *testing.T, dev accel.Device, dt tensor.DType, show bool) []float64 {
	eng, _ := sched.New(dev)
	tape := autograd.New(eng)
	v := func(name string, seed int, dims ...int) *ops.Variable {
		x := fillt(dt, seed, dims...)
		for i := range x.Len() {
			x.Set(i, x.At(i)*0.5)
		}
		return ops.NewVariable(name, x)
	}
	w1, b1 := v("w1", 1, 8, 1, 3, 3), v("b1", 2, 8)
	s1, t1 := v("s1", 7, 20), v("t1", 8, 20)
	w2, b2 := v("w2", 3, 20, 8, 3, 3), v("b2", 4, 20)
	w3, b3 := v("w3", 5, 10, 20*3*3), v("b3", 6, 10)
	vars := []*ops.Variable{w1, b1, s1, t1, w2, b2, w3, b3}
	x := fillt(dt, 5, 6, 1, 12, 12)
	y := tensor.New(tensor.SpecOf(tensor.I64, 6))
	for i := range 6 {
		y.SetInt(i, int64(i%10))
	}
	ctx := context.Background()
	var out []float64
	for range 5 {
		h := ops.Conv2D(tape.Input("x", x), tape.Var(w1), ops.Conv{Padding: 1}).Add(tape.Var(b1).Reshape(1, 8, 1, 1)).ReLU()
		h = ops.MaxPool2D(h, ops.Pool{Size: 2})
		h = ops.Conv2D(h, tape.Var(w2), ops.Conv{Padding: 1}).Add(tape.Var(b2).Reshape(1, 20, 1, 1))
		h, _, _ = ops.BatchNorm(h, tape.Var(s1), tape.Var(t1), 1e-5)
		h = h.ReLU()
		h = ops.MaxPool2D(h, ops.Pool{Size: 2})
		h = h.Flatten()
		loss := ops.CrossEntropy(ops.Linear(h, tape.Var(w3), tape.Var(b3)), tape.Input("y", y))
		var ps []ops.Value
		for _, v := range vars {
			ps = append(ps, tape.Var(v))
		}
		g := tape.Grad(loss, ps...)
		if false {
			for i := range g {
				ts, err := tape.Eval(ctx, g[i])
				if err != nil {
					t.Fatal(err)
				}
				fmt.Println(dt, vars[i].Name(), ts[0].Floats()[:4])
			}
			show = false
			if dt == tensor.F32 {
				return nil
			}
		}
		lr := tape.Scalar("lr", dt, 0.1)
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
		out = append(out, f)
	}
	if show {
		for _, s := range eng.Plans()[0].Profile() {
			t.Log(s.Kernel, s.Nodes)
		}
		t.Log(eng.Plans()[0])
	}
	return out
}

func TestSmokeCNN(t *testing.T) {
	ref := cnnTrace(t, acceltest.Reference("ref"), tensor.F64, false)
	for _, l := range cpu.Levels() {
		dev, err := cpu.Open(cpu.Level(l))
		if err != nil {
			t.Fatal(err)
		}
		got := cnnTrace(t, dev, tensor.F32, l == "avx2")
		fmt.Println(l, got, ref)
		for i := range got {
			if math.Abs(got[i]-ref[i]) > 1e-5 {
				t.Error(l, i, got[i], ref[i])
			}
		}
	}
}
