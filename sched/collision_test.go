package sched

import (
	"context"
	"testing"

	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// TestEqualHashes: programs whose hashes are all equal do not mix. They differ in one thing each: an attribute, an operation, a shape, a
// type, the inputs' order, what is asked for, what is assigned, a device.
func TestEqualHashes(t *testing.T) {
	d0, d1 := acceltest.Hostile("d0"), acceltest.Hostile("d1")
	defer d0.Close()
	defer d1.Close()
	eng, err := New(d0, d1)
	if err != nil {
		t.Fatal(err)
	}
	eng.hash = func(*canon) uint64 { return 1 }
	tape := autograd.New(eng)
	a, b := ops.NewVariable("a", tensor.Scalar(3.0)), ops.NewVariable("b", tensor.Scalar(5.0))
	programs := []struct {
		want   float64
		record func() []ops.Value
	}{
		{2, func() []ops.Value { return []ops.Value{tape.Input("x", tensor.Scalar(1.0)).Scale(2)} }},
		{3, func() []ops.Value { return []ops.Value{tape.Input("x", tensor.Scalar(1.0)).Scale(3)} }},
		{-1, func() []ops.Value { return []ops.Value{tape.Input("x", tensor.Scalar(1.0)).Neg()} }},
		{-4, func() []ops.Value {
			return []ops.Value{tape.Input("x", tensor.Full(tensor.SpecOf(tensor.F64, 3), 4)).Neg()}
		}},
		{-5, func() []ops.Value { return []ops.Value{tape.Input("x", tensor.Scalar(float32(5))).Neg()} }},
		{-2, func() []ops.Value { return []ops.Value{tape.Var(a).Sub(tape.Var(b))} }},
		{2, func() []ops.Value { x := tape.Var(a); return []ops.Value{tape.Var(b).Sub(x)} }},
		{2, func() []ops.Value { x := tape.Var(a); y := tape.Var(b).Sub(x); return []ops.Value{y, y.Neg()} }},
		{-2, func() []ops.Value { x := tape.Var(a); y := tape.Var(b).Sub(x); return []ops.Value{y.Neg(), y} }},
		{4, func() []ops.Value { x, y := tape.Var(a), tape.Var(b); return []ops.Value{x.Mul(x).Sub(y)} }},
		{12, func() []ops.Value { x, y := tape.Var(a), tape.Var(b); return []ops.Value{x.Mul(y).Sub(x)} }},
		{-1, func() (v []ops.Value) {
			tape.On("d1", func() { v = []ops.Value{tape.Input("x", tensor.Scalar(1.0)).Neg()} })
			return v
		}},
		{-3, func() []ops.Value { x := tape.Var(a).Neg(); tape.Assign(a, x.Neg()); return []ops.Value{x} }},
		{-3, func() []ops.Value { x := tape.Var(a).Neg(); tape.Assign(b, x.Neg().Shift(2)); return []ops.Value{x} }},
	}
	for round := range 3 {
		for i, p := range programs {
			res, err := tape.Step(context.Background(), p.record()...)
			if err != nil {
				t.Fatal(err)
			}
			x, err := res.Tensor(context.Background(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if x.At(0) != p.want {
				t.Errorf("round %d, program %d gives %v, want %v", round, i, x, p.want)
			}
			res.Release()
		}
	}
	if c := eng.Stats().Compiles; c != len(programs)-1 { // a-b and b-a are one program, of other variables
		t.Errorf("%d compiles for %d programs", c, len(programs)-1)
	}
	for _, v := range []*ops.Variable{a, b, a} { // the same values, assigned to another variable
		x, y := tape.Var(a), tape.Var(b)
		product := x.Mul(y)
		tape.Assign(v, product)
		if _, err := tape.Step(context.Background(), product.Neg()); err != nil {
			t.Fatal(err)
		}
	}
	for v, want := range map[*ops.Variable]float64{a: 15 * 75, b: 75} {
		x, err := v.Value(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if x.At(0) != want {
			t.Errorf("variable %s is %v, want %v", v.Name(), x, want)
		}
	}
	if d1.Runs() != 3 {
		t.Errorf("%d runs on the second device, want 3", d1.Runs())
	}
}
