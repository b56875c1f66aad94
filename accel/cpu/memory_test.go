package cpu_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// TestOutOfMemory asks for more than any machine has, which is an error that names the operation, and then for something possible.
func TestOutOfMemory(t *testing.T) {
	d, err := cpu.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Info().Memory == 0 {
		t.Skip("the machine's memory is not known here")
	}
	eng, err := sched.New(d)
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	tape := autograd.New(eng)
	ctx := context.Background()
	long := tensor.New(tensor.SpecOf(tensor.F32, 1<<20))
	for name, f := range map[string]func(x ops.Value) ops.Value{
		"outer product": func(x ops.Value) ops.Value { return x.Reshape(-1, 1).Mul(x) },
		"matmul":        func(x ops.Value) ops.Value { return x.Reshape(-1, 1).MatMul(x.Reshape(1, -1)) },
		"expand":        func(x ops.Value) ops.Value { return x.Expand(1<<18, 1<<20).Neg() },
		"twice": func(x ops.Value) ops.Value {
			y := x.Expand(1<<18, 1<<20).Exp()
			return y.MatMul(y.Transpose(1, 0))
		},
		"fill": func(x ops.Value) ops.Value { return ops.Full(x.Recorder(), tensor.SpecOf(tensor.F64, 1<<40), 1) },
	} {
		_, err := tape.Eval(ctx, f(tape.Input("x", long)))
		tape.Discard()
		if !errors.Is(err, accel.ErrOutOfMemory) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var op *ops.OpError
		if !errors.As(err, &op) || !strings.Contains(op.Site, "memory_test.go") {
			t.Errorf("%s: %v names no operation at its line", name, err)
		}
	}
	if _, err := tape.Eval(ctx, tape.Input("x", long).Sum()); err != nil {
		t.Error(err)
	}
}

// TestProgramTooLarge: each value would fit, all together do not.
func TestProgramTooLarge(t *testing.T) {
	d, err := cpu.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	cpu.SetMemory(d, 10<<20)
	eng, err := sched.New(d)
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	for _, n := range []int{256, 1024} { // 256 KB and 4 MB
		tape := autograd.New(eng)
		x := tape.Input("x", tensor.New(tensor.SpecOf(tensor.F32, n, n)))
		_, err := tape.Eval(context.Background(), x.MatMul(x).MatMul(x))
		if fits := n == 256; errors.Is(err, accel.ErrOutOfMemory) == fits || fits && err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
}
