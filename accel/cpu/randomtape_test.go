package cpu_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// TestRandomSteps runs random programs as steps of an engine, which merges, folds and cuts them, on one device or on two.
func TestRandomSteps(t *testing.T) {
	devs := open(t)
	for k := range *programs / 3 {
		seed, d := *first+uint64(k), devs[k%len(devs)]
		var c captured
		p := newProgram(seed, tensor.F32, false, autograd.New(&c, autograd.Seed(int64(seed))))
		if _, err := p.tape.Step(context.Background(), p.outs...); !errors.Is(err, errCaptured) {
			continue
		}
		l := &lowered{rng: p.Rand}
		l.graph(c.g, c.feeds, c.rng)
		vals, sizes := evaluate(&l.Graph, l.args, nil)
		if !exact(vals, sizes) {
			continue
		}
		var second accel.Device = acceltest.Hostile("second")
		if k%2 == 0 {
			var err error
			if second, err = cpu.Open(cpu.ID("second")); err != nil {
				t.Fatal(err)
			}
		}
		eng, err := sched.New(d, second)
		if err != nil {
			t.Fatal(err)
		}
		eng.NoFallback = true
		l.step(t, c.g, vals, newProgram(seed, tensor.F32, false, autograd.New(eng, autograd.Seed(int64(seed)))), fmt.Sprintf("program %d at %s", seed, d.Info().ISA))
		eng.Close()
		second.Close()
	}
}

// step runs a program whose graph is g and compares its results and its variables.
func (l *lowered) step(t *testing.T, g *ops.Graph, vals [][]tensor.Tensor, p *program, what string) {
	t.Helper()
	ctx := context.Background()
	res, err := p.tape.Step(ctx, p.outs...)
	if err == nil {
		err = res.Wait(ctx)
	}
	if err != nil {
		t.Fatalf("%s: %v%s", what, err, l.text())
	}
	defer res.Release()
	for i, e := range g.Outs {
		got, err := res.Tensor(ctx, i)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if why := differ(got, vals[l.at[e.Node]][e.Out], 0); why != "" {
			t.Fatalf("%s: result %d: %s%s", what, i, why, l.text())
		}
	}
	if len(g.Assigns) > len(p.vars) {
		t.Fatalf("%s: %d assignments to %d variables", what, len(g.Assigns), len(p.vars))
	}
	for _, a := range g.Assigns {
		for _, v := range p.vars {
			if v.Name() != a.V.Name() {
				continue
			}
			got, err := v.Value(ctx)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if why := differ(got, vals[l.at[a.X.Node]][a.X.Out], 0); why != "" {
				t.Fatalf("%s: variable %s: %s%s", what, v.Name(), why, l.text())
			}
		}
	}
}

// TestRandomReplay: a tape that has met many programs, some of which begin alike, records each as a new tape would.
func TestRandomReplay(t *testing.T) {
	ctx := context.Background()
	d, second := acceltest.Reference("first"), acceltest.Reference("second")
	defer d.Close()
	defer second.Close()
	eng, err := sched.New(d, second)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]*ops.Variable{}
	old := autograd.New(eng, autograd.Seed(3))
	rng := rand.New(rand.NewPCG(*first, 5))
	for i := range *programs {
		prefix, fork := uint64(rng.IntN(6)), 1+uint64(rng.IntN(3+i/8))
		record := func(tape *autograd.Tape) *program {
			p := &program{Rand: rand.New(rand.NewPCG(prefix, 0)), tape: tape, dt: tensor.F32, known: known, fork: fork}
			p.record()
			return p
		}
		what := fmt.Sprintf("round %d, program %d, %d", i, prefix, fork)
		fresh := autograd.New(eng, autograd.Seed(3))
		fresh.SetStep(old.StepCount())
		p := record(fresh)
		want, wantErr := fresh.Eval(ctx, p.outs...)
		p = record(old)
		got, err := old.Eval(ctx, p.outs...)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: %v, a new tape says %v", what, err, wantErr)
		}
		for j := range got {
			if !got[j].Same(want[j]) {
				t.Fatalf("%s: result %d is %v, a new tape's %v", what, j, got[j], want[j])
			}
		}
		if rng.IntN(3) > 0 {
			old.Discard()
			continue
		}
		res, err := old.Step(ctx, p.outs...)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: %v, a new tape says %v", what, err, wantErr)
		}
		for j := range want {
			if x, err := res.Tensor(ctx, j); err != nil || !x.Same(want[j]) {
				t.Fatalf("%s: result %d of the step is %v, %v, a new tape's %v", what, j, x, err, want[j])
			}
		}
		for _, v := range known { // the programs multiply
			x, err := v.Value(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if largest(x) > 1e3 {
				if err := v.Set(ctx, tensor.New(v.Spec())); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Logf("%d nodes were recorded afresh, %d programs compiled", old.Misses(), eng.Stats().Compiles)
}

// TestRandomSegments: a checkpointed segment changes no bit, of random numbers neither. In gradients of gradients what it computes again
// counts as what it computed first, but is added up in another order.
func TestRandomSegments(t *testing.T) {
	ctx := context.Background()
	d, second := acceltest.Reference("first"), acceltest.Reference("second")
	defer d.Close()
	defer second.Close()
	eng, err := sched.New(d, second)
	if err != nil {
		t.Fatal(err)
	}
	segments := 0
	for k := range *programs {
		seed := *first + uint64(k)
		second := false
		run := func(plain bool) ([]tensor.Tensor, int, error) {
			tape := autograd.New(eng, autograd.Seed(3))
			p := &program{Rand: rand.New(rand.NewPCG(seed, 7)), tape: tape, dt: tensor.F64, smooth: true, plain: plain}
			p.record()
			nodes := tape.Len()
			second = p.grads > 1
			out, err := tape.Eval(ctx, p.outs...)
			return out, nodes, err
		}
		want, nodes, wantErr := run(true)
		got, more, err := run(false)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("program %d: %v, without segments %v", seed, err, wantErr)
		}
		for j := range got {
			if got[j].Same(want[j]) || second && differ(got[j], want[j], 1e-9*(1+largest(want[j]))) == "" {
				continue
			}
			t.Fatalf("program %d: result %d is %v, without segments %v", seed, j, got[j], want[j])
		}
		if err == nil && more > nodes {
			segments++
		}
	}
	if segments < *programs/60 {
		t.Errorf("only %d programs of %d computed something again", segments, *programs)
	}
}
