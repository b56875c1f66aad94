package sched_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// twoLayers is an engine on the plain level, and a run of two layers and a softmax.
func twoLayers(t testing.TB) (*sched.Engine, func(context.Context) error) {
	t.Helper()
	dev, err := cpu.Open(cpu.Level("generic"), cpu.Threads(1))
	if err != nil {
		t.Fatal(err)
	}
	eng, err := sched.New(dev)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		eng.Close()
		dev.Close()
	})
	tape := autograd.New(eng)
	x, w := tensor.New(tensor.SpecOf(tensor.F32, 4, 8)), tensor.New(tensor.SpecOf(tensor.F32, 8, 8))
	return eng, func(ctx context.Context) error {
		y, m := tape.Input("x", x), tape.Input("w", w)
		tape.Scope("first", func() { y = ops.Linear(y, m, tape.Input("b", tensor.New(tensor.SpecOf(tensor.F32, 8)))).ReLU() })
		tape.Scope("second", func() { y = ops.Linear(y, m, tape.Input("c", tensor.New(tensor.SpecOf(tensor.F32, 8)))).ReLU() })
		res, err := tape.Step(ctx, y.Softmax(-1))
		res.Release()
		return err
	}
}

func row(t *testing.T, table sched.ProfileTable, name string) sched.ProfileRow {
	t.Helper()
	for _, r := range table {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("there is no %s in\n%v", name, table)
	return sched.ProfileRow{}
}

func TestProfile(t *testing.T) {
	eng, run := twoLayers(t)
	p, err := eng.Profile(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if n := eng.Stats().Compiles; n != 1 {
		t.Errorf("%d graphs compiled, want 1", n)
	}
	want := eng.Plans()[0].Cost()
	byOp, byPlace, byKernel := p.ByOp(), p.ByPlace(), p.ByKernel()
	for _, table := range []sched.ProfileTable{byOp, byPlace, byKernel} {
		all := table.Total()
		if all.Count != len(p) || all.Time <= 0 || math.Abs(all.Share-1) > 1e-9 || all.Cost != want {
			t.Errorf("all is %+v, want %d steps that cost %+v", all, len(p), want)
		}
		for i := 1; i < len(table); i++ {
			if table[i].Time > table[i-1].Time {
				t.Errorf("row %d takes longer than the one before it:\n%v", i, table)
			}
		}
	}
	if r := row(t, byOp, "matmul+add+relu"); r.Count != 2 || r.Cost.FLOPs < 2*2*4*8*8 {
		t.Errorf("the layers are %+v", r)
	}
	if r := row(t, byPlace, "first"); r.Count != 1 || r.Cost != row(t, byPlace, "second").Cost {
		t.Errorf("the first layer is %+v", r)
	}
	if r := row(t, byKernel, "gemm f32 generic"); r.Count != 2 {
		t.Errorf("the products are %+v", r)
	}
	softmax := false
	for _, r := range byPlace { // it was recorded outside of scopes
		softmax = softmax || strings.HasPrefix(r.Name, "profile_test.go:")
	}
	if !softmax {
		t.Errorf("no row has the place of the softmax:\n%v", byPlace)
	}
	lines := strings.Split(byOp.String(), "\n")
	if !strings.HasPrefix(lines[0], "what") || !strings.Contains(lines[len(lines)-2], "100.0 %") {
		t.Errorf("the table is\n%v", byOp)
	}
	if s := (sched.ProfileTable{}).String(); !strings.Contains(s, "all") || strings.Contains(s, "NaN") {
		t.Errorf("the table of nothing is %q", s)
	}
}

// TestProfileUsed: plans that the run has not used are not in its profile.
func TestProfileUsed(t *testing.T) {
	eng, run := twoLayers(t)
	tape := autograd.New(eng)
	if _, err := tape.Eval(t.Context(), tape.Input("x", tensor.Scalar[float32](1)).Exp()); err != nil {
		t.Fatal(err)
	}
	p, err := eng.Profile(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range p.ByOp() {
		if r.Name == "exp" {
			t.Errorf("the profile has what was run before:\n%v", p.ByOp())
		}
	}
}

func TestProfileErrors(t *testing.T) {
	eng, _ := twoLayers(t)
	if _, err := eng.Profile(t.Context(), nil); err == nil || err.Error() != "sched: there is nothing to profile" {
		t.Errorf("nothing: %v", err)
	}
	fails := errors.New("it fails")
	calls := 0
	for at := 1; at <= 2; at++ {
		calls = 0
		_, err := eng.Profile(t.Context(), func(context.Context) error {
			if calls++; calls == at {
				return fails
			}
			return nil
		})
		if !errors.Is(err, fails) || calls != at {
			t.Errorf("call %d fails: %v after %d calls", at, err, calls)
		}
	}
	if p, err := new(sched.Engine).Profile(t.Context(), func(context.Context) error { return nil }); err != nil || len(p) != 0 {
		t.Errorf("the zero engine: %v, %v", p, err)
	}
}

// A profile says what a run spends its time on. The times differ from run to run; the counts do not.
func ExampleEngine_Profile() {
	dev, err := cpu.Open(cpu.Level("generic"), cpu.Threads(1))
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		log.Fatal(err)
	}
	tape := autograd.New(eng)
	p, err := eng.Profile(context.Background(), func(ctx context.Context) error {
		x := tape.Input("x", tensor.New(tensor.SpecOf(tensor.F32, 8, 8)))
		_, err := tape.Step(ctx, x.MatMul(x).MatMul(x))
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range p.ByOp() {
		fmt.Println(r.Name, r.Count, "times,", r.Cost.FLOPs, "FLOP")
	}
	// Output:
	// matmul 2 times, 2048 FLOP
}
