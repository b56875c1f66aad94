package contract

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

var ctx = context.Background()

// kinds are the kinds of device that every adversary meets.
var kinds = []kind{
	{"reference", func(t testing.TB, id string) accel.Device { return acceltest.Reference(id) }},
	{"hostile", func(t testing.TB, id string) accel.Device { return acceltest.Hostile(id) }},
	{"cpu", func(t testing.TB, id string) accel.Device {
		d, err := cpu.Open(cpu.ID(id))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}},
}

type kind struct {
	name string
	open func(t testing.TB, id string) accel.Device
}

// mixed is an engine's first device of one kind, and others that are hostile.
var mixed = kind{"cpu and hostile", func(t testing.TB, id string) accel.Device {
	if id == "d0" {
		return kinds[2].open(t, id)
	}
	return acceltest.Hostile(id)
}}

// rig is an engine over devices of one kind, named d0, d1, and so on.
type rig struct {
	testing.TB
	kind kind
	devs []accel.Device
	eng  *sched.Engine
}

// onEach runs f on n devices of each kind.
func onEach(t *testing.T, n int, f func(r *rig)) {
	on(t, kinds, n, f)
}

// onFake runs f where the last of n devices is one that fails, refuses and counts on demand.
func onFake(t *testing.T, n int, f func(r *rig)) {
	on(t, kinds[:2], n, f)
}

// onHostile runs f on n hostile devices, which alone can be paused.
func onHostile(t *testing.T, n int, f func(r *rig)) { f(newRig(t, kinds[1], n)) }

func on(t *testing.T, list []kind, n int, f func(r *rig)) {
	if n > 1 {
		list = append(list[:len(list):len(list)], mixed)
	}
	for _, k := range list {
		t.Run(fmt.Sprint(n, " ", k.name), func(t *testing.T) { f(newRig(t, k, n)) })
	}
}

func newRig(t testing.TB, k kind, n int) *rig {
	r := &rig{TB: t, kind: k}
	for i := range n {
		d := k.open(t, fmt.Sprint("d", i))
		r.devs = append(r.devs, d)
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Errorf("closing %s: %v", d.ID(), err)
			}
			if f, ok := d.(interface{ Faults() []string }); ok {
				for _, words := range f.Faults() {
					t.Error(words)
				}
			}
		})
	}
	r.eng = r.engine()
	return r
}

// engine is another engine on the same devices.
func (r *rig) engine() *sched.Engine {
	e, err := sched.New(r.devs...)
	if err != nil {
		r.Fatal(err)
	}
	return e
}

// tape is a new tape on the rig's engine; all have the same seed.
func (r *rig) tape() *autograd.Tape { return autograd.New(r.eng, autograd.Seed(7)) }

// fake is device i where it is one that fails and pauses on demand, or nil.
func (r *rig) fake(i int) *acceltest.Device {
	d, _ := r.devs[i].(*acceltest.Device)
	return d
}

// live is the number of buffers on all devices that count them.
func (r *rig) live() (n int64) {
	for i := range r.devs {
		if d := r.fake(i); d != nil {
			n += d.Live()
		}
	}
	return n
}

func (r *rig) compiles() int { return r.eng.Stats().Compiles }

// value reads a variable.
func (r *rig) value(v *ops.Variable) []float64 {
	r.Helper()
	x, err := v.Value(ctx)
	if err != nil {
		r.Fatal(err)
	}
	return x.Floats()
}

// set writes a variable.
func (r *rig) set(v *ops.Variable, x tensor.Tensor) {
	r.Helper()
	if err := v.Set(ctx, x); err != nil {
		r.Fatal(err)
	}
}

// try runs a step to its end and returns its results one behind the other.
func try(t *autograd.Tape, vs ...ops.Value) ([]float64, error) {
	res, err := t.Step(ctx, vs...)
	if err != nil {
		return nil, err
	}
	defer res.Release()
	if err := res.Wait(ctx); err != nil {
		return nil, err
	}
	var out []float64
	for i := range vs {
		x, err := res.Tensor(ctx, i)
		if err != nil {
			return nil, err
		}
		out = append(out, x.Floats()...)
	}
	return out, nil
}

// step is try without an error.
func (r *rig) step(t *autograd.Tape, vs ...ops.Value) []float64 {
	r.Helper()
	out, err := try(t, vs...)
	if err != nil {
		r.Fatal(err)
	}
	return out
}

// eval is the values without a step.
func (r *rig) eval(t *autograd.Tape, vs ...ops.Value) (out []float64) {
	r.Helper()
	xs, err := t.Eval(ctx, vs...)
	if err != nil {
		r.Fatal(err)
	}
	for _, x := range xs {
		out = append(out, x.Floats()...)
	}
	return out
}

// fails wants an error with a cause, unless that is nil, that says all the words.
func (r *rig) fails(err, cause error, words ...string) {
	r.Helper()
	if err == nil {
		r.Fatalf("no error, want %v %q", cause, words)
	}
	if cause != nil && !errors.Is(err, cause) {
		r.Fatalf("%v is not %v", err, cause)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			r.Fatalf("%q does not say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "%!") {
		r.Errorf("a format is wrong: %q", err)
	}
}

// equal wants the same bits.
func (r *rig) equal(what string, got, want []float64) {
	r.Helper()
	r.near(what, got, want, 0)
}

// near wants numbers within a tolerance, relative for those over 1.
func (r *rig) near(what string, got, want []float64, tolerance float64) {
	r.Helper()
	if len(got) != len(want) {
		r.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i, x := range got {
		if math.Float64bits(x) == math.Float64bits(want[i]) || tolerance > 0 && math.Abs(x-want[i]) <= tolerance*max(1, math.Abs(want[i])) {
			continue
		}
		r.Fatalf("%s: element %d of %v, want %v", what, i, got, want)
	}
}

// f64 is a vector.
func f64(x ...float64) tensor.Tensor { return tensor.Must(tensor.From(x, len(x))) }

// mat is a matrix of so many rows.
func mat(rows int, x ...float64) tensor.Tensor {
	return tensor.Must(tensor.From(x, rows, len(x)/rows))
}

// i64 is a vector of indices.
func i64(x ...int64) tensor.Tensor { return tensor.Must(tensor.From(x, len(x))) }

// formula is numbers in [-0.5, 0.5) without a pattern, other ones for each seed.
func formula(dt tensor.DType, seed int, dims ...int) tensor.Tensor {
	t := tensor.New(tensor.SpecOf(dt, dims...))
	for i := range t.Len() {
		t.Set(i, float64((i*7919+seed*104729)%1000)/1000-0.5)
	}
	return t
}
